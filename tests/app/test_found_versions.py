"""Words in a version that is not shown: told when the chat is opened, and one press away."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.notice_actions import NoticeActions
from tests.app.fakes import Desk
from tests.app.test_model_controller import actions


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def open_from_search(desk: Desk, search: str) -> None:
    chat = desk.chats.shown_id
    desk.chats.on_search(search)
    desk.chats.on_temporary_chat()
    desk.chats.on_conversation_selected(chat)


def ask_of_a_horse_instead(desk: Desk) -> None:
    """The question of a zebra becomes the version that is not shown."""
    exchange = desk.ask("A zebra?", "No.")
    desk.edits.on_edit(exchange.exchange_id, "A horse?")
    desk.say("", "Yes.")
    desk.finish()


def press(desk: Desk) -> None:
    [(action, _)] = desk.view.notices["found_version"].actions
    press_of: NoticeActions = actions(desk, [])
    press_of.on_action(action)


def test_another_answer_that_holds_the_word_is_told_and_shown(desk):
    exchange = desk.ask("An animal?", "The zebra.")
    desk.edits.on_regenerate(exchange.exchange_id)
    desk.say("", "The horse.")
    desk.finish()
    desk.ask("And another?", "The cow.")
    open_from_search(desk, "ZEBRA")
    notice = desk.view.notices["found_version"]
    assert notice.text == "“ZEBRA” is also in a version that is not shown: answer 1."
    press(desk)
    assert desk.chats.shown.exchanges[0].reply.answer == "The zebra."
    assert desk.view.hits == [exchange.exchange_id]


def test_another_question_that_holds_the_word_is_told_and_shown(desk):
    desk.ask("Hello?")
    ask_of_a_horse_instead(desk)
    open_from_search(desk, "zebra")
    assert desk.view.notices["found_version"].text.endswith("question 1.")
    press(desk)
    assert [each.question for each in desk.chats.shown.exchanges] == ["Hello?", "A zebra?"]
    assert "found_version" not in desk.view.notices, "all that holds it is shown now"


@pytest.mark.parametrize("search", ["horse", "", "nothing at all"])
def test_what_is_shown_or_nowhere_is_not_told(desk, search):
    ask_of_a_horse_instead(desk)
    open_from_search(desk, search)
    assert "found_version" not in desk.view.notices


def test_a_chat_that_is_left_takes_the_words_along(desk):
    ask_of_a_horse_instead(desk)
    open_from_search(desk, "zebra")
    assert "found_version" in desk.view.notices
    desk.chats.on_new_chat()
    assert "found_version" not in desk.view.notices


def test_an_answer_of_the_store_that_comes_late_is_not_told_in_another_chat(desk):
    ask_of_a_horse_instead(desk)
    open_from_search(desk, "zebra")
    desk.store.held = []
    desk.chats.show_again()
    held, desk.store.held = desk.store.held, None
    desk.chats.on_new_chat()
    for answer in held:
        answer()
    assert "found_version" not in desk.view.notices
