"""The wizard's steps with a scripted store and engine: every way through, every failure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest
from pytestqt.qtbot import QtBot

from app.engine_events import LoadAdvanced, LoadFailed, ModelLoaded
from app.model_plans import PlannedModel
from app.model_records import DEMO_MODEL_ID
from app.model_store_thread import (
    DeleteFailed,
    ModelDeleted,
    ModelStored,
    StoreAdvanced,
    StoreFailed,
)
from app.system_check import GpuFacts, SystemReport
from app.wizard_choices import PATH_ID, WizardServices
from app.wizard_controller import WizardController
from app.wizard_view import (
    AnswerPage,
    CheckItem,
    CheckState,
    DownloadPage,
    FailurePage,
    FileState,
    ModelOption,
    WizardAction,
    WizardButton,
    WizardPage,
)
from engine.api import (
    Capability,
    Channel,
    ChatMessage,
    Delta,
    DownloadProgress,
    EngineInfo,
    Failed,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
    LoadProgress,
    MemoryPlan,
    VerifyProgress,
)
from engine.errors import (
    BadModelFile,
    ChecksumMismatch,
    DownloadCancelled,
    DownloadFailed,
    DownloadFault,
    EngineError,
    FolderNotWritable,
    LoadCancelled,
    NotEnoughDisk,
    NotEnoughMemory,
    NumericalError,
    StoreBusy,
)
from engine.models.model_catalog import CatalogFile, CatalogModel

T = TypeVar("T")
MODEL = CatalogModel(
    "tiny",
    "Tiny",
    "owner/tiny",
    "a" * 40,
    "MIT",
    (CatalogFile("config.json", 700, "1" * 64), CatalogFile("model.safetensors", 10**9, "2" * 64)),
)
WEIGHTS = MODEL.files[1]
FOLDER = Path("/models/tiny")


class ScriptedView:
    def __init__(self) -> None:
        self.page: WizardPage | None = None
        self.steps: tuple[WizardPage, ...] = ()
        self.buttons: dict[WizardAction, WizardButton] = {}
        self.checks: tuple[CheckItem, ...] = ()
        self.checking = False
        self.options: dict[str, ModelOption] = {}
        self.chosen_id = ""
        self.download: DownloadPage | None = None
        self.verify: DownloadPage | None = None
        self.answer: AnswerPage | None = None
        self.failure: FailurePage | None = None
        self.is_open = False

    def show_page(self, page: WizardPage, steps: Sequence[WizardPage]) -> None:
        self.page, self.steps, self.failure = page, tuple(steps), None

    def show_buttons(self, buttons: Sequence[WizardButton]) -> None:
        self.buttons = {button.action: button for button in buttons}

    def show_checks(self, items: Sequence[CheckItem], *, running: bool) -> None:
        self.checks, self.checking = tuple(items), running

    def show_options(self, options: Sequence[ModelOption], chosen_id: str) -> None:
        self.options, self.chosen_id = {o.option_id: o for o in options}, chosen_id

    def show_download(self, page: DownloadPage) -> None:
        self.download = page

    def show_verify(self, page: DownloadPage) -> None:
        self.verify = page

    def show_answer(self, page: AnswerPage) -> None:
        self.answer = page

    def show_failure(self, page: FailurePage) -> None:
        self.failure = page

    def open_window(self) -> None:
        self.is_open = True

    def close_window(self) -> None:
        self.is_open = False

    def enabled(self) -> set[WizardAction]:
        return {action for action, button in self.buttons.items() if button.enabled}


@dataclass
class ScriptedStore:
    asked: list[str] = field(default_factory=list)
    running: bool = False
    on_disk: bool = False
    held: int = 0

    def ensure(self, _model: CatalogModel) -> None:
        self.asked.append("ensure")
        self.running = True

    def stop(self, _model: CatalogModel) -> None:
        self.asked.append("stop")
        self.running = False

    def delete(self, _model: CatalogModel) -> None:
        self.asked.append("delete")
        self.held = 0

    def is_running(self, _model: CatalogModel) -> bool:
        return self.running

    def is_on_disk(self, _model: CatalogModel) -> bool:
        return self.on_disk

    def held_bytes(self, _model: CatalogModel) -> int:
        return self.held

    def folder(self, _model: CatalogModel) -> Path:
        return FOLDER


class ScriptedEngine:
    def __init__(self) -> None:
        self.requests: list[GenerationRequest] = []
        self.control = GenerationControl()

    def load(self, request: object) -> GenerationControl:
        raise AssertionError("the wizard loads nothing itself")

    def generate(self, request: GenerationRequest) -> GenerationControl:
        self.requests.append(request)
        return self.control

    def unload(self) -> None:
        raise AssertionError("the wizard frees nothing itself")

    def count_tokens(self, _messages: Sequence[ChatMessage]) -> int | None:
        return None


class HeldJobs:
    """Jobs wait until `finish`, as they do on their thread."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def run(self, job: Callable[[], T], on_done: Callable[[T], None]) -> None:
        self.waiting.append(lambda: on_done(job()))

    def finish(self) -> None:
        waiting, self.waiting = self.waiting, []
        for job in waiting:
            job()


