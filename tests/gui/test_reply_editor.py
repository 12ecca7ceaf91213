"""The editor of answer and thinking: where it stands, its keys, and what it asks for."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat_view import ChatState, ReplyEdit, Status
from app.conversation import Conversation, Exchange, ReplyStatus
from app.ui.exchange_widget import ExchangeWidget
from engine.api import Channel
from tests.gui import scenes

CUT = {"status": ReplyStatus.STOPPED, "finish_reason": "cancelled"}


def shown(window, **changes) -> ExchangeWidget:
    scenes.show_chat(window, scenes.exchange(**changes))
    QTest.qWait(50)
    return window.transcript.exchange_widget("e1")


def test_the_answer_is_changed_in_its_place_beside_the_thinking(window, qtbot):
    widget = shown(window, answer="It is five.")
    answer, place = widget.answer, widget.answer.geometry()
    qtbot.mouseClick(answer.action("edit_answer"), Qt.MouseButton.LeftButton)
    QTest.qWait(50)
    assert widget.editor.isVisible()
    assert not answer.isVisible()
    assert widget.thinking.isVisible()
    assert widget.editor.geometry().topLeft() == place.topLeft()
    assert widget.editor.edit.toPlainText() == "It is five."
    assert widget.editor.edit.hasFocus()
    widget.editor.edit.setPlainText("It is four.")
    with qtbot.waitSignal(window.reply_edited) as told:
        qtbot.keyClick(widget.editor.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert told.args == [ReplyEdit("e1", Channel.ANSWER, "It is four.", True, False)]
    QTest.qWait(50)
    assert answer.isVisible()
    assert not widget.editor.isVisible()


@pytest.mark.parametrize(
    ("channel", "button", "closed", "goes_on"),
    [
        (Channel.ANSWER, "main", True, False),
        (Channel.ANSWER, "other", True, True),
        (Channel.THINKING, "main", True, True),
        (Channel.THINKING, "other", False, True),
    ],
)
def test_each_button_asks_for_what_it_says(window, qtbot, channel, button, closed, goes_on):
    widget = shown(window)
    thinking = channel is Channel.THINKING
    begin = widget.thinking.edit_button if thinking else widget.answer.action("edit_answer")
    qtbot.mouseClick(begin, Qt.MouseButton.LeftButton)
    assert widget.editor.edit.toPlainText() == (scenes.THINKING if thinking else scenes.ANSWER)
    with qtbot.waitSignal(window.reply_edited) as told:
        qtbot.mouseClick(widget.editor.button(button), Qt.MouseButton.LeftButton)
    [edit] = told.args
    assert (edit.channel, edit.thinking_closed, edit.goes_on) == (channel, closed, goes_on)


@pytest.mark.parametrize("way", ["key", "button"])
def test_giving_up_changes_nothing_and_does_not_stop_a_reply(window, qtbot, way):
    widget = shown(window)
    widget.answer.action("edit_answer").click()
    told = []
    window.reply_edited.connect(told.append)
    window.stop_requested.connect(lambda: told.append("stop"))
    widget.editor.edit.setPlainText("something else")
    if way == "key":
        qtbot.keyClick(widget.editor.edit, Qt.Key.Key_Escape)
    else:
        widget.editor.button("cancel").click()
    QTest.qWait(50)
    assert told == []
    assert widget.answer.isVisible()
    assert widget.answer.body.text == scenes.ANSWER


def test_a_blank_answer_is_not_saved(window, qtbot):
    widget = shown(window)
    widget.answer.action("edit_answer").click()
    told = []
    window.reply_edited.connect(told.append)
    widget.editor.edit.setPlainText("  \n")
    widget.editor.button("main").click()
    assert told == []
    assert widget.editor.isVisible()


def test_what_is_typed_stays_while_a_reply_comes_and_is_not_sent(window, qtbot):
    widget = shown(window)
    widget.answer.action("edit_answer").click()
    widget.editor.edit.setPlainText("half a thought")
    widget.bubble.begin_edit()
    widget.bubble.editor.setPlainText("half a question")
    told = []
    window.reply_edited.connect(told.append)
    window.edit_requested.connect(lambda *parts: told.append(parts))
    window.show_chat_state(ChatState.PREFILLING)
    for editor in (widget.editor.edit, widget.bubble.editor):
        qtbot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert told == []
    assert widget.editor.edit.toPlainText() == "half a thought"
    assert widget.bubble.editor.toPlainText() == "half a question"
    assert not widget.answer.action("edit_answer").isEnabled()
    assert not widget.thinking.edit_button.isEnabled()
    window.show_chat_state(ChatState.IDLE)
    for editor in (widget.editor.edit, widget.bubble.editor):
        qtbot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert len(told) == 2


def test_another_version_ends_the_change_of_the_one_before(window):
    widget = shown(window)
    widget.answer.action("edit_answer").click()
    window.show_exchange(scenes.exchange("e1"))
    assert widget.editor.isVisible(), "the same reply, shown again"
    other = scenes.reply(reply_id="other")
    window.show_exchange(Exchange("e1", scenes.QUESTION, (other,)))
    assert not widget.editor.isVisible()


def test_there_is_no_edit_of_a_thinking_that_is_not_there_or_hidden(window):
    assert shown(window).thinking.edit_button.isVisible()
    assert not shown(window, thinking="", thinking_tokens=0).thinking.edit_button.isVisible()
    window.toggle_thinking()
    assert not shown(window).thinking.edit_button.isVisible()


@pytest.mark.parametrize(
    ("changes", "capacity", "offered"),
    [
        (CUT, 8192, True),
        (CUT | {"answer": ""}, 8192, True),
        ({"finish_reason": "max_new_tokens"}, 8192, True),
        ({"finish_reason": "context_full"}, 8192, False),
        ({"finish_reason": "end"}, 8192, False),
        (CUT | {"prompt_tokens": 8_000}, 8192, False),
        (CUT | {"prompt_tokens": 8_000}, 40_960, True),
        ({"finish_reason": "edited", "status": ReplyStatus.STOPPED}, 8192, True),
        (
            {"status": ReplyStatus.FAILED, "finish_reason": "", "error_text": "It broke."},
            8192,
            True,
        ),
        (
            {
                "status": ReplyStatus.FAILED,
                "finish_reason": "",
                "error_text": "It broke.",
                "thinking": "",
                "answer": "",
            },
            8192,
            False,
        ),
    ],
)
def test_going_on_is_offered_where_something_was_cut_and_there_is_room(
    window, changes, capacity, offered
):
    window.show_status(Status("q", "GPU", capacity_tokens=capacity))
    assert shown(window, **changes).answer.action("continue").isVisible() is offered


def test_the_offer_goes_when_a_model_that_sees_less_is_loaded(window):
    window.show_status(Status("q", "GPU", capacity_tokens=40_960))
    widget = shown(window, **CUT, prompt_tokens=8_000)
    assert widget.answer.action("continue").isVisible()
    window.show_status(Status("q", "GPU", capacity_tokens=8_192))
    QTest.qWait(50)
    assert not widget.answer.action("continue").isVisible()


def test_an_edited_reply_says_so(window):
    widget = shown(window, status=ReplyStatus.STOPPED, finish_reason="edited")
    assert widget.answer.reason_text == "edited by you"


def test_only_the_last_reply_of_a_chat_goes_on(window):
    first = scenes.exchange("e1", **CUT)
    scenes.show_chat(window, first, Exchange("e2", "Next?", (scenes.reply(reply_id="x"),)))
    QTest.qWait(50)
    assert not window.transcript.exchange_widget("e1").answer.action("continue").isVisible()


def test_a_change_that_was_begun_is_still_there_after_a_look_at_another_chat(window, qtbot):
    widget = shown(window)
    widget.bubble.begin_edit()
    widget.bubble.editor.setPlainText("half a question")
    widget.answer.action("edit_answer").click()
    widget.editor.edit.setPlainText("half an answer")
    window.show_conversation(Conversation("c2"))
    QTest.qWait(50)
    again = shown(window)
    assert again is not widget
    assert again.bubble.editor.isVisible()
    assert again.bubble.editor.toPlainText() == "half a question"
    assert again.editor.isVisible()
    assert again.editor.edit.toPlainText() == "half an answer"
    assert window.composer.edit.hasFocus(), "what is typed next goes into the question"
    with qtbot.waitSignal(window.reply_edited) as told:
        again.editor.button("main").click()
    assert told.args[0].text == "half an answer"
    again.bubble._end_edit()
    window.show_conversation(Conversation("c2"))
    third = shown(window)
    assert not third.editor.isVisible()
    assert not third.bubble.editor.isVisible()


def test_a_change_of_a_version_that_is_not_shown_any_more_does_not_come_back(window):
    shown(window).answer.action("edit_answer").click()
    window.show_conversation(Conversation("c2"))
    other = Exchange("e1", scenes.QUESTION, (scenes.reply(reply_id="other"),))
    scenes.show_chat(window, other)
    QTest.qWait(50)
    assert not window.transcript.exchange_widget("e1").editor.isVisible()


@pytest.mark.parametrize("way", ["question", "answer"])
@pytest.mark.parametrize("end", ["escape", "accept"])
def test_a_closed_editor_gives_the_keyboard_to_the_question(window, qtbot, way, end):
    scenes.show_chat(window, scenes.exchange("e1"))
    scenes.settle(window)
    exchange = window.transcript.exchange_widget("e1")
    if way == "question":
        exchange.answer.edit_requested.emit()
        edit = exchange.bubble.editor
    else:
        exchange.answer.edit_answer_requested.emit()
        edit = exchange.editor.edit
    qtbot.waitUntil(edit.hasFocus, timeout=30_000)
    if end == "escape":
        qtbot.keyClick(edit, Qt.Key.Key_Escape)
    else:
        qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: not edit.isVisible(), timeout=30_000)
    assert window.composer.edit.hasFocus()
