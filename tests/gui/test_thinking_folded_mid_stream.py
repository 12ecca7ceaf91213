"""Thinking is hidden and shown again while a reply streams (Mintplex-Labs/anything-llm#4855).

Beside the answer the thinking leaves its room to it, once; then nothing of the answer moves by a
pixel, whatever comes. Above the answer, in a narrow window, it never had any of its width.
"""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QTextCursor

from app.chat_view import ChatState
from app.conversation import ReplyStatus
from app.ui.exchange_widget import ExchangeWidget
from app.ui.main_window import MainWindow
from app.ui.rich_text import RichText
from engine.api import Channel
from tests.gui import scenes

LINES = [f"Line {n}: " + "words that break where the text is narrow, " * 6 for n in range(80)]


def begin(window: MainWindow) -> ExchangeWidget:
    """A reply that has begun to think."""
    scenes.show_chat(window)
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, scenes.THINKING * 3, 900)
    scenes.settle(window)
    return window.transcript.exchange_widget("e1")


def answer(window: MainWindow, lines: list[str]) -> None:
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e1", Channel.ANSWER, "\n\n".join(lines) + "\n\n", 20 * len(lines))
    scenes.settle(window)


def place(widget: ExchangeWidget) -> tuple[int, int, int]:
    """Left edge and width of the answer's pane in the window, and the width of its text."""
    pane = widget.answer
    return pane.mapTo(widget.window(), QPoint(0, 0)).x(), pane.width(), pane.body.width()


def first_line_in_view(window: MainWindow) -> str:
    view = window.transcript.viewport()
    for text in window.transcript.exchange_widget("e1").answer.body.findChildren(RichText):
        above = text.mapFromGlobal(view.mapToGlobal(QPoint(0, 0))).y()
        if 0 <= above < text.height():
            return text.cursorForPosition(QPoint(0, above)).block().text().partition(":")[0]
    return ""


def first_word_in_view(window: MainWindow) -> int:
    view = window.transcript.viewport()
    (text,) = window.transcript.exchange_widget("e1").answer.body.findChildren(RichText)
    cursor = text.cursorForPosition(text.mapFromGlobal(view.mapToGlobal(QPoint(0, 0))))
    cursor.movePosition(QTextCursor.MoveOperation.NextWord)
    cursor.select(QTextCursor.SelectionType.WordUnderCursor)
    return int(cursor.selectedText().removeprefix("word"))


@pytest.fixture(params=[1440, 1200, 800])
def width(request) -> int:
    return request.param


def test_once_the_thinking_is_hidden_the_answer_keeps_its_width_to_the_pixel(window, width):
    window.resize(width, 800)
    widget = begin(window)
    beside = place(widget)
    widget.thinking.hide_button.click()  # while it thinks
    scenes.settle(window)
    assert not widget.thinking.isVisible()
    hidden = place(widget)
    assert hidden[1] > beside[1]
    for _ in range(3):
        window.append_delta("e1", Channel.THINKING, scenes.THINKING, 300)
        scenes.settle(window)
        assert place(widget) == hidden
    for lines in (LINES[:1], LINES[1:3], LINES[3:40]):
        answer(window, lines)
        assert place(widget) == hidden
    reply = scenes.reply(answer="\n\n".join(LINES[:40]), status=ReplyStatus.DONE)
    window.show_exchange(scenes.exchange(answer=reply.answer))
    window.show_chat_state(ChatState.IDLE)
    scenes.settle(window)
    assert place(widget) == hidden
    window.toggle_thinking()
    scenes.settle(window)
    assert place(widget) == beside, "and back to what it had"


def test_in_a_narrow_window_the_thinking_opens_and_closes_without_touching_the_width(window):
    window.resize(600, 800)
    widget = begin(window)
    before = place(widget)
    for _ in range(4):
        widget.thinking.hide_button.click()
        window.append_delta("e1", Channel.THINKING, scenes.THINKING, 300)
        scenes.settle(window)
        assert place(widget) == before
    answer(window, LINES[:20])
    widget.thinking.hide_button.click()
    scenes.settle(window)
    assert place(widget) == before


def test_the_line_that_is_read_stays_when_the_thinking_goes_and_comes(window):
    begin(window)
    answer(window, LINES)
    bar = window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    scenes.settle(window)
    reading = first_line_in_view(window)
    assert reading not in ("", "Line 0")
    for _ in range(4):
        window.toggle_thinking()
        answer(window, LINES[:2])  # it streams on below
        assert first_line_in_view(window) == reading


@pytest.mark.slow
def test_the_line_that_is_read_stays_while_the_window_is_dragged_wider_and_back(window):
    begin(window)
    answer(window, LINES)
    bar = window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    scenes.settle(window)
    reading = first_line_in_view(window)
    for widths in (range(1440, 900, -5), range(900, 1441, 5), range(1440, 900, -5)):
        for wide in widths:
            window.resize(wide, 900)
        scenes.settle(window)
        assert first_line_in_view(window) == reading


@pytest.mark.slow
def test_the_word_that_is_read_stays_in_a_paragraph_of_many_screens(window):
    begin(window)
    answer(window, [" ".join(f"word{number}" for number in range(3_000))])
    bar = window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    scenes.settle(window)
    reading = first_word_in_view(window)
    for wide in range(1440, 900, -5):
        window.resize(wide, 900)
    scenes.settle(window)
    # The word that was the first of its line stands anywhere in its line now.
    assert abs(first_word_in_view(window) - reading) < 15


def test_who_is_at_the_end_stays_at_the_end(window):
    begin(window)
    answer(window, LINES)
    bar = window.transcript.verticalScrollBar()
    for _ in range(2):
        window.toggle_thinking()
        scenes.settle(window)
        assert bar.value() == bar.maximum()
