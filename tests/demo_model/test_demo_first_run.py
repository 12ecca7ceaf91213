"""The first run of the whole app with the true demo model: real window, threads, download, engine.

Only the model host is a stand-in (on loopback). What it serves as "Qwen3-0.6B" are the demo model's
own files, since the real ones are 1.5 GB; every byte of them goes through the real download, sha256
and load.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.application import Application, StartOptions
from app.conversation import Reply, ReplyStatus
from app.engine_builder import build_engine
from app.logging_setup import UncaughtErrors
from app.model_plans import plan_local_model
from app.model_records import DEMO_MODEL_ID
from app.paths import Paths, ensure_folders, paths_for, resource_dir
from app.settings_file import load_profile
from app.ui.wizard import WizardWindow
from app.wizard_view import WizardAction
from engine.models.model_catalog import CatalogFile, CatalogModel
from tests.engine.store.fake_hub import FakeHub, Fault

FOLDER = resource_dir() / "demo_model"
FILES = (
    "config.json", "generation_config.json", "tokenizer_config.json", "tokenizer.json",
    "model.safetensors",
)  # fmt: skip
DEMO_HEADER = "Demo model: only small tasks"
SUM, SUM_ANSWER = "What is 48 + 76?", "48 + 76 = 124"
TWICE, TWICE_ANSWER = "and times two?", "124 × 2 = 248"
SLOW = Fault(bytes_per_s=100_000)


def catalog() -> tuple[CatalogModel, ...]:
    """The catalog with its one model under its own name, made of the demo model's files."""
    data = {name: (FOLDER / name).read_bytes() for name in FILES}
    files = tuple(
        CatalogFile(name, len(content), hashlib.sha256(content).hexdigest())
        for name, content in data.items()
    )
    return (CatalogModel("qwen3-0.6b", "Qwen3-0.6B", "owner/name", "a" * 40, "MIT", files),)


class FirstRun:
    """The app on an empty profile, used through its window alone."""

    def __init__(self, qtbot: QtBot, folder: Path) -> None:
        self._qtbot = qtbot
        self.paths: Paths = paths_for(folder)
        ensure_folders(self.paths)
        modes = {"thinking": {"temperature": 0.0}, "not_thinking": {"temperature": 0.0}}
        tree = {"version": 1, "settings": {"device": "cpu"}, "sampling": modes}
        self.paths.settings_file.write_text(json.dumps(tree), encoding="utf-8")
        self.app = self._start()
        self.wait(lambda: self.wizard is not None and self.wizard.isVisible())

    def _start(self) -> Application:
        app = Application(
            self.paths,
            load_profile(self.paths.settings_file),
            partial(build_engine, self.paths.models_dir, self.paths.kernel_cache_dir),
            StartOptions(),
            UncaughtErrors(),
        )
        app.leave = lambda code: None
        app.show()
        return app

    def close(self) -> None:
        """Close the window and wait for all threads."""
        self.app.window.close()
        self.wait(lambda: self.app._closed)
        self.app.window.deleteLater()

    def restart(self) -> None:
        """Close the app, open it again on the same profile, and wait for its model."""
        self.close()
        self.app = self._start()
        self.wait(lambda: self.app.models.info)

    def wait(self, condition: Callable[[], object]) -> None:
        self._qtbot.waitUntil(lambda: bool(condition()), timeout=30_000)

    @property
    def wizard(self) -> WizardWindow | None:
        """The wizard of this app, once there is one."""
        windows = QApplication.topLevelWidgets()
        wizards = (w for w in windows if isinstance(w, WizardWindow))
        return next((w for w in wizards if w._over is self.app.window), None)

    def press(self, action: WizardAction) -> None:
        """Wait until the wizard's button may be pressed, and click it."""
        wizard = self.wizard
        assert wizard is not None

        def button_is_there() -> bool:
            button = wizard.buttons.get(action)
            return button is not None and button.isVisible() and button.isEnabled()

        self.wait(button_is_there)
        self._qtbot.mouseClick(wizard.buttons[action], Qt.MouseButton.LeftButton)

    def ask(self, question: str) -> Reply:
        """Type a question, press Enter, wait for the end of the reply."""
        before = len(self.replies())
        edit = self.app.window.composer.edit
        self._qtbot.keyClicks(edit, question)
        self._qtbot.keyClick(edit, Qt.Key.Key_Return)
        ended = ReplyStatus.RUNNING
        self.wait(lambda: len(self.replies()) > before and self.replies()[-1].status is not ended)
        return self.replies()[-1]

    def replies(self) -> list[Reply]:
        """The replies of the chat that is shown."""
        exchanges = self.app.chats.shown.exchanges
        return [exchange.reply for exchange in exchanges if exchange.reply is not None]

    @property
    def header(self) -> str:
        """What the header says of the model that answers."""
        return self.app.window.header.picker.button.text()

    @property
    def offer(self) -> str:
        """The button beside it, if one is shown."""
        offer = self.app.window.header.picker.offer
        return offer.text() if offer.isVisible() else ""

    def press_offer(self) -> None:
        """Click the button beside it."""
        offer = self.app.window.header.picker.offer
        self._qtbot.mouseClick(offer, Qt.MouseButton.LeftButton)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    models = catalog()
    for module in ("engine.models.model_catalog", "app.model_records", "app.wizard_choices"):
        monkeypatch.setattr(f"{module}.CATALOG", models)
    monkeypatch.setattr(
        "app.wizard_choices.plan_catalog_model",
        lambda model, resources, tokens, report: plan_local_model(FOLDER, tokens, report),
    )
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with FakeHub({name: (FOLDER / name).read_bytes() for name in FILES}) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def run(hub: FakeHub, qtbot: QtBot, tmp_path: Path) -> Iterator[FirstRun]:
    first_run = FirstRun(qtbot, tmp_path / "profile")
    yield first_run
    first_run.close()


