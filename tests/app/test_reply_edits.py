"""A changed answer or thinking: a version of its own, both parts apart, and going on from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.chat_view import ReplyEdit
from app.conversation import EDITED, Exchange, Reply, ReplyStatus, can_continue, has_room
from engine.api import Channel, FinishReason, ReplyPrefix, Role
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def edit(
    desk: Desk, exchange: Exchange, channel: Channel, text: str, *, closed: bool, goes_on: bool
) -> None:
    desk.edits.on_reply_edited(ReplyEdit(exchange.exchange_id, channel, text, closed, goes_on))


def stored(desk: Desk) -> tuple[Reply, ...]:
    [exchange] = desk.store.conversation(desk.chats.shown_id).exchanges
    assert exchange == desk.view.exchanges[exchange.exchange_id]
    return exchange.replies


def test_a_saved_answer_is_a_version_that_the_model_sees_from_now_on(desk):
    exchange = desk.ask("One?", "four", "Hm.")
    edit(desk, exchange, Channel.ANSWER, "Four.", closed=True, goes_on=False)
    old, new = stored(desk)
    assert (old.thinking, old.answer) == ("Hm.", "four")
    assert (new.thinking, new.answer, new.finish_reason) == ("Hm.", "Four.", EDITED)
    assert new.thinking_closed, "the parts stay apart"
    assert len(desk.engine.requests) == 1
    desk.chat.on_submitted("Two?")
    said = [m for m in desk.request.messages if m.role is Role.ASSISTANT]
    assert [(m.text, m.thinking) for m in said] == [("Four.", "Hm.")]


def test_an_edited_answer_goes_on_from_the_new_words(desk):
    exchange = desk.ask("One?", "It is five.", "Hm.")
    edit(desk, exchange, Channel.ANSWER, "It is four", closed=True, goes_on=True)
    assert desk.request.prefix == ReplyPrefix("Hm.", True, "It is four")
    desk.say(answer=", since 2 + 2 is.")
    desk.finish()
    old, new = stored(desk)
    assert old.answer == "It is five."
    assert (new.thinking, new.answer) == ("Hm.", "It is four, since 2 + 2 is.")
    assert new.status is ReplyStatus.DONE


@pytest.mark.parametrize("closed", [False, True])
def test_edited_thinking_goes_on_as_thinking_or_is_answered(desk, closed):
    exchange = desk.ask("One?", "five", "So it is five.")
    edit(desk, exchange, Channel.THINKING, "So it is", closed=closed, goes_on=True)
    assert desk.request.prefix == ReplyPrefix("So it is", closed, "")
    desk.say("" if closed else " four.", "four")
    desk.finish()
    old, new = stored(desk)
    assert (old.thinking, old.answer) == ("So it is five.", "five")
    assert new.thinking == ("So it is" if closed else "So it is four.")
    assert new.answer == "four"


def test_thinking_that_was_taken_away_is_answered_without_any(desk):
    exchange = desk.ask("One?", "five", "So it is five.")
    edit(desk, exchange, Channel.THINKING, "", closed=True, goes_on=True)
    assert not desk.request.thinking.enabled
    assert desk.request.prefix is None


def test_a_kill_right_after_the_edit_loses_neither_version(desk):
    exchange = desk.ask("One?", "five", "Hm.")
    edit(desk, exchange, Channel.ANSWER, "It is four", closed=True, goes_on=True)
    desk.store.store.recover_interrupted()
    [found] = desk.store.conversation(desk.chats.shown_id).exchanges
    assert [reply.answer for reply in found.replies] == ["five", "It is four"]
    assert found.replies[1].status is ReplyStatus.INTERRUPTED


def test_the_versions_can_be_walked_and_each_can_be_changed_again(desk):
    exchange = desk.ask("One?", "a")
    edit(desk, exchange, Channel.ANSWER, "b", closed=True, goes_on=False)
    desk.edits.on_reply_chosen(exchange.exchange_id, 0)
    edit(desk, exchange, Channel.ANSWER, "c", closed=True, goes_on=False)
    assert [reply.answer for reply in stored(desk)] == ["a", "b", "c"]
    assert len({reply.reply_id for reply in stored(desk)}) == 3


def test_saving_what_was_not_changed_makes_no_version(desk):
    exchange = desk.ask("One?", "same")
    edit(desk, exchange, Channel.ANSWER, "same", closed=True, goes_on=False)
    assert len(stored(desk)) == 1


def test_nothing_is_changed_while_a_reply_runs(desk):
    exchange = desk.ask("One?", "a")
    desk.chat.on_submitted("Two?")
    edit(desk, exchange, Channel.ANSWER, "b", closed=True, goes_on=False)
    assert len(desk.store.conversation(desk.chats.shown_id).exchanges[0].replies) == 1
    assert "busy" in desk.view.notices


def test_an_exchange_that_is_gone_is_no_matter(desk):
    desk.edits.on_reply_edited(ReplyEdit("gone", Channel.ANSWER, "x", True, False))
    assert desk.engine.requests == []


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply("r", status=ReplyStatus.RUNNING), False),
        (Reply("r", status=ReplyStatus.DONE, finish_reason="end"), False),
        (Reply("r", status=ReplyStatus.DONE, finish_reason="stop_text"), False),
        (Reply("r", status=ReplyStatus.DONE, finish_reason="max_new_tokens"), True),
        (Reply("r", status=ReplyStatus.STOPPED, finish_reason="cancelled"), True),
        (Reply("r", status=ReplyStatus.STOPPED, finish_reason=EDITED), True),
        (Reply("r", status=ReplyStatus.INTERRUPTED), True),
        (Reply("r", status=ReplyStatus.FAILED), True),
    ],
)
def test_what_was_cut_can_go_on(reply, expected):
    assert can_continue(reply) is expected


@pytest.mark.parametrize(
    ("used", "capacity", "reason", "room"),
    [
        (100, 8192, "cancelled", True),
        (8191, 8192, "cancelled", False),
        (8192, 8192, "max_new_tokens", False),
        (100, 8192, "context_full", False),
        (8192, 0, "cancelled", True),
        (8192, 40_960, "cancelled", True),
    ],
)
def test_a_full_context_has_no_room_for_more(used, capacity, reason, room):
    reply = Reply("r", finish_reason=reason, prompt_tokens=used - 20, thinking_tokens=20)
    assert has_room(reply, capacity) is room


def test_going_on_in_a_context_without_room_is_refused_in_words(desk):
    desk.chat.on_submitted("One?")
    desk.say("Hm", "So")
    desk.finish(FinishReason.MAX_NEW_TOKENS, context_tokens=8_192)
    desk.edits.on_continue(desk.chats.shown.exchanges[0].exchange_id)
    assert len(desk.engine.requests) == 1
    assert "context is full" in desk.view.notices["continue"].text
