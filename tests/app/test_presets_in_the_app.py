"""Chats with settings of their own, in the real window, over a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.application import Application
from app.settings import with_value
from tests.app.test_application import Runner


@pytest.fixture
def runner(qtbot: QtBot, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path)
    yield made
    for application in list(made.running):
        made.close(application)


def change(application: Application, name: str, value: object) -> None:
    window = application.window
    window.change_settings(with_value(window.settings, name, value))


def ask(runner: Runner, application: Application, question: str) -> str:
    runner.ask(application, question)
    runner.wait_done(application)
    return application.chats.shown_id


def open_chat(runner: Runner, application: Application, chat_id: str) -> None:
    application.window.conversation_selected.emit(chat_id)
    runner.wait(lambda: application.chats.shown_id == chat_id)


def test_two_chats_keep_their_settings_also_after_a_restart(runner: Runner) -> None:
    app = runner.start()
    change(app, "temperature", 0.0)
    first = ask(runner, app, "One?")
    app.window.new_chat_requested.emit()
    assert app.window.settings.temperature == 0.6
    change(app, "system_prompt", "Be brief.")
    change(app, "seed", 0)
    second = ask(runner, app, "Two?")
    open_chat(runner, app, first)
    assert app.window.settings.temperature == 0.0
    assert app.window.settings.system_prompt == ""
    runner.close(app)

    again = runner.start()
    runner.wait(lambda: again.chats.shown_id == first)
    assert again.window.settings.temperature == 0.0
    open_chat(runner, again, second)
    assert again.window.settings.system_prompt == "Be brief."
    assert again.window.settings.seed == 0
    assert not again.window.settings_panel.presets.changes.isHidden()


def test_what_is_set_in_an_empty_chat_is_there_after_a_restart(runner: Runner) -> None:
    app = runner.start()
    change(app, "top_k", 0)
    runner.close(app)
    again = runner.start()
    assert again.window.settings.top_k == 0
    chat = ask(runner, again, "Here?")
    assert again.chats.shown.settings != ""
    again.window.new_chat_requested.emit()
    assert again.window.settings.top_k == 20
    open_chat(runner, again, chat)
    assert again.window.settings.top_k == 0


def test_a_saved_preset_serves_the_next_chats(runner: Runner) -> None:
    app = runner.start()
    change(app, "temperature", 1.5)
    app.window.preset_saved.emit("Wild")
    ask(runner, app, "One?")
    change(app, "temperature", 0.2)
    app.window.new_chat_requested.emit()
    assert app.window.settings.temperature == 1.5
    assert app.window.settings_panel.presets.button.text() == "Wild"
    assert app.window.settings_panel.presets.changes.isHidden()
