"""What the user chose last holds, however late the answer to an earlier choice comes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.chat_view import ModelState
from app.conversation import Conversation
from app.conversation_store import ConversationStore
from app.model_records import ModelRecord, look_at_disk
from app.settings_file import load_profile
from tests.app.test_application import Runner

MODELS = tuple(ModelRecord(name, name, Path(sys.executable)) for name in ("m1", "m2"))


@pytest.fixture
def runner(qtbot, tmp_path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    yield made
    for application in list(made.running):
        made.close(application)


class SlowDisk:
    """Looks at the disk when it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.answers = threading.Event()

    def look(self, *arguments: object) -> object:
        self.asked.set()
        assert self.answers.wait(30)
        return look_at_disk(*arguments)  # type: ignore[arg-type]


@pytest.fixture
def slow_disk(monkeypatch) -> Iterator[SlowDisk]:
    disk = SlowDisk()
    yield disk
    disk.answers.set()


def test_a_model_that_is_chosen_meanwhile_is_not_taken_away_again(runner, slow_disk, monkeypatch):
    app = runner.start(models=MODELS)
    runner.wait(lambda: app.models.info is not None)
    assert app.models.active_id == "m1"
    monkeypatch.setattr("app.application.look_at_disk", slow_disk.look)
    # The wizard's "Try the demo model": its files are looked at before it is used.
    app.wizard.model_ready(MODELS[0].path, "m1")
    runner.wait(slow_disk.asked.is_set)
    app.window.model_selected.emit("m2")
    runner.wait(lambda: app.models.state("m2") is ModelState.READY)
    slow_disk.answers.set()
    looked: list[bool] = []
    app._jobs.run(lambda: True, looked.append)  # done after it, and told after it
    runner.wait(lambda: bool(looked))
    assert app.models.active_id == "m2"
    assert app.models.state("m2") is ModelState.READY


def test_a_model_of_the_wizard_is_used_where_nothing_else_was_chosen(
    runner, slow_disk, monkeypatch
):
    app = runner.start(models=MODELS)
    runner.wait(lambda: app.models.info is not None)
    monkeypatch.setattr("app.application.look_at_disk", slow_disk.look)
    app.window.model_selected.emit("m1")
    app.wizard.model_ready(MODELS[1].path, "m2")
    slow_disk.answers.set()
    runner.wait(lambda: app.models.state("m2") is ModelState.READY)
    assert app.models.active_id == "m2"


def test_a_quick_close_does_not_forget_the_chat_of_last_time(runner, monkeypatch):
    app = runner.start()
    runner.ask(app, "Is it?")
    runner.wait_done(app)
    chat_id = app.shown_chat_id
    runner.close(app)
    answers = threading.Event()
    load = ConversationStore.load

    def load_late(store: ConversationStore, conversation_id: str) -> Conversation | None:
        assert answers.wait(30)
        return load(store, conversation_id)

    monkeypatch.setattr(ConversationStore, "load", load_late)
    hasty = runner.start()
    runner.wait(lambda: hasty.models.info is not None)
    assert not hasty.chats.shown.exchanges
    hasty._on_tick()  # what is remembered each second, too
    hasty.window.close()
    answers.set()
    runner.close(hasty)
    monkeypatch.undo()
    assert load_profile(runner.paths.settings_file).profile.shown_chat_id == chat_id
    again = runner.start()
    runner.wait(lambda: bool(again.chats.shown.exchanges))
    again.window.new_chat_requested.emit()
    runner.close(again)
    assert load_profile(runner.paths.settings_file).profile.shown_chat_id == ""


def test_a_chat_of_last_time_that_is_gone_is_forgotten(runner):
    app = runner.start()
    runner.ask(app, "Is it?")
    runner.wait_done(app)
    runner.close(app)
    runner.paths.database_file.unlink()
    again = runner.start()
    runner.wait(lambda: again.chats.coming_id == "")
    runner.close(again)
    assert load_profile(runner.paths.settings_file).profile.shown_chat_id == ""