def report(*, disk: int = 10**12, state: CheckState = CheckState.OK) -> SystemReport:
    gpu = GpuFacts("550.1", "NVIDIA GPU", 8 * 10**9, 10**10, (8, 6))
    return SystemReport((CheckItem("folder", "Folder", "/models", state),), gpu, True, 10**10, disk)


class Wizard:
    def __init__(self, *, demo_dir: Path | None = Path("/app/demo_model")) -> None:
        self.view = ScriptedView()
        self.store = ScriptedStore()
        self.engine = ScriptedEngine()
        self.jobs = HeldJobs()
        self.report = report()
        self.plan = PlannedModel("Tiny", "Needs 1.00 GB.", fits=True)
        self.local: PlannedModel | EngineError = PlannedModel("Mine", "Needs 0.50 GB.", fits=True)
        self.needed_bytes: list[int] = []
        services = WizardServices(
            catalog=(MODEL,),
            demo_dir=demo_dir,
            check=self._check,
            plan_catalog=lambda _model, _report: self.plan,
            plan_local=self._plan_local,
        )
        self.controller = WizardController(self.view, self.store, self.jobs, self.engine, services)
        self.ready: list[tuple[Path, str]] = []
        self.closed = 0
        self.controller.model_ready.connect(lambda path, model: self.ready.append((path, model)))
        self.controller.closed.connect(self._on_closed)

    def _on_closed(self) -> None:
        self.closed += 1

    def _check(self, needed_bytes: int) -> SystemReport:
        self.needed_bytes.append(needed_bytes)
        return self.report

    def _plan_local(self, _path: Path, _report: SystemReport) -> PlannedModel:
        if isinstance(self.local, EngineError):
            raise self.local
        return self.local

    def press(self, action: WizardAction) -> None:
        assert action in self.view.enabled(), f"{action} cannot be pressed"
        self.controller.on_action(action.value)

    def at_choose(self) -> Wizard:
        self.controller.start()
        self.jobs.finish()
        self.press(WizardAction.NEXT)
        return self

    def at_download(self) -> Wizard:
        self.at_choose().press(WizardAction.NEXT)
        return self

    def arrived(self, file: CatalogFile, file_bytes: int, waiting_for: str = "") -> None:
        done_bytes = file_bytes if file is MODEL.files[0] else 700 + file_bytes
        rate = 0.0 if waiting_for else 5e6
        left_s = None if waiting_for else (MODEL.total_bytes - done_bytes) / 5e6
        progress = DownloadProgress(
            file.name, file_bytes, file.size_bytes, done_bytes, MODEL.total_bytes,
            rate, left_s, waiting_for, 4.0 if waiting_for else None,
        )  # fmt: skip
        self.controller.on_store_event(StoreAdvanced("tiny", progress))

    def hashed(self, file: CatalogFile, file_bytes: int) -> None:
        progress = VerifyProgress(file.name, file_bytes, file.size_bytes)
        self.controller.on_store_event(StoreAdvanced("tiny", progress))

    def fail(self, error: EngineError) -> FailurePage:
        self.store.running = False
        self.controller.on_store_event(StoreFailed("tiny", error))
        assert self.view.failure is not None
        return self.view.failure

    def stored(self) -> None:
        self.store.running, self.store.on_disk = False, True
        self.controller.on_store_event(ModelStored("tiny", FOLDER))

    def at_answer(self) -> Wizard:
        self.at_download().stored()
        return self


@pytest.fixture
def wizard(qtbot: QtBot) -> Wizard:
    return Wizard()


