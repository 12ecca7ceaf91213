"""Ask again, continue, edit with undo, choose a version, leave out what does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.conversation import ReplyStatus
from engine.api import Failed, FinishReason, ReplyPrefix, Role
from engine.errors import NumericalError, PromptTooLong
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def stored_questions(desk: Desk) -> list[str]:
    return [e.question for e in desk.store.conversation(desk.chats.shown_id).exchanges]


def test_regenerate_adds_a_version_and_the_model_sees_the_chosen_one(desk):
    exchange = desk.ask("One?", "first")
    desk.edits.on_regenerate(exchange.exchange_id)
    desk.say(answer="second")
    desk.finish()
    [stored] = desk.store.conversation(desk.chats.shown_id).exchanges
    assert [reply.answer for reply in stored.replies] == ["first", "second"]
    assert stored.chosen == 1
    desk.edits.on_reply_chosen(exchange.exchange_id, 0)
    assert desk.view.exchanges[exchange.exchange_id].chosen == 0
    desk.chat.on_submitted("Two?")
    assert [m.text for m in desk.request.messages] == ["One?", "first", "Two?"]
    assert desk.store.conversation(desk.chats.shown_id).exchanges[0].chosen == 0


def test_regenerating_in_the_middle_sends_only_what_came_before(desk):
    first = desk.ask("One?", "1")
    desk.ask("Two?", "2")
    desk.edits.on_regenerate(first.exchange_id)
    assert [m.text for m in desk.request.messages] == ["One?"]


def test_a_reply_without_a_word_is_replaced_by_the_next_try(desk):
    desk.chat.on_submitted("One?")
    desk.chat.on_engine_event(Failed(desk.request.request_id, NumericalError("logits")))
    desk.edits.retry_last()
    desk.say(answer="now")
    desk.finish()
    [stored] = desk.store.conversation(desk.chats.shown_id).exchanges
    assert [(r.answer, r.error_text) for r in stored.replies] == [("now", "")]


def test_retry_does_nothing_after_a_good_reply(desk):
    desk.ask("One?")
    desk.edits.retry_last()
    assert len(desk.engine.requests) == 1


@pytest.mark.parametrize("index", [-1, 1, 99])
def test_a_version_that_is_not_there_is_not_chosen(desk, index):
    exchange = desk.ask("One?")
    desk.edits.on_reply_chosen(exchange.exchange_id, index)
    assert desk.chats.shown.exchanges[0].chosen == 0


@pytest.mark.parametrize(
    ("thinking", "answer", "prefix"),
    [
        ("Let me", "", ReplyPrefix("Let me", False, "")),
        ("Let me see.", "It", ReplyPrefix("Let me see.", True, "It")),
        ("", "It", ReplyPrefix("", True, "It")),
    ],
)
def test_a_stopped_reply_goes_on_where_it_was(desk, thinking, answer, prefix):
    desk.chat.on_submitted("One?")
    desk.say(thinking, answer)
    desk.chat.on_stop()
    desk.finish(FinishReason.CANCELLED)
    exchange_id = desk.chats.shown.exchanges[0].exchange_id
    desk.edits.on_continue(exchange_id)
    assert desk.request.prefix == prefix
    assert [m.role for m in desk.request.messages] == [Role.USER]
    desk.say(answer=" is 4.")
    desk.finish()
    [stored] = desk.store.conversation(desk.chats.shown_id).exchanges
    assert len(stored.replies) == 1
    assert stored.replies[0].answer == f"{answer} is 4."
    assert stored.replies[0].thinking == thinking
    assert stored.replies[0].status is ReplyStatus.DONE


def test_a_reply_that_reached_the_longest_length_can_go_on(desk):
    desk.chat.on_submitted("One?")
    desk.say(answer="a")
    desk.finish(FinishReason.MAX_NEW_TOKENS)
    desk.edits.on_continue(desk.chats.shown.exchanges[0].exchange_id)
    assert len(desk.engine.requests) == 2


@pytest.mark.parametrize("reason", [FinishReason.CONTEXT_FULL, FinishReason.END])
def test_a_full_context_and_an_ended_reply_are_not_continued(desk, reason):
    desk.chat.on_submitted("One?")
    desk.say(answer="a")
    desk.finish(reason)
    desk.edits.on_continue(desk.chats.shown.exchanges[0].exchange_id)
    assert len(desk.engine.requests) == 1
    assert ("continue" in desk.view.notices) is (reason is FinishReason.CONTEXT_FULL)


def test_an_edit_replaces_what_follows_and_undo_brings_it_back(desk):
    desk.ask("One?", "1")
    second = desk.ask("Two?", "2")
    desk.ask("Three?", "3")
    desk.edits.on_edit(second.exchange_id, "Two, but better?")
    assert [m.text for m in desk.request.messages] == ["One?", "1", "Two, but better?"]
    assert [e.question for e in desk.view.exchanges.values()] == ["One?", "Two, but better?"]
    desk.say(answer="II")
    desk.finish()
    assert stored_questions(desk) == ["One?", "Two, but better?"]
    [action] = [a for a in desk.view.actions() if a.startswith("undo_edit:")]
    desk.edits.on_undo_edit(*action.split(":")[1:])
    assert stored_questions(desk) == ["One?", "Two?", "Three?"]
    assert [e.question for e in desk.view.conversation.exchanges] == ["One?", "Two?", "Three?"]
    assert [e.reply.answer for e in desk.chats.shown.exchanges if e.reply] == ["1", "2", "3"]
    desk.ask("Four?")
    assert stored_questions(desk) == ["One?", "Two?", "Three?", "Four?"]


def test_every_wording_of_a_question_can_be_reached_also_after_a_restart(desk):
    desk.ask("One?", "1")
    second = desk.ask("Two?", "2").exchange_id
    desk.ask("Three?", "3")
    for wording in ("Two, again?", "Two, better?"):
        desk.edits.on_edit(second, wording)
        desk.say(answer=f"To {wording}")
        desk.finish()

    def shown() -> tuple[list[str], int]:
        chat = desk.chats.shown
        exchange = chat.exchange(second)
        assert exchange is not None
        assert chat == desk.store.conversation(chat.conversation_id), "as a restart finds it"
        return [e.question for e in chat.exchanges], exchange.question_versions.index("")

    assert shown() == (["One?", "Two, better?"], 2)
    desk.edits.on_question_chosen(second, 0)
    assert shown() == (["One?", "Two?", "Three?"], 0)
    desk.ask("Four?")
    desk.edits.on_question_chosen(second, 1)
    assert shown() == (["One?", "Two, again?"], 1)
    desk.edits.on_question_chosen(second, 2)
    assert shown() == (["One?", "Two, better?"], 2)
    desk.edits.on_question_chosen(second, 0)
    assert shown() == (["One?", "Two?", "Three?", "Four?"], 0)
    for nowhere in (-1, 0, 3):
        desk.edits.on_question_chosen(second, nowhere)
        assert shown()[1] == 0


def test_a_wording_of_an_earlier_question_brings_those_of_later_ones_back(desk):
    first = desk.ask("One?", "1").exchange_id
    second = desk.ask("Two?", "2").exchange_id
    desk.edits.on_edit(second, "II?")
    desk.finish()
    desk.edits.on_edit(first, "I?")
    desk.finish()
    desk.edits.on_question_chosen(first, 0)
    assert [e.question for e in desk.chats.shown.exchanges] == ["One?", "II?"]
    desk.edits.on_question_chosen(second, 0)
    assert [e.question for e in desk.chats.shown.exchanges] == ["One?", "Two?"]


def test_editing_the_first_question_renames_the_chat(desk):
    exchange = desk.ask("Wrong")
    desk.edits.on_edit(exchange.exchange_id, "Right")
    assert desk.view.summaries[0].title == "Right"


def test_a_blank_edit_changes_nothing(desk):
    exchange = desk.ask("One?")
    desk.edits.on_edit(exchange.exchange_id, "  ")
    assert stored_questions(desk) == ["One?"]


@pytest.mark.parametrize("change", ["regenerate", "continue", "edit"])
def test_changes_wait_until_the_reply_has_ended(desk, change):
    first = desk.ask("One?")
    desk.chat.on_submitted("Two?")
    if change == "regenerate":
        desk.edits.on_regenerate(first.exchange_id)
    elif change == "continue":
        desk.edits.on_continue(desk.chats.shown.exchanges[1].exchange_id)
    else:
        desk.edits.on_edit(first.exchange_id, "New?")
    assert len(desk.engine.requests) == 2
    assert stored_questions(desk) == ["One?", "Two?"]


def too_long(desk: Desk, limit: int) -> None:
    desk.chat.on_engine_event(Failed(desk.request.request_id, PromptTooLong(999, limit)))


def test_leaving_out_the_oldest_marks_them_and_asks_again(desk):
    # FakeEngine counts characters: 100 + 100 + 100 and a question of 40; room is 3/4 of 320.
    for name in "abc":
        desk.ask(name * 50, name * 50)
    desk.chat.on_submitted("q" * 40)
    too_long(desk, 320)
    assert "leave_out_oldest" in desk.view.actions()
    desk.room.on_leave_out_oldest()
    left_out = [e.left_out for e in desk.store.conversation(desk.chats.shown_id).exchanges]
    assert left_out == [True, False, False, False]
    assert [m.text[0] for m in desk.request.messages] == ["b", "b", "c", "c", "q"]
    assert [e.left_out for e in desk.view.exchanges.values()] == left_out
    desk.say(answer="fits")
    desk.finish()
    last = desk.chats.shown.exchanges[-1]
    assert len(last.replies) == 1
    assert last.reply is not None
    assert last.reply.answer == "fits"


def test_a_question_that_alone_is_too_long_is_said_to_be(desk):
    desk.ask("a" * 50, "a" * 50)
    desk.chat.on_submitted("q" * 400)
    too_long(desk, 320)
    desk.room.on_leave_out_oldest()
    assert "alone" in desk.view.notices["reply"].text
    assert len(desk.engine.requests) == 2
    assert not desk.chats.shown.exchanges[0].left_out, "nothing is left out in vain"


def test_leaving_out_in_another_chat_does_nothing(desk):
    desk.ask("a" * 50, "a" * 50)
    desk.chat.on_submitted("q" * 40)
    too_long(desk, 100)
    desk.chats.on_new_chat()
    desk.room.on_leave_out_oldest()
    assert len(desk.engine.requests) == 2
