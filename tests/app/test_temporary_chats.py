"""Temporary chats: everything works in them, and no byte of them ever reaches the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.chat_view import ReplyEdit
from engine.api import Channel, Role
from engine.scripted_engine import reply_of_texts
from tests.app.fakes import Desk
from tests.app.test_application import Runner, runner  # noqa: F401 - the fixture


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def nothing_on_disk(folder: Path, secret: str) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert secret.encode() not in path.read_bytes(), path
        assert secret.encode("utf-16-le") not in path.read_bytes(), path


def test_a_temporary_chat_answers_and_remembers_while_it_is_open(desk):
    desk.chats.on_temporary_chat()
    assert desk.view.conversation.temporary
    desk.ask("One secret?", "A secret answer.", "A secret thought.")
    desk.chat.on_submitted("Two secret?")
    assert [m.role for m in desk.request.messages] == [Role.USER, Role.ASSISTANT, Role.USER]


def test_it_is_listed_with_its_mark_until_the_app_ends(desk):
    desk.ask("An ordinary question")
    desk.chats.on_temporary_chat()
    desk.ask("A secret question", "Secret.")
    temporary = desk.chats.shown_id
    assert [(s.title, s.temporary) for s in desk.view.summaries] == [
        ("A secret question", True),
        ("An ordinary question", False),
    ]
    desk.chats.on_new_chat()
    assert not desk.view.conversation.temporary
    desk.chats.on_conversation_selected(temporary)
    assert desk.view.conversation.temporary
    assert desk.view.conversation.exchanges[0].question == "A secret question"
    again = Desk(desk.tmp_path)
    assert [s.title for s in again.view.summaries] == ["An ordinary question"]


def test_nothing_of_it_reaches_the_disk_whatever_is_done_with_it(desk, tmp_path):
    desk.chats.on_temporary_chat()
    desk.chats.on_draft_changed("hush draft")
    exchange = desk.ask("hush question", "hush answer", "hush thought")
    chat_id = desk.chats.shown_id
    desk.edits.on_regenerate(exchange.exchange_id)
    desk.say("hush again", "hush other")
    desk.finish()
    desk.edits.on_reply_chosen(exchange.exchange_id, 0)
    change = ReplyEdit(exchange.exchange_id, Channel.ANSWER, "hush changed", True, False)
    desk.edits.on_reply_edited(change)
    desk.edits.on_edit(exchange.exchange_id, "hush edited")
    desk.say("hush", "hush")
    desk.finish()
    desk.edits.on_question_chosen(exchange.exchange_id, 0)
    desk.chats.on_rename(chat_id, "hush title")
    desk.chats.on_pin(chat_id, True)
    desk.chats.on_search("hush")
    assert [s.title for s in desk.view.summaries] == ["hush title"]
    desk.chats.on_search("")
    desk.chats.on_delete(chat_id)
    assert desk.view.trash == [], "what was never stored needs no trash"
    desk.chats.on_undo_delete(chat_id)
    assert desk.view.conversation.exchanges[0].question == "hush question"
    assert desk.store.appended == []
    nothing_on_disk(tmp_path, "hush")


def test_an_edit_of_it_can_be_taken_back_like_any_other(desk):
    desk.chats.on_temporary_chat()
    exchange = desk.ask("first wording", "first answer")
    desk.edits.on_edit(exchange.exchange_id, "second wording")
    desk.say("", "second answer")
    desk.finish()
    desk.edits.on_question_chosen(exchange.exchange_id, 0)
    assert desk.view.conversation.exchanges[0].question == "first wording"
    assert desk.view.conversation.temporary


def test_a_copy_of_it_is_kept(desk, tmp_path):
    desk.chats.on_temporary_chat()
    desk.ask("Worth keeping?", "Yes.")
    desk.chats.on_duplicate(desk.chats.shown_id)
    assert not desk.view.conversation.temporary
    again = Desk(tmp_path)
    assert [s.title for s in again.view.summaries] == ["Worth keeping? (copy)"]


def test_a_second_temporary_chat_stands_beside_the_first(desk):
    desk.chats.on_temporary_chat()
    empty = desk.chats.shown_id
    desk.chats.on_temporary_chat()
    assert desk.chats.shown_id == empty, "an empty one is not made twice"
    desk.ask("One")
    desk.chats.on_temporary_chat()
    desk.ask("Two")
    assert [s.title for s in desk.view.summaries] == ["Two", "One"]


def test_the_desktop_learns_no_title_of_it(desk):
    desk.chats.on_temporary_chat()
    desk.chat.on_submitted("hush question")
    desk.clock.now += 60.0
    desk.say("", "Answer")
    desk.finish()
    [(title, _)] = desk.view.notified
    assert title == ""


def test_the_real_app_leaves_nothing_of_it_in_any_file_of_the_profile(runner, tmp_path):  # noqa: F811
    secret = "vermilion"
    app = runner.start(
        reply_of_texts("Hm.", "An ordinary answer."),
        reply_of_texts(f"{secret} thought", f"{secret} answer " * 20),
        tokens_per_s=40.0,
    )
    runner.ask(app, "An ordinary question?")
    runner.wait_done(app)
    app.window.chats.temporary_chat_requested.emit()
    app.window.composer.edit.insertPlainText(f"{secret} draft")
    app.window.composer.flush_draft()
    app.window.composer.set_text("")
    runner.ask(app, f"{secret} question?")
    runner.wait(lambda: bool((reply := runner.reply(app)) and reply.answer))
    nothing_on_disk(tmp_path, secret)  # while it streams
    reply = runner.wait_done(app)
    assert secret in reply.answer
    app.window.chats.search.setText(secret)
    runner.wait(lambda: app.window.chats.list.count() == 2)
    app.window.transcript.regenerate_requested.emit(app.chats.shown.exchanges[0].exchange_id)
    runner.wait(lambda: len(app.chats.shown.exchanges[0].replies) == 2)
    runner.close(app)  # with a reply of it still running
    nothing_on_disk(tmp_path, secret)
    [(question, stored)] = runner.stored()
    assert question == "An ordinary question?"
    assert stored is not None
