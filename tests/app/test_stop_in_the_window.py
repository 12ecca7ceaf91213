"""Esc at every moment in the real window with the real engine thread, and sending at once after it.

The engine stands still at the moment, as one does that computes a long chunk; it goes on at once
after Esc, or only when the next question has been sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.application import Application
from app.chat_view import ChatState
from app.conversation import Reply, ReplyStatus
from tests.app.blocking_engine import BlockingEngine, Moment, texts_before
from tests.app.test_application import Runner

pytestmark = pytest.mark.slow

ENGINES: list[BlockingEngine] = []
"""Those of the running test; one that still stood would keep the app from ending."""


@pytest.fixture
def runner(qtbot: QtBot, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    yield made
    for engine in ENGINES:
        engine.release.set()
    ENGINES.clear()
    for application in list(made.running):
        made.close(application)


def start(runner: Runner, engine: BlockingEngine) -> Application:
    ENGINES.append(engine)
    app = runner.start(factory=lambda request: engine)
    app.window.activateWindow()
    runner.qtbot.waitUntil(app.window.isActiveWindow, timeout=30_000)
    return app


def send(app: Application, question: str) -> None:
    """Type and press Enter, as a user does."""
    edit = app.window.composer.edit
    QTest.keyClicks(edit, question)
    QTest.keyClick(edit, Qt.Key.Key_Return)


def press_escape(app: Application) -> None:
    QTest.keyClick(app.window.composer.edit, Qt.Key.Key_Escape)


def state(app: Application) -> ChatState:
    return app.chat.state_of(app.chats.shown_id)


def replies(app: Application) -> list[Reply]:
    found = [exchange.reply for exchange in app.chats.shown.exchanges]
    return [reply for reply in found if reply is not None]


def second_is_done(app: Application) -> bool:
    return len(replies(app)) == 2 and replies(app)[1].status is ReplyStatus.DONE


@pytest.mark.parametrize("held", [False, True], ids=["soon", "late"])
@pytest.mark.parametrize("moment", list(Moment), ids=lambda moment: moment.name.lower())
def test_escape_stops_and_the_next_question_is_answered(runner, moment, held):
    engine = BlockingEngine(moment)
    app = start(runner, engine)
    send(app, "First?")
    runner.wait(engine.reached.is_set)
    thinking, answer = texts_before(moment)
    # What had been streamed is in the window before the key is pressed.
    widget = app.window.transcript.exchange_widget(app.chats.shown.exchanges[0].exchange_id)
    runner.wait(lambda: (widget.thinking.text, widget.answer.body.text) == (thinking, answer))
    press_escape(app)
    assert state(app) in (ChatState.STOPPING, ChatState.IDLE)
    if not held:
        engine.release.set()
    send(app, "Second?")
    assert app.window.composer.text == "", "it was sent, not kept back"
    if held:
        runner.wait(lambda: state(app) is ChatState.PREFILLING)
        assert replies(app)[0].status is ReplyStatus.STOPPED, "though the engine still stands"
        engine.release.set()
    runner.wait(lambda: second_is_done(app))
    first, second = replies(app)
    assert (second.thinking, second.answer) == ("Again.", "Second answer.")
    # The engine may have been quicker than the key by a token, never slower.
    assert first.thinking.startswith(thinking)
    assert first.answer.startswith(answer)
    ended = first.status is ReplyStatus.DONE
    assert ended or first.status is ReplyStatus.STOPPED
    if ended:
        assert moment is Moment.END_TOKEN
    runner.wait(lambda: state(app) is ChatState.IDLE)
    assert app.window.composer.send.isVisible()
    runner.close(app)
    assert [question for question, _ in runner.stored()] == ["First?", "Second?"]
    assert [reply for _, reply in runner.stored()] == [first, second]


def test_escape_in_the_moment_of_sending_while_the_title_is_made(runner):
    engine = BlockingEngine(None)
    app = start(runner, engine)
    runner.wait(lambda: app.models.info is not None)
    edit = app.window.composer.edit
    QTest.keyClicks(edit, "First?")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    press_escape(app)  # before the store or the engine has heard of the question
    send(app, "Second?")
    runner.wait(lambda: second_is_done(app))
    assert replies(app)[0].status is ReplyStatus.STOPPED
    runner.close(app)
    assert [question for question, _ in runner.stored()] == ["First?", "Second?"]


@pytest.mark.parametrize("moment", list(Moment), ids=lambda moment: moment.name.lower())
def test_closing_the_window_at_every_moment_keeps_question_and_words(runner, moment):
    engine = BlockingEngine(moment)
    app = start(runner, engine)
    send(app, "First?")
    runner.wait(engine.reached.is_set)
    thinking, answer = texts_before(moment)
    widget = app.window.transcript.exchange_widget(app.chats.shown.exchanges[0].exchange_id)
    runner.wait(lambda: (widget.thinking.text, widget.answer.body.text) == (thinking, answer))
    engine.release.set()
    runner.close(app)
    [(question, reply)] = runner.stored()
    assert question == "First?"
    assert reply is not None
    assert reply.thinking.startswith(thinking)
    assert reply.answer.startswith(answer)
    assert reply.status is not ReplyStatus.RUNNING


def test_answer_now_in_the_middle_of_a_thought_is_answered(runner):
    engine = BlockingEngine(Moment.MID_THINKING)
    app = start(runner, engine)
    send(app, "First?")
    runner.wait(engine.reached.is_set)
    widget = app.window.transcript.exchange_widget(app.chats.shown.exchanges[0].exchange_id)
    runner.wait(widget.thinking.answer_now_button.isVisible)
    widget.thinking.answer_now_button.click()
    engine.release.set()
    runner.wait(lambda: bool(replies(app)) and replies(app)[0].status is ReplyStatus.DONE)
    [reply] = replies(app)
    assert reply.thinking == "Let me"
    assert reply.answer == "It is four."
