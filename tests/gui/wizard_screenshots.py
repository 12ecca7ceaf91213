"""Pictures of every page and failure of the wizard, in light and dark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.paths import resource_dir
from app.system_check import GpuFacts
from app.ui.theme import Theme
from app.ui.wizard import WizardWindow
from app.wizard_choices import PATH_ID, Choices, WizardServices
from app.wizard_download import DownloadBoard
from app.wizard_view import WizardAction, WizardButton, WizardPage
from engine.api import DownloadProgress, VerifyProgress
from engine.errors import BadModelFile
from tests.gui.wizard_samples import ANSWERS, FAILURES, MODEL, planned, report

STEPS = tuple(WizardPage)
SHORT_STEPS = (WizardPage.CHECK, WizardPage.CHOOSE, WizardPage.ANSWER)


def wizard_screenshots(out_dir: Path) -> list[Path]:
    """Write all pictures into `out_dir` as wizard-<page>-<scheme>.png; needs a QApplication."""
    out_dir.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for scheme in ("light", "dark"):
        theme = Theme(resource_dir())
        theme.set_look(scheme, 15)
        window = WizardWindow(theme)
        window.show()

        def shoot(name: str, scheme: str = scheme, window: WizardWindow = window) -> None:
            for _ in range(3):
                QApplication.processEvents()
            path = out_dir / f"wizard-{name}-{scheme}.png"
            window.grab().save(str(path))
            written.append(path)

        with tempfile.TemporaryDirectory() as folder:
            _check_pages(window, shoot, Path(folder))
            _choose_pages(window, shoot, Path(folder))
        _download_pages(window, shoot)
        _answer_pages(window, shoot)
        _failure_pages(window, shoot)
        window.close_window()
        window.deleteLater()
    return written


def _buttons(window: WizardWindow, *specs: tuple[WizardAction, str, bool, bool]) -> None:
    window.show_buttons([WizardButton(*spec) for spec in specs])


def _check_pages(window: WizardWindow, shoot: Callable[[str], None], folder: Path) -> None:
    models = folder / "models"
    pages = {
        "check": report(models),
        "check-no-gpu": report(models, GpuFacts()),
        "check-problems": report(Path("/proc/models"), GpuFacts("470.10", "GeForce"), 10**15),
    }
    window.show_page(WizardPage.CHECK, STEPS)
    window.show_checks((), running=True)
    demo = (WizardAction.TRY_DEMO, "Try the demo model now", True, False)
    again = (WizardAction.CHECK_AGAIN, "Check again")
    _buttons(window, demo, (*again, False, False), (WizardAction.NEXT, "Next", False, True))
    shoot("check-running")
    for name, found in pages.items():
        window.show_checks(found.items, running=False)
        good = found.can_continue
        _buttons(window, demo, (*again, True, not good), (WizardAction.NEXT, "Next", good, good))
        shoot(name)


class _Store:
    def __init__(self, held_bytes: int) -> None:
        self._held_bytes = held_bytes

    def is_on_disk(self, _model: object) -> bool:
        return False

    def held_bytes(self, _model: object) -> int:
        return self._held_bytes


def _choose_pages(window: WizardWindow, shoot: Callable[[str], None], folder: Path) -> None:
    services = WizardServices(
        catalog=(MODEL,),
        demo_dir=folder,
        check=lambda needed_bytes: report(folder, needed_bytes=needed_bytes),
        plan_catalog=lambda _model, _report: planned(),
        plan_local=lambda _path, _report: planned("SmolLM2-135M-Instruct"),
    )
    for name, held_bytes in (("choose", 0), ("choose-partial", 412_000_000)):
        choices = Choices(services, _Store(held_bytes))
        choices.take_check(choices.check_job()())
        _show_choices(window, choices)
        shoot(name)
    choices.begin_path(Path("/home/me/models/SmolLM2-135M-Instruct.Q4_1.gguf"))
    choices.take_local(choices.local_job()())
    _show_choices(window, choices)
    shoot("choose-own")
    broken = BadModelFile("/home/me/models/half.gguf", "expected 98,000,000 bytes, found 41,000")

    def refuse(_path: Path, _report: object) -> object:
        raise broken

    choices = Choices(
        WizardServices(
            (MODEL,),
            folder,
            services.check,
            lambda _model, _report: planned(fits=False),
            refuse,  # type: ignore[arg-type]
        ),
        _Store(0),
    )
    choices.take_check(choices.check_job()())
    choices.begin_path(Path("/home/me/models/half.gguf"))
    choices.take_local(choices.local_job()())
    assert choices.chosen_id == PATH_ID
    _show_choices(window, choices)
    shoot("choose-problems")


def _show_choices(window: WizardWindow, choices: Choices) -> None:
    window.show_page(WizardPage.CHOOSE, STEPS if choices.model is not None else SHORT_STEPS)
    window.show_options(choices.options(), choices.chosen_id)
    _buttons(
        window,
        (WizardAction.BACK, "Back", True, False),
        (WizardAction.NEXT, choices.next_label(), choices.can_go_on(), True),
    )


def board_half_way() -> DownloadBoard:
    """A download whose small files are checked and whose largest is at 43 %."""
    board = DownloadBoard(MODEL, 113_500_000_000, offers_demo=True)
    done_bytes = 0
    for file in MODEL.files[:-1]:
        done_bytes += file.size_bytes
        arrived = DownloadProgress(
            file.name, file.size_bytes, file.size_bytes, done_bytes, MODEL.total_bytes, 4.8e6, 300.0
        )
        board.take(arrived)
        board.take(VerifyProgress(file.name, file.size_bytes, file.size_bytes))
        board.take(arrived)
    board.take(_weights(648_000_000))
    return board


def _weights(file_bytes: int, waiting_for: str = "") -> DownloadProgress:
    weights = MODEL.files[-1]
    done_bytes = MODEL.total_bytes - weights.size_bytes + file_bytes
    return DownloadProgress(
        weights.name,
        file_bytes,
        weights.size_bytes,
        done_bytes,
        MODEL.total_bytes,
        0.0 if waiting_for else 4.8e6,
        None if waiting_for else (MODEL.total_bytes - done_bytes) / 4.8e6,
        waiting_for,
        4.2 if waiting_for else None,
    )


def _download_pages(window: WizardWindow, shoot: Callable[[str], None]) -> None:
    cancel = (WizardAction.CANCEL, "Cancel", True, False)
    later = (WizardAction.NEXT, "Next", False, True)
    board = board_half_way()
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    window.show_download(board.download_page())
    _buttons(window, cancel, (WizardAction.PAUSE, "Pause", True, False), later)
    shoot("download")
    board.take(_weights(648_000_000, "connection lost"))
    window.show_download(board.download_page())
    shoot("download-waiting")
    board.paused = True
    window.show_download(board.download_page())
    _buttons(
        window,
        cancel,
        (WizardAction.RESUME, "Resume", True, True),
        (WizardAction.NEXT, "Next", False, False),
    )
    shoot("download-paused")
    board.take(_weights(MODEL.files[-1].size_bytes))
    board.take(VerifyProgress(MODEL.files[-1].name, 900_000_000, MODEL.files[-1].size_bytes))
    window.show_page(WizardPage.VERIFY, STEPS)
    window.show_verify(board.verify_page())
    _buttons(window, cancel, later)
    shoot("verify")


def _answer_pages(window: WizardWindow, shoot: Callable[[str], None]) -> None:
    window.show_page(WizardPage.ANSWER, STEPS)
    for name, page in ANSWERS.items():
        window.show_answer(page)
        _buttons(window, (WizardAction.START_CHATTING, "Start chatting", True, name == "done"))
        shoot(f"answer-{name}")


def _failure_pages(window: WizardWindow, shoot: Callable[[str], None]) -> None:
    for name, page in FAILURES.items():
        step = WizardPage.ANSWER if name == "memory" else WizardPage.DOWNLOAD
        window.show_page(step, STEPS)
        window.show_failure(page)
        _buttons(
            window,
            (WizardAction.BACK, "Back", True, False),
            (WizardAction.RETRY, "Try again", True, True),
        )
        shoot(f"failed-{name}")
