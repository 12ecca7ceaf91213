"""What a quick hand does while the store is still being asked: nothing is lost or comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.conversation import ReplyStatus
from app.settings import with_value
from engine.api import FinishReason
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def let_the_store_answer(desk: Desk) -> None:
    """Answers come in the order of asking; an answer may lead to another question."""
    held, desk.store.held = desk.store.held or [], None
    for answer in held:
        answer()


def questions(desk: Desk) -> list[str]:
    return [exchange.question for exchange in desk.chats.shown.exchanges]


def test_a_question_sent_while_an_edit_is_being_undone_is_kept_and_answered(desk):
    first = desk.ask("One?", "1")
    desk.edits.on_edit(first.exchange_id, "I?")
    desk.say(answer="I.")
    desk.finish()
    [action] = [a for a in desk.view.actions() if a.startswith("undo_edit:")]
    desk.store.held = []
    desk.edits.on_undo_edit(*action.split(":")[1:])
    desk.chat.on_submitted("Two?")
    desk.say("Hm. ", "Two")
    let_the_store_answer(desk)
    assert questions(desk) == ["One?", "Two?"]
    assert [e.question for e in desk.view.conversation.exchanges] == ["One?", "Two?"]
    shown = desk.view.conversation.exchanges[1].reply
    assert shown is not None
    assert (shown.thinking, shown.answer) == ("Hm. ", "Two"), "what has streamed in is there"
    desk.say(answer=".")
    desk.finish()
    stored = desk.store.conversation(desk.chats.shown_id).exchanges
    assert [e.question for e in stored] == ["One?", "Two?"]
    reply = stored[1].reply
    assert reply is not None
    assert (reply.answer, reply.status) == ("Two.", ReplyStatus.DONE)


def test_a_draft_typed_while_an_edit_is_being_undone_stays(desk):
    first = desk.ask("One?", "1")
    desk.edits.on_edit(first.exchange_id, "I?")
    desk.finish()
    [action] = [a for a in desk.view.actions() if a.startswith("undo_edit:")]
    desk.store.held = []
    desk.edits.on_undo_edit(*action.split(":")[1:])
    desk.chats.on_draft_changed("half a thought")
    let_the_store_answer(desk)
    assert questions(desk) == ["One?"]
    assert desk.view.conversation.draft == "half a thought"


def test_a_chat_that_was_deleted_on_its_way_into_the_window_does_not_come(desk):
    desk.ask("One?")
    first = desk.chats.shown_id
    desk.chats.on_new_chat()
    desk.ask("Two?")
    desk.store.held = []
    desk.chats.on_conversation_selected(first)
    desk.chats.on_delete(first)
    let_the_store_answer(desk)
    assert questions(desk) == ["Two?"]


def test_settings_changed_while_it_answers_count_from_the_next_question(desk):
    desk.chat.on_submitted("One?")
    running = desk.request
    changed = desk.settings.settings
    for name, value in (("temperature", 1.9), ("top_k", 7), ("max_new_tokens", 5), ("seed", 3)):
        changed = with_value(changed, name, value)
        desk.settings.on_settings_changed(changed)
    desk.say("Hm. ", "One.")
    desk.chat.on_stop()
    assert desk.control.cancelled, "Stop is not stuck"
    desk.finish(FinishReason.CANCELLED)
    assert desk.request is running
    desk.chat.on_submitted("Two?")
    request = desk.request
    assert (request.sampling.temperature, request.sampling.top_k) == (1.9, 7)
    assert (request.sampling.seed, request.max_new_tokens) == (3, 5)
