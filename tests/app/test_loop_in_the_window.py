"""The loop guard in the real window with the real engine thread (chat-apps.md, row 15)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.application import Application
from app.conversation import ReplyStatus
from engine.api import Channel
from engine.scripted_engine import ScriptedReply, reply_of_texts
from tests.app.test_application import Runner

pytestmark = pytest.mark.slow

PASSAGE = (
    "So",
    " the",
    " answer",
    " must",
    " be",
    " 42",
    ",",
    " but",
    " wait",
    " a",
    " moment",
    ".",
)
LOOP = ScriptedReply(
    (
        *((Channel.THINKING, token) for token in PASSAGE * 60),
        *((Channel.ANSWER, token) for token in ("It", " is", " 42", ".")),
    )
)


@pytest.fixture
def runner(qtbot: QtBot, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    yield made
    for application in list(made.running):
        made.close(application)


def ask_and_wait_for_the_bar(runner: Runner) -> Application:
    app = runner.start(LOOP, reply_of_texts("", "Fresh."), tokens_per_s=400)
    runner.ask(app, "Why?")
    runner.wait(lambda: "loop" in [notice.key for notice in app.window.notices.notices])
    return app


def test_the_bar_comes_while_it_thinks_and_answer_now_yields_an_answer(runner):
    app = ask_and_wait_for_the_bar(runner)
    app.window.notices.action_button("loop", 1).click()
    reply = runner.wait_done(app)
    assert reply.answer == "It is 42."
    assert reply.thinking_tokens < 12 * 60
    assert app.window.notices.notices == ()


def test_stop_on_the_bar_stops_and_the_penalty_is_still_offered(runner):
    app = ask_and_wait_for_the_bar(runner)
    app.window.notices.action_button("loop", 0).click()
    assert runner.wait_done(app).status is ReplyStatus.STOPPED
    [notice] = app.window.notices.notices
    assert [action.partition(":")[0] for action, _ in notice.actions] == ["raise_presence"]


def test_a_higher_penalty_is_set_shown_in_the_settings_and_tried(runner):
    app = ask_and_wait_for_the_bar(runner)
    focused = app.window.focusWidget()
    app.window.notices.action_button("loop", 2).click()
    assert app.window.focusWidget() is focused, "what is typed next goes where it went before"
    runner.wait(lambda: len(app.chats.shown.exchanges[0].replies) == 2)
    reply = runner.wait_done(app)
    assert (reply.answer, reply.status) == ("Fresh.", ReplyStatus.DONE)
    assert app.settings.settings.presence_penalty == 1.0
    assert runner.engine.requests[-1].sampling.presence_penalty == 1.0
    assert app.window.panels.is_shown("right")
    row = app.window.settings_panel.rows["presence_penalty"]
    assert row.isVisible()
    runner.wait(lambda: not row.visibleRegion().isEmpty())
