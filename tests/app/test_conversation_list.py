"""Which chat is shown: new, select, rename, delete, undo, search, drafts; late answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.conversation import ReplyStatus
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def titles(desk: Desk) -> list[str]:
    return [summary.title for summary in desk.view.summaries]


def test_start_shows_an_empty_chat_and_the_list(desk):
    desk.ask("Earlier question")
    again = Desk(desk.tmp_path)
    assert again.view.conversation.exchanges == ()
    assert titles(again) == ["Earlier question"]


def test_start_can_open_a_given_chat(desk):
    desk.ask("Earlier question")
    chat_id = desk.chats.shown_id
    again = Desk(desk.tmp_path)
    again.chats.start(chat_id)
    assert again.view.conversation.conversation_id == chat_id
    assert again.view.selected_id == chat_id


def test_a_chat_that_is_gone_is_told_and_the_window_stays_usable(desk):
    desk.chats.start("no such chat")
    assert "missing" in desk.view.notices
    desk.ask("Still works?")


def test_start_shows_the_chat_of_last_time(desk):
    desk.ask("Earlier question")
    last_id = desk.chats.shown_id
    desk.chats.on_draft_changed("and a draft")
    again = Desk(desk.tmp_path)
    again.chats.start("", last_id)
    assert again.view.conversation.conversation_id == last_id
    assert again.view.conversation.draft == "and a draft"
    assert again.view.selected_id == last_id


def test_a_chat_of_last_time_that_is_gone_is_not_missed(desk):
    desk.chats.on_draft_changed("a draft of a new chat")
    again = Desk(desk.tmp_path)
    again.chats.start("", "no such chat")
    assert again.view.notices == {}
    assert again.view.conversation.draft == "a draft of a new chat"


def test_a_question_asked_before_the_chat_of_last_time_was_read_stays_in_view(desk):
    desk.ask("Earlier question")
    last_id = desk.chats.shown_id
    again = Desk(desk.tmp_path).with_model()
    again.store.held = []
    again.chats.start("", last_id)
    held, again.store.held = again.store.held, None
    again.chat.on_submitted("A quick question?")
    for answer in held:
        answer()
    assert [e.question for e in again.chats.shown.exchanges] == ["A quick question?"]


def test_new_chat_twice_makes_one_empty_chat(desk):
    desk.ask("One")
    desk.chats.on_new_chat()
    first = desk.chats.shown_id
    desk.chats.on_new_chat()
    assert desk.chats.shown_id == first


def test_drafts_belong_to_their_chat_and_survive_a_restart(desk):
    desk.ask("One")
    one = desk.chats.shown_id
    desk.chats.on_draft_changed("draft of one")
    desk.chats.on_new_chat()
    assert desk.view.conversation.draft == ""
    desk.chats.on_draft_changed("draft of the new")
    desk.chats.on_conversation_selected(one)
    assert desk.view.conversation.draft == "draft of one"
    desk.chats.on_new_chat()
    assert desk.view.conversation.draft == "draft of the new"
    again = Desk(desk.tmp_path)
    assert again.view.conversation.draft == "draft of the new"
    again.chats.on_conversation_selected(one)
    assert again.view.conversation.draft == "draft of one"


def test_sending_clears_the_draft(desk):
    desk.chats.on_draft_changed("What is")
    desk.ask("What is it?")
    assert desk.store.conversation(desk.chats.shown_id).draft == ""


def test_renaming_is_kept_and_a_blank_name_changes_nothing(desk):
    desk.ask("One")
    chat_id = desk.chats.shown_id
    desk.chats.on_rename(chat_id, "  My \n name ")
    desk.chats.on_rename(chat_id, "   ")
    assert titles(desk) == ["My name"]
    desk.ask("Two")
    assert titles(desk) == ["My name"], "a later question does not make a new title"


def test_delete_shows_an_empty_chat_and_undo_brings_it_back(desk):
    desk.ask("One")
    chat_id = desk.chats.shown_id
    desk.chats.on_delete(chat_id)
    assert titles(desk) == []
    assert desk.view.conversation.exchanges == ()
    desk.chats.on_undo_delete(chat_id)
    assert titles(desk) == ["One"]
    assert desk.view.conversation.exchanges[0].question == "One"


def test_deleting_another_chat_leaves_the_shown_one(desk):
    desk.ask("One")
    one = desk.chats.shown_id
    desk.chats.on_new_chat()
    desk.ask("Two")
    two = desk.chats.shown_id
    desk.chats.on_delete(one)
    assert desk.chats.shown_id == two
    assert [e.question for e in desk.view.exchanges.values()] == ["Two"]


def test_search_filters_and_keeps_filtering_after_changes(desk):
    desk.ask("About rockets", "They fly.")
    desk.chats.on_new_chat()
    desk.ask("About trains", "They roll.")
    desk.chats.on_search("FLY")
    assert titles(desk) == ["About rockets"]
    desk.ask("More about trains")
    assert titles(desk) == ["About rockets"]
    desk.chats.on_search("")
    assert titles(desk) == ["About trains", "About rockets"]


def test_of_two_chats_selected_quickly_the_last_one_is_shown(desk):
    ids = []
    for question in ("One", "Two", "Three"):
        desk.chats.on_new_chat()
        desk.ask(question)
        ids.append(desk.chats.shown_id)
    desk.store.held = []
    desk.chats.on_conversation_selected(ids[0])
    desk.chats.on_conversation_selected(ids[1])
    held, desk.store.held = desk.store.held, None
    for answer in reversed(held):
        answer()
    assert desk.chats.shown_id == ids[1]


def test_a_late_search_result_does_not_replace_a_newer_one(desk):
    desk.ask("About rockets")
    desk.store.held = []
    desk.chats.on_search("nothing has this")
    desk.chats.on_search("rockets")
    held, desk.store.held = desk.store.held, None
    for answer in reversed(held):
        answer()
    assert titles(desk) == ["About rockets"]


def test_a_draft_found_late_does_not_replace_what_was_begun_meanwhile(desk):
    desk.chats.on_draft_changed("an old draft")
    again = Desk(desk.tmp_path)
    again.store.held = []
    again.chats.start()
    again.chats.on_draft_changed("typed already")
    held, again.store.held = again.store.held, None
    for answer in held:
        answer()
    assert again.chats.shown.draft == "typed already"


def test_a_pinned_chat_stays_on_top_also_after_a_restart(desk):
    for question in ("One", "Two", "Three"):
        desk.chats.on_new_chat()
        desk.ask(question)
    first = next(s for s in desk.view.summaries if s.title == "One")
    desk.chats.on_pin(first.conversation_id, True)
    assert titles(desk) == ["One", "Three", "Two"]
    desk.ask("More of three")
    again = Desk(desk.tmp_path)
    assert titles(again) == ["One", "Three", "Two"]
    again.chats.on_pin(first.conversation_id, False)
    assert titles(again) == ["Three", "Two", "One"]


def test_a_duplicate_is_shown_and_lives_on_its_own(desk):
    desk.ask("One", "The answer.", "The thought.")
    original = desk.chats.shown_id
    desk.chats.on_pin(original, True)
    desk.chats.on_duplicate(original)
    assert desk.chats.shown_id != original
    assert [(s.title, s.pinned) for s in desk.view.summaries] == [
        ("One", True),
        ("One (copy)", False),
    ]
    desk.ask("Only in the copy")
    assert len(desk.store.conversation(original).exchanges) == 1
    assert len(desk.chats.shown.exchanges) == 2


def test_a_duplicate_of_a_chat_that_answers_has_what_had_come(desk):
    desk.chat.on_submitted("One?")
    original = desk.chats.shown_id
    desk.say("A thought.", "Half an ans")
    for reply_id, streamed in desk.store.appended:
        desk.store.store.append_text(reply_id, streamed)
    desk.chats.on_duplicate(original)
    reply = desk.chats.shown.exchanges[0].reply
    assert reply is not None
    assert (reply.answer, reply.status) == ("Half an ans", ReplyStatus.INTERRUPTED)
    desk.say("", "wer.")
    desk.finish()
    stored = desk.store.conversation(original).exchanges[0].reply
    assert stored is not None
    assert stored.answer == "Half an answer."


def test_the_trash_is_shown_restored_from_and_emptied(desk):
    ids = {}
    for question in ("One", "Two", "Three"):
        desk.chats.on_new_chat()
        desk.ask(question)
        ids[question] = desk.chats.shown_id
    for question in ("One", "Two"):
        desk.wall.now += 10
        desk.chats.on_delete(ids[question])
    assert [s.title for s in desk.view.trash] == ["Two", "One"]
    desk.chats.on_undo_delete(ids["One"])
    assert [s.title for s in desk.view.trash] == ["Two"]
    assert desk.view.conversation.exchanges[0].question == "One"
    desk.chats.on_erase([ids["Two"], ids["Three"]])
    assert desk.view.trash == []
    assert sorted(titles(desk)) == ["One", "Three"], "what is not in the trash is not erased"
    desk.chats.on_undo_delete(ids["Two"])
    assert "missing" in desk.view.notices


def test_search_finds_thinking_and_all_words_anywhere_in_the_chat(desk):
    desk.ask("About rockets", "They fly.", "Thrust and drag.")
    desk.chats.on_new_chat()
    desk.ask("About trains", "They roll.", "Friction and drag.")
    desk.chats.on_search("drag rockets")
    assert titles(desk) == ["About rockets"]
    desk.chats.on_search("friction")
    assert desk.view.summaries[0].snippet == "Friction and drag."


def test_a_chat_is_let_go_once_it_is_left_and_its_reply_has_ended(desk):
    desk.ask("Answered at length")
    answering = desk.chats.shown_id
    desk.chats.is_busy = lambda conversation_id: conversation_id == answering
    desk.chats.on_new_chat()
    assert desk.chats.get(answering) is not None
    desk.chats.is_busy = lambda conversation_id: False
    desk.ask("Another one")
    desk.chats.on_new_chat()
    assert desk.chats.get(answering) is None
    desk.chats.on_conversation_selected(answering)
    assert desk.view.conversation.exchanges[0].question == "Answered at length"
