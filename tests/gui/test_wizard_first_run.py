"""The whole first run with real parts: clicks, jobs, download, sha256, engine thread, answer.

Only the model host is a stand-in (on loopback); the model is the demo model of the app.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.background import GuiCalls, JobRunner
from app.engine_events import LoadRequest
from app.engine_thread import EngineThread
from app.model_plans import plan_local_model
from app.model_store_thread import ModelStoreThread
from app.paths import resource_dir
from app.system_check import GpuFacts, check_system
from app.ui.theme import Theme
from app.ui.wizard import WizardWindow
from app.wizard_choices import PATH_ID, WizardServices
from app.wizard_controller import WizardController
from app.wizard_view import WizardAction
from engine.api import Engine
from engine.models.model_catalog import CatalogFile, CatalogModel
from engine.models.model_store import ModelStore
from engine.open_engine import open_engine
from tests.engine.store.conftest import QUICK
from tests.engine.store.fake_hub import FakeHub, Fault

FOLDER = resource_dir() / "demo_model"
FILES = sorted(file for pattern in ("*.json", "*.safetensors") for file in FOLDER.glob(pattern))


def small_catalog_model() -> CatalogModel:
    files = [
        CatalogFile(path.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in FILES
    ]
    return CatalogModel("small", "Small", "owner/small", "a" * 40, "MIT", tuple(files))


def build_engine(store: ModelStore, model: CatalogModel, request: LoadRequest) -> Engine:
    if request.model_id == model.model_id:
        store.require_verified(model)
    return open_engine(request.path, "cpu", 256)


class FirstRun:
    """The wizard and everything it needs, joined as the app joins them."""

    def __init__(self, folder: Path, qtbot: QtBot) -> None:
        self.model = small_catalog_model()
        self._qtbot = qtbot
        self._calls = GuiCalls()
        self._jobs = JobRunner(self._calls.post)
        store = ModelStore(folder / "models", QUICK)
        self.store = ModelStoreThread(store)
        self.engine = EngineThread(
            partial(build_engine, store, self.model), self._forward_engine_event
        )
        services = WizardServices(
            catalog=(self.model,),
            demo_dir=None,
            check=partial(check_system, folder / "models", probe=GpuFacts),
            plan_catalog=lambda _model, report: plan_local_model(FOLDER, 256, report),
            plan_local=lambda path, report: plan_local_model(path, 256, report),
        )
        theme = Theme(resource_dir())
        self.window = WizardWindow(theme)
        qtbot.addWidget(self.window)
        self.controller = WizardController(
            self.window, self.store, self._jobs, self.engine, services
        )
        self.window.action_requested.connect(self.controller.on_action)
        self.window.option_chosen.connect(self.controller.on_option_chosen)
        self.window.path_chosen.connect(self.controller.on_path_chosen)
        self.window.closing.connect(self.controller.on_closing)
        self.store.event_emitted.connect(self.controller.on_store_event)
        self.controller.model_ready.connect(self._load)
        self.store.start()
        self.engine.start()

    def close(self) -> None:
        self.window.close_window()
        assert self.store.shutdown(5.0)
        assert self.engine.shutdown(5.0)
        self._jobs.close(5.0)

    def _forward_engine_event(self, event: object) -> None:
        self.controller.on_engine_event(event)  # type: ignore[arg-type]

    def _load(self, path: Path, model_id: str) -> None:
        self.engine.load(LoadRequest("1", model_id, path, "cpu", 256))

    def press(self, action: WizardAction) -> None:
        """Wait until the button may be pressed, and click it."""
        self._qtbot.waitUntil(lambda: action in pressable(self.window), timeout=30_000)
        self._qtbot.mouseClick(self.window.buttons[action], Qt.MouseButton.LeftButton)

    def wait_for_first_answer(self) -> str:
        numbers = self.window.answer.numbers
        self._qtbot.waitUntil(lambda: "tokens/s" in numbers.text(), timeout=20_000)
        return self.window.answer.answer.text()


def pressable(window: WizardWindow) -> set[WizardAction]:
    buttons = window.buttons.items()
    return {action for action, button in buttons if button.isVisible() and button.isEnabled()}


@pytest.fixture
def run(tmp_path: Path, qtbot: QtBot) -> Iterator[FirstRun]:
    first_run = FirstRun(tmp_path, qtbot)
    yield first_run
    first_run.close()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with FakeHub({path.name: path.read_bytes() for path in FILES}) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        yield running


def test_from_the_check_to_the_first_answer(run: FirstRun, hub: FakeHub) -> None:
    hub.faults = [Fault(cut_after=100, cut_by="reset"), Fault(status=500, body=b"")]
    run.controller.start()
    run.press(WizardAction.NEXT)
    run.press(WizardAction.NEXT)
    assert run.wait_for_first_answer().startswith("I am the demo model of Thinkpane")
    assert run.store.is_on_disk(run.model)
    run.press(WizardAction.START_CHATTING)
    assert not run.window.isVisible()


def test_failure_in_the_middle_then_retry_then_answer(run: FirstRun, hub: FakeHub) -> None:
    hub.faults = [Fault(), Fault(status=403, body=b"")]
    run.controller.start()
    run.press(WizardAction.NEXT)
    run.press(WizardAction.NEXT)
    run.press(WizardAction.RETRY)
    run.wait_for_first_answer()
    assert hub.sent_bytes == run.model.total_bytes


def test_own_folder_answers_without_one_request(run: FirstRun, hub: FakeHub) -> None:
    run.controller.start()
    run.press(WizardAction.NEXT)
    run.controller.on_option_chosen(PATH_ID)
    run.window.path_chosen.emit(str(FOLDER))
    run.press(WizardAction.NEXT)
    run.wait_for_first_answer()
    assert hub.requests == []


def test_wrong_folder_is_refused_by_name(run: FirstRun, tmp_path: Path, qtbot: QtBot) -> None:
    run.controller.start()
    run.press(WizardAction.NEXT)
    run.window.path_chosen.emit(str(tmp_path / "no such folder"))
    card = run.window.choose.cards[1]
    qtbot.waitUntil(lambda: "no such folder" in card.problem.text(), timeout=30_000)
    assert not run.window.buttons[WizardAction.NEXT].isEnabled()