INFO = EngineInfo(
    "tiny", "NVIDIA GPU", 8192, 1, frozenset({Capability.THINKING}), MemoryPlan(1, 1, 1), True
)


def stats() -> GenerationStats:
    return GenerationStats(8, 0, 0, 5, 0.01, 0.1, 0.08, 0.0, 1, 13, tuple(range(11)))


def test_check_runs_in_a_job_and_then_lets_on(wizard: Wizard) -> None:
    wizard.controller.start()
    assert wizard.view.is_open
    assert wizard.view.page is WizardPage.CHECK
    assert wizard.view.checking
    assert wizard.view.enabled() == {WizardAction.TRY_DEMO}
    wizard.jobs.finish()
    assert not wizard.view.checking
    assert wizard.view.checks == wizard.report.items
    usual = {WizardAction.CHECK_AGAIN, WizardAction.NEXT}
    assert wizard.view.enabled() == usual | {WizardAction.TRY_DEMO}
    assert wizard.needed_bytes[0] > MODEL.total_bytes


def test_failed_check_stops_until_it_is_repeated(wizard: Wizard) -> None:
    wizard.report = report(state=CheckState.FAIL)
    wizard.controller.start()
    wizard.jobs.finish()
    assert wizard.view.enabled() == {WizardAction.CHECK_AGAIN, WizardAction.TRY_DEMO}
    assert wizard.view.buttons[WizardAction.CHECK_AGAIN].primary
    wizard.report = report()
    wizard.press(WizardAction.CHECK_AGAIN)
    wizard.jobs.finish()
    assert WizardAction.NEXT in wizard.view.enabled()


def test_caution_does_not_stop(wizard: Wizard) -> None:
    wizard.report = report(state=CheckState.WARN)
    wizard.at_choose()
    assert wizard.view.page is WizardPage.CHOOSE


def test_choose_page_says_size_licence_and_memory(wizard: Wizard) -> None:
    wizard.at_choose()
    option = wizard.view.options["tiny"]
    assert "1.00 GB from Hugging Face. Licence MIT" in option.detail
    assert option.memory_text == "Needs 1.00 GB."
    assert list(wizard.view.options) == ["tiny", PATH_ID, DEMO_MODEL_ID]
    assert wizard.view.chosen_id == "tiny"
    assert wizard.view.buttons[WizardAction.NEXT].label == "Download"
    assert wizard.store.asked == [], "nothing is fetched before the button is pressed"


def test_demo_is_offered_only_where_it_came_with_the_app(qtbot: QtBot) -> None:
    wizard = Wizard(demo_dir=None).at_choose()
    assert DEMO_MODEL_ID not in wizard.view.options
    wizard.press(WizardAction.NEXT)
    assert wizard.view.download is not None
    assert not wizard.view.download.offers_demo


def test_model_that_does_not_fit_is_refused_with_the_numbers(wizard: Wizard) -> None:
    wizard.plan = PlannedModel("Tiny", "Needs 9.00 GB; 8.00 GB are free.", fits=False)
    wizard.at_choose()
    assert wizard.view.options["tiny"].problem == "Needs 9.00 GB; 8.00 GB are free."
    assert WizardAction.NEXT not in wizard.view.enabled()


def test_disk_without_room_is_refused_with_the_numbers(wizard: Wizard) -> None:
    wizard.report = report(disk=5 * 10**8)
    wizard.at_choose()
    assert "500 MB free" in wizard.view.options["tiny"].problem
    assert "1.07 GB are needed" in wizard.view.options["tiny"].problem
    assert WizardAction.NEXT not in wizard.view.enabled()


def test_partial_download_is_shown_continued_and_can_be_deleted(wizard: Wizard) -> None:
    wizard.store.held = 412_000_000
    wizard.at_choose()
    assert wizard.view.options["tiny"].partial_text == "412 MB of it are already here."
    assert wizard.view.buttons[WizardAction.NEXT].label == "Go on downloading"
    wizard.controller.on_action(WizardAction.DELETE_PARTIAL.value)
    wizard.controller.on_store_event(ModelDeleted("tiny"))
    assert wizard.store.asked == ["delete"]
    assert wizard.view.options["tiny"].partial_text == ""


