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


def test_thinking_that_is_switched_off_stays_off_in_what_the_model_is_sent(runner: Runner) -> None:
    """LM#2274, LM#1933: a switch without effect, or one that flips back after a turn."""
    app = runner.start()
    asked = runner.engine.requests
    app.window.composer.thinking.click()
    for number in range(3):
        ask(runner, app, f"Question {number}?")
    chat = app.chats.shown_id
    runner.close(app)
    again = runner.start()
    after = runner.engine.requests
    runner.wait(lambda: again.chats.shown_id == chat)
    ask(runner, again, "And now?")
    sent = [*asked, *after]
    assert [request.thinking.enabled for request in sent] == [False] * 4
    assert not again.window.composer.thinking.isChecked()


def test_zero_reaches_the_model_as_zero(runner: Runner) -> None:
    app = runner.start()
    for name, value in (("temperature", 0.0), ("seed", 0), ("top_k", 0), ("min_p", 0.0)):
        change(app, name, value)
    change(app, "thinking_budget_tokens", 0)
    ask(runner, app, "Zero?")
    sent = runner.engine.requests[0]
    assert (sent.sampling.temperature, sent.sampling.seed, sent.sampling.top_k) == (0.0, 0, 0)
    assert sent.thinking.budget_tokens == 0


def test_hidden_thinking_stays_hidden_after_a_restart(runner: Runner) -> None:
    """unsloth#8370: who does not want to see it does not see it again."""
    app = runner.start()
    app.window.toggle_thinking()
    runner.close(app)
    again = runner.start()
    ask(runner, again, "Quietly?")
    exchange = again.chats.shown.exchanges[-1]
    pane = again.window.transcript.exchange_widget(exchange.exchange_id).thinking
    assert pane.text  # it thought
    assert not pane.view.isVisible()


def test_an_unsent_question_survives_settings_another_chat_and_a_restart(runner: Runner) -> None:
    """ollama#12762: opening the settings wiped it."""
    app = runner.start()
    first = ask(runner, app, "One?")
    app.window.composer.edit.setPlainText("half a question")
    app.window.panels.toggle("right")
    change(app, "theme", "dark")
    change(app, "temperature", 1.1)
    app.window.panels.toggle("right")
    assert app.window.composer.text == "half a question"
    app.window.chats.new_chat_requested.emit()
    assert app.window.composer.text == ""
    open_chat(runner, app, first)
    assert app.window.composer.text == "half a question"
    runner.close(app)
    again = runner.start()
    runner.wait(lambda: again.chats.shown_id == first)
    assert again.window.composer.text == "half a question"
