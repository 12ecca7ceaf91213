"""Twenty turns with thinking on: each has its thinking, beside its answer, and after a restart too.

LM#2107: the thinking was there on some turns and not on others. CherryHQ/cherry-studio#5377: in a
long chat an answer was folded into the thinking once it had ended.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.application import Application
from app.conversation import Reply, ReplyStatus
from app.ui.thinking_pane import ThinkingPane
from engine.api import Channel
from engine.scripted_engine import ScriptedReply, reply_of_texts
from tests.app.test_application import Runner

TURNS = 20
EMPTY = (4, 9, 10, 19)
"""These turns have an empty thinking: none at all, or newlines alone."""


def texts(turn: int) -> tuple[str, str]:
    """Thinking and answer of that turn, of which no two are alike."""
    thinking = f"Thought {turn}: **what** is asked?\n\nThe answer to {turn}." * (turn % 3 + 1)
    return ("\n\n" if turn % 2 else "") if turn in EMPTY else thinking, f"Answer number {turn}."


def reply(turn: int) -> ScriptedReply:
    thinking, answer = texts(turn)
    if turn in EMPTY:
        pieces = [(Channel.THINKING, thinking)] if thinking else []
        return ScriptedReply((*pieces, (Channel.ANSWER, answer)))
    return reply_of_texts(thinking, answer)


@pytest.fixture
def runner(qtbot, tmp_path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    yield made
    for application in list(made.running):
        made.close(application)


def replies(app: Application) -> list[Reply]:
    found = [exchange.reply for exchange in app.chats.shown.exchanges]
    return [reply for reply in found if reply is not None]


def assert_every_turn_shows_its_thinking(runner: Runner, app: Application) -> None:
    """In the window, from the first turn to the last, though far ones are built late."""
    for turn, exchange_id in enumerate(app.window.transcript.exchange_ids):
        app.window.transcript.bring_into_view(exchange_id, 0)
        widget = app.window.transcript.exchange_widget(exchange_id)
        thinking, answer = texts(turn)
        runner.wait(lambda w=widget, t=answer: w.answer.body.text == t and not w.is_behind)
        assert widget.thinking.isVisible()
        assert widget.thinking.text == thinking
        assert says_did_not_think(widget.thinking) is (turn in EMPTY), turn
        header = widget.thinking.header_text
        assert header == "Thinking" if turn in EMPTY else header.startswith("Thought for")


def says_did_not_think(pane: ThinkingPane) -> bool:
    return pane._empty.text() == "Did not think" and pane._empty.isVisible()


@pytest.mark.slow
def test_every_one_of_twenty_turns_has_its_own_thinking(runner):
    app = runner.start(*(reply(turn) for turn in range(TURNS)))
    for turn in range(TURNS):
        runner.ask(app, f"Question {turn}?")
        runner.wait(
            lambda turn=turn: (
                len(replies(app)) > turn and replies(app)[turn].status is ReplyStatus.DONE
            )
        )
    assert [request.thinking.enabled for request in runner.engine.requests] == [True] * TURNS
    assert [(each.thinking, each.answer) for each in replies(app)] == [
        texts(turn) for turn in range(TURNS)
    ]
    assert_every_turn_shows_its_thinking(runner, app)
    runner.close(app)
    assert [(each.thinking, each.answer) for _, each in runner.stored()] == [
        texts(turn) for turn in range(TURNS)
    ]
    again = runner.start()
    runner.wait(lambda: len(again.window.transcript.exchange_ids) == TURNS)
    assert_every_turn_shows_its_thinking(runner, again)