def test_delete_that_fails_leaves_the_page_as_it_is(wizard: Wizard) -> None:
    wizard.at_choose()
    wizard.store.held = 5_000_000
    wizard.controller.on_store_event(DeleteFailed("tiny", FolderNotWritable("/models", "no")))
    assert "5.0 MB" in wizard.view.options["tiny"].partial_text


def test_download_page_counts_files_speed_and_time(wizard: Wizard) -> None:
    wizard.at_download()
    assert wizard.store.asked == ["ensure"]
    assert wizard.view.page is WizardPage.DOWNLOAD
    assert wizard.view.steps == tuple(WizardPage)
    wizard.arrived(MODEL.files[0], 700)
    wizard.hashed(MODEL.files[0], 700)
    wizard.arrived(MODEL.files[0], 700)
    wizard.arrived(WEIGHTS, 400_000_000)
    page = wizard.view.download
    assert page is not None
    rows = {row.label: row for row in page.rows}
    assert rows["config.json"].state is FileState.CHECKED
    assert rows["config.json"].amount == "1 KB, checked"
    assert rows["model.safetensors"].amount == "400 of 1,000 MB"
    assert rows["model.safetensors"].share == pytest.approx(0.4)
    assert page.total.share == pytest.approx(0.4, abs=1e-3)
    assert page.speed_text == "5.0 MB/s, about 2 minutes left."
    assert page.disk_text == "Free disk after this: 999 GB."
    assert page.waiting_text == ""


def test_free_disk_after_the_download_counts_what_is_here_once(wizard: Wizard) -> None:
    wizard.report = report(disk=2 * 10**9)
    wizard.store.held = 400_000_000
    wizard.at_download()
    for file_bytes in (400_000_000, 900_000_000):
        wizard.arrived(WEIGHTS, file_bytes)
        assert wizard.view.download is not None
        assert wizard.view.download.disk_text == "Free disk after this: 1.40 GB."


