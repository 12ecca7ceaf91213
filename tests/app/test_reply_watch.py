"""The bar of the loop guard, and what is said of the context before and after it is full."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.conversation import ReplyStatus
from app.engine_events import ModelLoaded
from app.notice_actions import AppActions, ChatActions, NoticeActions
from app.settings import with_value
from engine.api import FinishReason
from engine.scripted_engine import scripted_info
from tests.app.fakes import Desk

LOOP = "So the answer must be 42, but wait a moment. " * 3


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def actions_of(desk: Desk, key: str) -> list[str]:
    notice = desk.view.notices.get(key)
    return [] if notice is None else [action.partition(":")[0] for action, _ in notice.actions]


def loop(desk: Desk, *, thinking: bool) -> None:
    for _ in range(12):
        desk.say(LOOP if thinking else "", "" if thinking else LOOP)


def test_thinking_in_circles_offers_stop_answer_now_and_another_penalty(desk):
    desk.chat.on_submitted("Why?")
    desk.say("A thought that is new each time. ")
    assert "loop" not in desk.view.notices
    loop(desk, thinking=True)
    assert actions_of(desk, "loop") == ["stop", "answer_now", "raise_presence"]
    desk.say(answer="It is 42.")
    assert "loop" not in desk.view.notices, "the thinking is over, and so is its loop"


def test_an_answer_in_circles_cannot_be_hurried(desk):
    desk.chat.on_submitted("Why?")
    loop(desk, thinking=False)
    assert actions_of(desk, "loop") == ["stop", "raise_presence"]


def test_a_bar_that_was_closed_does_not_come_again(desk):
    desk.chat.on_submitted("Why?")
    loop(desk, thinking=False)
    desk.view.hide_notice("loop")
    loop(desk, thinking=False)
    assert "loop" not in desk.view.notices


def test_the_bar_belongs_to_the_chat_that_loops(desk):
    desk.chat.on_submitted("Why?")
    looping = desk.chats.shown_id
    loop(desk, thinking=True)
    desk.chats.on_new_chat()
    assert "loop" not in desk.view.notices
    desk.chats.on_conversation_selected(looping)
    assert "answer_now" in actions_of(desk, "loop")


def test_a_loop_in_another_chat_shows_when_one_comes_back_to_it(desk):
    desk.chat.on_submitted("Why?")
    looping = desk.chats.shown_id
    desk.say("Hm. ")
    desk.chats.on_new_chat()
    loop(desk, thinking=True)
    assert "loop" not in desk.view.notices
    desk.chats.on_conversation_selected(looping)
    assert "stop" in actions_of(desk, "loop")


@pytest.mark.parametrize("reason", list(FinishReason))
def test_a_loop_that_was_cut_still_offers_another_penalty(desk, reason):
    desk.chat.on_submitted("Why?")
    loop(desk, thinking=False)
    desk.finish(reason)
    offered = [] if reason is FinishReason.END else ["raise_presence"]
    assert actions_of(desk, "loop") == offered
    desk.chat.on_submitted("Next?")
    assert "loop" not in desk.view.notices


@pytest.mark.parametrize(("before", "after"), [(0.0, 1.0), (1.0, 1.5), (1.9, 2.0)])
def test_a_higher_penalty_is_set_shown_and_tried_at_once(desk, before, after):
    desk.settings.on_settings_changed(
        with_value(desk.settings.settings, "presence_penalty", before)
    )
    desk.chat.on_submitted("Why?")
    loop(desk, thinking=False)
    old = desk.control
    [action] = [a for a in desk.view.actions() if a.startswith("raise_presence")]
    desk.edits.on_raise_presence(*action.split(":")[1:])
    assert old.cancelled
    assert desk.settings.settings.presence_penalty == after
    assert desk.view.revealed == ["presence_penalty"]
    assert desk.request.sampling.presence_penalty == after
    desk.say(answer="Because.")
    desk.finish()
    [exchange] = desk.store.conversation(desk.chats.shown_id).exchanges
    first, second = exchange.replies
    assert first.answer.startswith("So the answer")
    assert first.status is ReplyStatus.STOPPED
    assert (second.answer, exchange.chosen) == ("Because.", 1)


def test_a_penalty_for_a_chat_that_is_not_shown_changes_nothing(desk):
    exchange = desk.ask("Why?")
    chat_id = desk.chats.shown_id
    desk.chats.on_new_chat()
    desk.edits.on_raise_presence(chat_id, exchange.exchange_id)
    assert desk.settings.settings.presence_penalty == 0.0
    assert len(desk.engine.requests) == 1


def filled(desk: Desk, tokens: int, reason: FinishReason = FinishReason.END) -> None:
    desk.chat.on_submitted("q" * 40)
    desk.say("Hm", "So")
    desk.finish(reason, context_tokens=tokens)


def test_a_chat_is_told_once_that_its_context_is_nearly_full(desk):
    filled(desk, 7_000)
    assert "context" not in desk.view.notices, "the meter alone says so"
    filled(desk, 7_400)
    notice = desk.view.notices["context"]
    assert "90 %" in notice.text
    assert actions_of(desk, "context") == ["leave_out_oldest", "show_setting"]
    desk.view.hide_notice("context")
    filled(desk, 7_500)
    assert "context" not in desk.view.notices, "it was read and closed"


def test_the_only_question_of_a_chat_cannot_be_left_out(desk):
    filled(desk, 7_400)
    assert actions_of(desk, "context") == ["show_setting"]


def test_a_reply_that_broke_off_says_why_and_what_helps(desk):
    filled(desk, 100)
    filled(desk, 8_192, FinishReason.CONTEXT_FULL)
    assert "breaks off here" in desk.view.notices["context"].text
    assert "leave_out_oldest" in actions_of(desk, "context")
    desk.chats.on_new_chat()
    assert "context" not in desk.view.notices


def test_the_oldest_are_left_out_before_it_is_too_late_and_can_be_brought_back(desk):
    # FakeEngine counts characters; the room to reach is three quarters of 8,192.
    for size in (1_500, 1_500, 1_500):
        desk.ask("q" * size, "a" * size)
    filled(desk, 7_900)
    asked = len(desk.engine.requests)
    desk.room.on_leave_out_oldest()
    left_out = [e.left_out for e in desk.store.conversation(desk.chats.shown_id).exchanges]
    assert left_out == [True, False, False, False]
    assert len(desk.engine.requests) == asked, "nothing is asked again"
    assert desk.view.status.context_tokens == 6_000 + 40 + len("So")
    assert "context" not in desk.view.notices
    notice = desk.view.notices["left_out"]
    assert notice.text == "The oldest exchange is left out. It stays in this chat."
    [(action, _)] = notice.actions
    name, *arguments = action.split(":")
    assert name == "take_back"
    desk.room.on_take_back(*arguments)
    chat = desk.store.conversation(desk.chats.shown_id)
    assert not any(e.left_out for e in chat.exchanges)
    assert not any(e.left_out for e in desk.view.exchanges.values())
    assert "left_out" not in desk.view.notices


def test_every_button_of_these_notices_does_something(desk):
    """The ids that are offered here are those that `NoticeActions` knows."""
    app = AppActions(lambda: None, lambda: None, lambda: None, lambda model_id: None)
    chat = ChatActions(desk.chat, desk.edits, desk.room, desk.attachments, desk.view)
    press = NoticeActions(desk.models, chat, desk.settings, app).on_action
    for size in (3_000, 3_000):
        desk.ask("q" * size, "a" * 10)
    filled(desk, 7_900)
    press("show_setting:context_tokens")
    assert desk.view.revealed == ["context_tokens"]
    press("leave_out_oldest")
    [(take_back, _)] = desk.view.notices["left_out"].actions
    assert desk.chats.shown.exchanges[0].left_out
    press(take_back)
    assert not desk.chats.shown.exchanges[0].left_out
    desk.chat.on_submitted("Why?")
    loop(desk, thinking=True)
    press("answer_now")
    assert desk.control.take_answer_now()
    press("stop")
    assert desk.control.cancelled
    desk.finish(FinishReason.CANCELLED)
    [(again, _)] = desk.view.notices["loop"].actions
    press(again)
    assert desk.request.sampling.presence_penalty == 1.0


def test_what_was_said_of_a_chat_goes_when_another_is_shown(desk):
    for size in (3_000, 3_000):
        desk.ask("q" * size, "a" * 10)
    filled(desk, 7_900)
    desk.room.on_leave_out_oldest()
    desk.edits.on_edit(desk.chats.shown.exchanges[-1].exchange_id, "Else?")
    desk.finish()
    assert {"left_out", "edited"} <= desk.view.notices.keys()
    desk.chats.on_new_chat()
    assert not {"left_out", "edited", "context"} & desk.view.notices.keys()


def test_a_longer_context_takes_the_warning_away(desk):
    filled(desk, 7_900)
    assert "context" in desk.view.notices
    desk.models.reload()
    load_id = desk.engine.loads[-1][0].load_id
    desk.models.on_worker_event(ModelLoaded(load_id, scripted_info(capacity_tokens=40_960)))
    assert "context" not in desk.view.notices
