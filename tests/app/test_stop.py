"""Stop at any moment: at once for the user, however long the engine takes, and no word lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.chat_controller import STOP_PATIENCE_S
from app.chat_view import ChatState
from app.conversation import Reply, ReplyStatus
from engine.api import Failed, FinishReason, PrefillProgress
from engine.errors import DeviceLost
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def stored(desk: Desk, index: int = 0) -> Reply:
    reply = desk.store.conversation(desk.chats.shown_id).exchanges[index].reply
    assert reply is not None
    return reply


def patience_ends(desk: Desk) -> None:
    [(seconds, call)] = desk.later
    assert seconds == STOP_PATIENCE_S
    desk.later.clear()
    call()


def test_a_stop_that_meets_the_end_finds_a_whole_reply(desk):
    desk.chat.on_submitted("One?")
    desk.say("Hm.", "It is")
    desk.chat.on_stop()
    desk.say(answer=" 4.")
    desk.finish(FinishReason.END)
    reply = stored(desk)
    assert (reply.answer, reply.status, reply.finish_reason) == (
        "It is 4.",
        ReplyStatus.DONE,
        "end",
    )
    assert desk.view.exchanges[desk.chats.shown.exchanges[0].exchange_id].reply == reply


def test_a_stop_that_meets_the_end_of_the_thinking_keeps_both_parts_apart(desk):
    desk.chat.on_submitted("One?")
    desk.say("Let me")
    desk.chat.on_stop()
    desk.say(" see.", "It")
    desk.finish(FinishReason.CANCELLED, thinking_ended_by="model")
    reply = stored(desk)
    assert (reply.thinking, reply.answer) == ("Let me see.", "It")
    assert reply.thinking_closed
    desk.edits.on_continue(desk.chats.shown.exchanges[0].exchange_id)
    assert desk.request.prefix is not None
    assert (desk.request.prefix.thinking, desk.request.prefix.answer) == ("Let me see.", "It")


@pytest.mark.parametrize("stage", ["prefill", "thinking", "answer"])
def test_an_engine_that_is_busy_for_long_keeps_nobody_waiting(desk, stage):
    desk.chat.on_submitted("One?")
    first = desk.request.request_id
    desk.chat.on_engine_event(PrefillProgress(first, 10, 10, 0))
    if stage != "prefill":
        desk.say("Hm", "So" if stage == "answer" else "")
    desk.chat.on_stop()
    assert desk.view.states[-1] is ChatState.STOPPING
    patience_ends(desk)
    assert desk.view.states[-1] is ChatState.IDLE
    reply = stored(desk)
    assert reply.status is ReplyStatus.STOPPED
    assert reply.answer == ("So" if stage == "answer" else "")
    assert reply.prompt_tokens == 10, "what was read counts"
    desk.chat.on_submitted("Two?")
    desk.say(answer="late", request_id=first)
    assert stored(desk) == reply
    desk.say(answer="Two.")
    desk.finish()
    assert stored(desk, 1).answer == "Two."


def test_the_end_of_patience_does_nothing_to_a_reply_that_has_ended_or_to_the_next_one(desk):
    desk.chat.on_submitted("One?")
    desk.chat.on_stop()
    desk.finish(FinishReason.CANCELLED)
    desk.chat.on_submitted("Two?")
    patience_ends(desk)
    assert desk.view.states[-1] is ChatState.PREFILLING
    desk.say(answer="Two.")
    desk.finish()
    assert stored(desk, 1).answer == "Two."


def test_a_question_sent_while_the_old_reply_still_stops_is_kept_and_comes_next(desk):
    desk.chat.on_submitted("One?")
    desk.say("Hm")
    desk.chat.on_stop()
    desk.chat.on_submitted("Two?")
    assert [e.question for e in desk.store.conversation(desk.chats.shown_id).exchanges] == [
        "One?",
        "Two?",
    ]
    assert len(desk.engine.requests) == 1
    [_, second] = desk.view.exchanges
    assert desk.view.waits[second] == ("", None), "it waits for nothing that is worth saying"
    desk.finish(FinishReason.CANCELLED)
    assert desk.request.messages[-1].text == "Two?"
    assert desk.view.states[-1] is ChatState.PREFILLING
    assert stored(desk).status is ReplyStatus.STOPPED


def test_stop_pressed_twice_stops_once(desk):
    desk.chat.on_submitted("One?")
    desk.chat.on_stop()
    desk.chat.on_stop()
    assert len(desk.later) == 1


def test_a_lost_gpu_is_told_also_when_it_was_lost_while_stopping(desk):
    desk.chat.on_submitted("One?")
    desk.chat.on_stop()
    desk.chat.on_engine_event(Failed(desk.request.request_id, DeviceLost("xid 79")))
    assert "restart" in desk.view.actions()
    assert desk.view.states[-1] is ChatState.IDLE


def test_the_context_after_going_on_is_what_the_engine_counted(desk):
    desk.chat.on_submitted("One?")
    desk.say("Hm", "So")
    desk.finish(FinishReason.MAX_NEW_TOKENS)
    assert desk.view.status.context_tokens == 12
    desk.edits.on_continue(desk.chats.shown.exchanges[0].exchange_id)
    desk.say(answer=" it is.")
    desk.finish(prompt_tokens=12, context_tokens=14)
    desk.chats.on_new_chat()
    desk.chats.on_conversation_selected(desk.view.summaries[-1].conversation_id)
    assert desk.view.status.context_tokens == 14, "the text that was there is not counted twice"


def test_speed_and_first_token_are_told_as_soon_as_they_are_known(desk):
    desk.chat.on_submitted("One?")
    name = desk.request.request_id
    desk.clock.now += 0.5
    desk.chat.on_engine_event(PrefillProgress(name, 100, 100, 20))
    assert desk.view.status.prefill_tokens_per_s == 160.0, "what came from the cache is no work"
    desk.say("Hm")
    assert desk.view.status.first_token_s == 1.5
    desk.say("Hm")
    assert desk.view.status.first_token_s == 1.5