def test_wait_is_shown_with_its_reason_and_goes_away(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.arrived(WEIGHTS, 400_000_000, waiting_for="connection lost")
    assert wizard.view.download is not None
    assert "(the connection was lost)" in wizard.view.download.waiting_text
    assert "again in 4 s" in wizard.view.download.waiting_text
    assert wizard.view.download.speed_text == ""
    wizard.arrived(WEIGHTS, 410_000_000)
    assert wizard.view.download.waiting_text == ""


def test_pause_and_resume(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.arrived(WEIGHTS, 400_000_000)
    wizard.press(WizardAction.PAUSE)
    assert wizard.store.asked == ["ensure", "stop"]
    assert wizard.view.download is not None
    assert wizard.view.download.speed_text.startswith("Paused")
    wizard.arrived(WEIGHTS, 401_000_000)  # was on its way
    wizard.controller.on_store_event(StoreFailed("tiny", DownloadCancelled(WEIGHTS.name)))
    assert wizard.view.failure is None
    assert wizard.view.download.speed_text.startswith("Paused")
    assert wizard.view.enabled() == {WizardAction.CANCEL, WizardAction.RESUME}
    wizard.press(WizardAction.RESUME)
    assert wizard.store.asked == ["ensure", "stop", "ensure"]
    wizard.arrived(WEIGHTS, 402_000_000)
    assert "MB/s" in wizard.view.download.speed_text
    assert WizardAction.PAUSE in wizard.view.enabled()


def test_cancel_goes_back_and_keeps_what_has_arrived(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.store.held = 400_000_000
    wizard.press(WizardAction.CANCEL)
    assert wizard.store.asked == ["ensure", "stop"]
    assert wizard.view.page is WizardPage.CHOOSE
    assert "400 MB" in wizard.view.options["tiny"].partial_text
    wizard.controller.on_store_event(StoreFailed("tiny", DownloadCancelled(WEIGHTS.name)))
    assert wizard.view.page is WizardPage.CHOOSE
    assert wizard.view.failure is None


def test_verify_page_follows_the_last_byte(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.arrived(MODEL.files[0], 700)
    wizard.arrived(WEIGHTS, WEIGHTS.size_bytes)
    assert wizard.view.page is WizardPage.DOWNLOAD
    wizard.hashed(WEIGHTS, 600_000_000)
    assert wizard.view.page is WizardPage.VERIFY
    assert wizard.view.verify is not None
    rows = {row.label: row for row in wizard.view.verify.rows}
    assert rows["model.safetensors"].amount == "600 of 1,000 MB"
    assert rows["config.json"].state is FileState.CHECKED


def test_wrong_file_that_is_fetched_again_goes_back_to_the_download_page(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.arrived(MODEL.files[0], 700)
    wizard.arrived(WEIGHTS, WEIGHTS.size_bytes)
    wizard.hashed(WEIGHTS, WEIGHTS.size_bytes)
    wizard.arrived(WEIGHTS, 1_000_000)
    assert wizard.view.page is WizardPage.DOWNLOAD
    assert wizard.view.download is not None
    assert wizard.view.download.rows[0].amount == "1 of 1,000 MB"


def test_file_that_was_found_wrong_is_not_shown_as_checked_after_retry(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.arrived(WEIGHTS, WEIGHTS.size_bytes)
    wizard.hashed(WEIGHTS, WEIGHTS.size_bytes)
    wizard.fail(ChecksumMismatch(WEIGHTS.name, "2" * 64, "3" * 64))
    wizard.press(WizardAction.RETRY)
    wizard.arrived(MODEL.files[0], 700)
    assert wizard.view.download is not None
    assert wizard.view.download.rows[0].state is FileState.WAITING


FAILURES = [
    (DownloadFailed("model.safetensors", "lost, 8 tries", 5, DownloadFault.LOST), "network"),
    (DownloadFailed("model.safetensors", "refused", 5, DownloadFault.NO_CONNECTION), "proxy"),
    (DownloadFailed("config.json", "a web page", 0, DownloadFault.WEB_PAGE, "a.example"), "login"),
    (ChecksumMismatch("model.safetensors", "2" * 64, "3" * 64), "another network"),
    (NotEnoughDisk("/models", 10**9, 10**6), "Free some space"),
    (FolderNotWritable("/models", "Read-only file system"), "--profile"),
    (StoreBusy("/models"), "Wait for it"),
    (BadModelFile("/models/x", "odd"), "Try again"),
]


@pytest.mark.parametrize(("error", "advice"), FAILURES, ids=lambda value: type(value).__name__)
def test_each_failure_says_what_happened_what_was_kept_and_what_to_do(
    error: EngineError, advice: str, wizard: Wizard
) -> None:
    wizard.at_download()
    wizard.store.held = 400_000_000
    page = wizard.fail(error)
    assert page.title
    assert page.happened
    assert "400 MB of 1.00 GB are kept" in page.kept
    assert advice in page.advice
    assert page.details == str(error)
    assert wizard.view.enabled() == {WizardAction.BACK, WizardAction.RETRY}
    wizard.press(WizardAction.RETRY)
    assert wizard.store.asked == ["ensure", "ensure"]
    assert wizard.view.page is WizardPage.DOWNLOAD
    assert wizard.view.failure is None


def test_failure_before_the_first_byte_says_so(wizard: Wizard) -> None:
    page = wizard.at_download().fail(
        DownloadFailed("config.json", "refused", 0, DownloadFault.NO_CONNECTION)
    )
    assert page.kept.startswith("Nothing had arrived yet")


def test_events_behind_a_failure_do_not_bring_the_download_page_back(wizard: Wizard) -> None:
    wizard.at_download().fail(StoreBusy("/models"))
    wizard.arrived(WEIGHTS, 1)
    assert wizard.view.failure is not None


def test_back_from_a_failure_is_the_choice(wizard: Wizard) -> None:
    wizard.at_download().fail(StoreBusy("/models"))
    wizard.press(WizardAction.BACK)
    assert wizard.view.page is WizardPage.CHOOSE
    wizard.press(WizardAction.BACK)
    assert wizard.view.page is WizardPage.CHECK


def test_closing_leaves_the_download_running_and_start_shows_it_again(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.arrived(WEIGHTS, 100_000_000)
    wizard.controller.on_closing()
    assert wizard.closed == 1
    assert wizard.store.asked == ["ensure"]
    wizard.arrived(WEIGHTS, 200_000_000)
    wizard.controller.start()
    assert wizard.view.page is WizardPage.DOWNLOAD
    assert wizard.view.download is not None
    assert wizard.view.download.rows[0].amount == "200 of 1,000 MB"


def test_download_that_ends_while_the_window_is_closed_loads_nothing(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.controller.on_closing()
    wizard.stored()
    assert wizard.ready == []
    wizard.controller.start()
    wizard.jobs.finish()
    wizard.press(WizardAction.NEXT)
    assert "On this disk and checked" in wizard.view.options["tiny"].detail
    wizard.press(WizardAction.NEXT)
    assert wizard.ready == [(FOLDER, "tiny")]
    assert wizard.store.asked == ["ensure"]


def test_demo_can_be_tried_while_the_download_goes_on(wizard: Wizard) -> None:
    wizard.at_download()
    wizard.controller.on_action(WizardAction.TRY_DEMO.value)
    assert wizard.ready == [(Path("/app/demo_model"), DEMO_MODEL_ID)]
    assert not wizard.view.is_open
    assert wizard.closed == 1
    assert wizard.store.running


def test_the_first_page_offers_the_demo_before_and_after_the_check(wizard: Wizard) -> None:
    wizard.controller.start()
    assert wizard.view.page is WizardPage.CHECK
    assert WizardAction.TRY_DEMO in wizard.view.enabled()
    wizard.jobs.finish()
    assert wizard.view.buttons[WizardAction.TRY_DEMO].label == "Try the demo model now"
    wizard.press(WizardAction.TRY_DEMO)
    assert wizard.ready == [(Path("/app/demo_model"), DEMO_MODEL_ID)]
    assert not wizard.view.is_open
    assert not wizard.store.running


def test_demo_can_be_chosen_at_once(wizard: Wizard) -> None:
    wizard.at_choose()
    wizard.controller.on_option_chosen(DEMO_MODEL_ID)
    assert wizard.view.chosen_id == DEMO_MODEL_ID
    assert WizardPage.DOWNLOAD not in wizard.view.steps
    wizard.press(WizardAction.NEXT)
    assert wizard.ready == [(Path("/app/demo_model"), DEMO_MODEL_ID)]
    assert wizard.view.page is WizardPage.ANSWER


def test_own_model_is_opened_in_a_job_before_it_can_be_used(wizard: Wizard) -> None:
    wizard.at_choose()
    wizard.controller.on_option_chosen(PATH_ID)
    assert WizardAction.NEXT not in wizard.view.enabled()
    wizard.controller.on_path_chosen("/home/me/mine.gguf")
    assert wizard.view.options[PATH_ID].memory_text == "Opening it."
    assert WizardAction.NEXT not in wizard.view.enabled()
    wizard.jobs.finish()
    assert wizard.view.options[PATH_ID].memory_text == "Needs 0.50 GB."
    wizard.press(WizardAction.NEXT)
    assert wizard.ready == [(Path("/home/me/mine.gguf"), "/home/me/mine.gguf")]
    assert wizard.store.asked == [], "the user's files are only referenced"


@pytest.mark.parametrize(
    "found", [BadModelFile("/home/me/x", "too short"), PlannedModel("x", "Too big.", fits=False)]
)
def test_own_model_that_cannot_be_used_is_refused_by_name(
    found: PlannedModel | EngineError, wizard: Wizard
) -> None:
    wizard.local = found
    wizard.at_choose()
    wizard.controller.on_path_chosen("/home/me/x")
    wizard.jobs.finish()
    assert wizard.view.options[PATH_ID].problem
    assert WizardAction.NEXT not in wizard.view.enabled()
    wizard.local = PlannedModel("Good", "Needs 1 GB.", fits=True)
    wizard.controller.on_path_chosen("/home/me/good")
    wizard.jobs.finish()
    assert wizard.view.options[PATH_ID].problem == ""
    assert WizardAction.NEXT in wizard.view.enabled()


def test_result_for_an_earlier_path_is_dropped(wizard: Wizard) -> None:
    wizard.local = BadModelFile("/home/me/bad", "too short")
    wizard.at_choose()
    wizard.controller.on_path_chosen("/home/me/bad")
    first = wizard.jobs.waiting
    wizard.jobs.waiting = []
    wizard.controller.on_path_chosen("/home/me/good")
    for job in first:
        job()
    assert wizard.view.options[PATH_ID].problem == ""


def test_first_answer_loads_asks_and_shows_the_speed(wizard: Wizard) -> None:
    wizard.at_answer()
    assert wizard.ready == [(FOLDER, "tiny")]
    assert wizard.view.page is WizardPage.ANSWER
    controller, view = wizard.controller, wizard.view
    controller.on_engine_event(LoadAdvanced("1", LoadProgress("weights", 250, 1000)))
    assert view.answer is not None
    assert view.answer.share == pytest.approx(0.25)
    assert wizard.engine.requests == []
    controller.on_engine_event(ModelLoaded("1", INFO))
    (request,) = wizard.engine.requests
    assert request.messages[0].text == "Hello, who are you?"
    for text in ("Hello", " there."):
        controller.on_engine_event(Delta(request.request_id, Channel.ANSWER, text, 1))
    assert view.answer.share is None
    assert view.answer.answer == "Hello there."
    assert not view.buttons[WizardAction.START_CHATTING].primary
    controller.on_engine_event(Finished(request.request_id, FinishReason.END, stats()))
    assert "100.0 tokens/s on NVIDIA GPU" in view.answer.numbers_text
    assert "0.08 s" in view.answer.numbers_text
    assert view.buttons[WizardAction.START_CHATTING].primary
    wizard.press(WizardAction.START_CHATTING)
    assert not view.is_open
    assert wizard.closed == 1


def test_events_of_other_requests_and_replaced_loads_are_ignored(wizard: Wizard) -> None:
    wizard.at_answer()
    controller, view = wizard.controller, wizard.view
    controller.on_engine_event(LoadFailed("0", LoadCancelled()))
    assert view.failure is None
    controller.on_engine_event(ModelLoaded("1", INFO))
    controller.on_engine_event(ModelLoaded("2", INFO))
    controller.on_engine_event(Delta("another", Channel.ANSWER, "not mine", 1))
    assert view.answer is not None
    assert view.answer.answer == ""
    assert len(wizard.engine.requests) == 1


def test_chat_can_be_started_before_the_first_answer_is_over(wizard: Wizard) -> None:
    wizard.at_answer()
    wizard.controller.on_engine_event(ModelLoaded("1", INFO))
    wizard.press(WizardAction.START_CHATTING)
    assert wizard.engine.control.cancelled
    wizard.controller.on_engine_event(
        Delta(wizard.engine.requests[0].request_id, Channel.ANSWER, "late", 1)
    )
    assert wizard.view.answer is not None
    assert wizard.view.answer.answer == ""


def test_load_that_fails_can_be_tried_again_without_fetching(wizard: Wizard) -> None:
    wizard.at_answer()
    wizard.controller.on_engine_event(LoadFailed("1", NotEnoughMemory(2 * 10**9, 10**9, "GPU")))
    failure = wizard.view.failure
    assert failure is not None
    assert "2.00 GB" in failure.happened
    assert "Nothing has to be fetched again" in failure.kept
    wizard.press(WizardAction.RETRY)
    assert wizard.ready == [(FOLDER, "tiny")] * 2
    assert wizard.store.asked == ["ensure"]
    assert wizard.view.page is WizardPage.ANSWER


def test_late_events_do_not_take_a_failure_away(wizard: Wizard) -> None:
    wizard.at_answer()
    wizard.controller.on_engine_event(LoadFailed("1", NotEnoughMemory(2 * 10**9, 10**9, "GPU")))
    wizard.controller.on_engine_event(LoadAdvanced("1", LoadProgress("weights", 5, 10)))
    assert wizard.view.failure is not None
    assert wizard.view.enabled() == {WizardAction.BACK, WizardAction.RETRY}


def test_answer_that_fails_is_shown_as_a_failure(wizard: Wizard) -> None:
    wizard.at_answer()
    wizard.controller.on_engine_event(ModelLoaded("1", INFO))
    request_id = wizard.engine.requests[0].request_id
    wizard.controller.on_engine_event(Failed(request_id, NumericalError("layer 3")))
    assert wizard.view.failure is not None
    assert "not a number" in wizard.view.failure.happened
    assert "layer 3" in wizard.view.failure.details


def test_closing_twice_tells_it_once(wizard: Wizard) -> None:
    wizard.at_choose()
    wizard.controller.on_closing()
    wizard.controller.on_closing()
    assert wizard.closed == 1


def test_check_that_ends_on_another_page_changes_nothing_there(wizard: Wizard) -> None:
    wizard.at_choose()
    wizard.press(WizardAction.BACK)
    wizard.controller.on_path_chosen("/home/me/mine.gguf")
    wizard.jobs.finish()
    assert wizard.view.page is WizardPage.CHOOSE