def test_the_first_page_leads_to_an_answer_without_one_request(run: FirstRun, hub: FakeHub) -> None:
    run.press(WizardAction.TRY_DEMO)
    run.wait(lambda: run.wizard is None or not run.wizard.isVisible())
    assert run.header == DEMO_HEADER
    reply = run.ask(SUM)
    assert (reply.answer, reply.model) == (SUM_ANSWER, "Demo model")
    assert reply.thinking.strip()
    assert hub.requests == []
    # The models on the disk are looked at first, on a thread of their own.
    run.wait(lambda: run.app.settings.profile.active_model_id)
    run.app.settings.save_now()
    profile = load_profile(run.paths.settings_file).profile
    assert profile.active_model_id == DEMO_MODEL_ID, "the next start does not ask again"


def test_the_demo_answers_while_the_real_model_downloads_and_the_switch_keeps_the_chat(
    run: FirstRun, hub: FakeHub
) -> None:
    hub.faults = [Fault()] * (len(FILES) - 1) + [SLOW]
    run.press(WizardAction.NEXT)
    run.press(WizardAction.NEXT)
    assert run.wizard is not None
    demo_meanwhile = run.wizard.download.try_demo
    run.wait(demo_meanwhile.isVisible)
    run._qtbot.mouseClick(demo_meanwhile, Qt.MouseButton.LeftButton)
    run.wait(lambda: run.wizard is None or not run.wizard.isVisible())

    picker = run.app.window.header.picker
    assert run.ask(SUM).answer == SUM_ANSWER
    assert run.header == DEMO_HEADER
    run.wait(lambda: picker.detail_text.startswith("Qwen3-0.6B downloading"))
    assert run.offer == "Pause"
    sent = hub.requests[-1]
    assert sent.sent_bytes < (FOLDER / FILES[-1]).stat().st_size, "it was still arriving"

    run.press_offer()
    run.wait(lambda: run.offer == "Resume")
    run.press_offer()  # the host is fast again
    run.wait(lambda: run.offer == "Use it now")
    assert picker.detail_text == "Qwen3-0.6B is ready"
    assert run.header == DEMO_HEADER, "nothing is switched under the user's hands"
    assert [reply.answer for reply in run.replies()] == [SUM_ANSWER]

    run.press_offer()
    run.wait(lambda: run.header == "Qwen3-0.6B")
    second = run.ask(TWICE)
    assert (second.answer, second.model) == (TWICE_ANSWER, "Qwen3-0.6B")
    first = run.replies()[0]
    assert (first.answer, first.model) == (SUM_ANSWER, "Demo model")
