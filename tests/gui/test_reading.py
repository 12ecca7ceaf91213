"""Reading a reply: frames while it streams, right-to-left text, copying, selecting, the wheel."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QTextCursor, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTextEdit

from app.chat_view import ChatState
from app.conversation import ReplyStatus
from app.ui import thinking_text
from app.ui.code_block import CodeBlock
from app.ui.formula_object import OBJECT_CHARACTER
from app.ui.rich_text import RichText
from engine.api import Channel
from tests.gui import scenes

PROSE = "\n\n".join(f"{n}. One more thought, and a second one after it. " * 4 for n in range(40))


def widget_of(window, exchange_id="e1"):
    return window.transcript.exchange_widget(exchange_id)


def clipboard():
    return QGuiApplication.clipboard().text()


def shown(body):
    """Kind and text of each segment."""
    return [
        (type(each).__name__, each.source if isinstance(each, CodeBlock) else each.toPlainText())
        for each in body.segments
    ]


def stream(window, text, size):
    """Stream an answer in pieces of that size, and look at each frame."""
    window.show_exchange(scenes.running("live"))
    window.show_chat_state(ChatState.ANSWERING)
    body = widget_of(window, "live").answer.body
    for start in range(0, len(text), size):
        window.append_delta("live", Channel.ANSWER, text[start : start + size], 1)
        window.transcript._on_flush()
        yield body
    window.show_exchange(scenes.exchange("live", answer=text))
    window.show_chat_state(ChatState.IDLE)
    scenes.settle(window)


@pytest.mark.parametrize("size", [11, 240])
def test_everything_at_once_streams_into_what_it_is_when_it_comes_whole(window, size):
    scenes.show_chat(window, scenes.exchange("whole", answer=scenes.NASTY))
    scenes.settle(window)
    whole = widget_of(window, "whole").answer.body
    for body in stream(window, scenes.NASTY, size):
        assert not any("\ufffd" in text for _, text in shown(body))
    assert shown(body) == shown(whole)
    assert body.arrange(600) == whole.arrange(600)


def test_signs_of_several_characters_are_whole_in_every_frame(window):
    text = "Family 👨‍👩‍👧‍👦, flag 🇨🇳🇩🇪, e\u0301, 👍🏽, ภาษาไทย, हिन्दी, 한글, 中文。"
    for body in stream(window, text, 1):
        frame = "".join(text for _, text in shown(body))
        assert "\ufffd" not in frame
        assert not frame.endswith("\u200d")
        flags = [char for char in frame if "\U0001f1e6" <= char <= "\U0001f1ff"]
        assert len(flags) % 2 == 0


def test_the_height_never_shrinks_by_more_than_a_line_while_prose_streams(window, theme):
    line = theme.line_height("text")
    text = "Words with **bold** and `code`.\n\n- one\n- two\n  - three\n\n> quote\n\nEnd $x$."
    heights = [body.arrange(600) for body in stream(window, text, 3)]
    drops = [before - after for before, after in pairwise(heights)]
    assert max(drops) <= line


def test_each_formula_changes_once_on_its_way(window):
    forms: list[list[str]] = []
    text = "So $a^2 + b^2$ is \\(c^2\\).\n\nAnd $$\\frac{1}{2}$$ too."
    for body in stream(window, text, 1):
        forms.append([part for _, part in shown(body)])
    frames = ["".join(parts) for parts in forms]
    assert frames[-1].count(OBJECT_CHARACTER) == 3
    assert not [frame for frame in frames if "$" in frame or "^" in frame or "\\" in frame]


def directions(view):
    found = []
    block = view.document().begin()
    while block.isValid():
        if block.text().strip():
            found.append((block.text()[:6], block.textDirection()))
        block = block.next()
    return found


def test_paragraphs_run_by_their_content(window):
    text = "مرحبا English `code`\n\nHello עברית\n\n- שלום\n\n> اقتباس\n\n# עברית"
    scenes.show_chat(window, scenes.exchange(answer=text, thinking=text))
    scenes.settle(window)
    right, left = Qt.LayoutDirection.RightToLeft, Qt.LayoutDirection.LeftToRight
    for view in (widget_of(window).answer.body.segments[0], widget_of(window).thinking.view):
        assert [way for _, way in directions(view)] == [right, left, right, right, right]


def test_code_stays_left_to_right_and_its_frame_scrolls(window):
    scenes.show_chat(window, scenes.exchange(answer="שלום\n\n```py\nx = 'שלום'\n```"))
    scenes.settle(window)
    code = widget_of(window).answer.body.segments[1]
    assert code.view.document().begin().textDirection() == Qt.LayoutDirection.LeftToRight


def test_code_in_a_list_has_its_frame_and_its_copy(window, qtbot):
    scenes.show_chat(window, scenes.exchange(answer="1. Do\n   ```py\n   x = 1\n   ```\n2. Done"))
    scenes.settle(window)
    first, code, rest = widget_of(window).answer.body.segments
    assert code.x() > first.x()
    qtbot.mouseClick(code.copy_button, Qt.MouseButton.LeftButton)
    assert clipboard() == "x = 1"
    assert rest.document().begin().textList().format().start() == 2


THINKING = "First thought.\n\nSecond $x^2$.\n"
ANSWER = "# Title\n\nSome **bold** and $y$.\n\n1. a\n2. b\n\n```py\nx = 1\n```\n"


@pytest.mark.parametrize(
    ("kind", "copied"),
    [
        ("markdown", ANSWER),
        ("plain", "Title\n\nSome bold and $y$.\n\n1. a\n2. b\n\nx = 1"),
        ("thinking", "First thought.\n\nSecond $x^2$."),
        (
            "both",
            "## Thinking\n\n> First thought.\n>\n> Second $x^2$.\n\n## Answer\n\n" + ANSWER,
        ),
    ],
)
def test_each_way_to_copy_takes_exactly_its_part(window, kind, copied):
    scenes.show_chat(window, scenes.exchange(answer=ANSWER, thinking=THINKING))
    scenes.settle(window)
    widget = widget_of(window)
    entry = next(each for each in widget.copies.menu.actions() if each.data() == kind)
    entry.trigger()
    assert clipboard() == copied
    assert not set(clipboard()) & set("\u2028\u2029\r\u200b")
    assert widget.answer.action("copy").text() == "Copied"


@pytest.mark.parametrize(
    ("answer", "thinking", "offered"),
    [
        ("Yes.", "Hm.", {"markdown", "plain", "thinking", "both"}),
        ("Yes.", "", {"markdown", "plain"}),
        ("", "Stopped while thinking.", {"thinking"}),
    ],
)
def test_the_menu_of_copies_offers_what_is_there(window, qtbot, answer, thinking, offered):
    stopped = scenes.exchange(answer=answer, thinking=thinking, status=ReplyStatus.STOPPED)
    scenes.show_chat(window, stopped)
    scenes.settle(window)
    widget = widget_of(window)
    menu = widget.copies.menu
    qtbot.mouseClick(widget.answer.action("copies"), Qt.MouseButton.LeftButton)
    assert menu.isVisible()
    assert {each.data() for each in menu.actions() if each.isEnabled()} == offered
    menu.close()


def place_in(view: QTextEdit, needle: str, *, after: bool = False) -> QPoint:
    """Where that text stands in the view's viewport."""
    cursor = view.document().find(needle)
    at = QTextCursor(view.document())
    at.setPosition(cursor.selectionEnd() if after else cursor.selectionStart())
    return view.cursorRect(at).center()


def drag(start: QTextEdit, begin: QPoint, end: QTextEdit, finish: QPoint) -> None:
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(start.viewport(), left, pos=begin)
    for part in (0.3, 0.7, 1.0):
        goal = start.viewport().mapFromGlobal(end.viewport().mapToGlobal(finish))
        QTest.mouseMove(start.viewport(), begin + (goal - begin) * part)
    QTest.mouseRelease(start.viewport(), left, pos=goal)


MIXED = "Before words.\n\n```py\nx = 1\ny = 2\n```\n\nAfter words $z$ end."


@pytest.fixture
def mixed(window):
    scenes.show_chat(window, scenes.exchange(answer=MIXED, thinking=""))
    scenes.settle(window)
    return widget_of(window).answer.body


@pytest.mark.parametrize("backwards", [False, True])
def test_a_selection_goes_through_prose_and_code(mixed, backwards):
    before, _, after = mixed.texts()
    begin, end = place_in(before, "words"), place_in(after, "end")
    if backwards:
        drag(after, end, before, begin)
    else:
        drag(before, begin, after, end)
    assert mixed.selection.selected_text() == "words.\nx = 1\ny = 2\nAfter words $z$ "
    QTest.keyClick(before, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert clipboard() == "words.\nx = 1\ny = 2\nAfter words $z$ "


def test_a_new_press_ends_the_old_selection(mixed):
    before, code, after = mixed.texts()
    drag(before, place_in(before, "words"), code, place_in(code, "y"))
    assert code.textCursor().hasSelection()
    drag(after, place_in(after, "After"), after, place_in(after, "words"))
    assert mixed.selection.selected_text() == "After "


def test_selected_code_is_copied_with_lf_and_without_colours(mixed):
    code = mixed.texts()[1]
    code.selectAll()
    data = code.createMimeDataFromSelection()
    assert data.text() == "x = 1\ny = 2"
    assert data.formats() == ["text/plain"]


@pytest.fixture
def long_thinking(window):
    """A reply that still thinks, with more thinking than fits, below an answered question."""
    scenes.show_chat(window, *(scenes.exchange(f"e{i}") for i in range(3)))
    window.show_exchange(scenes.running("live"))
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("live", Channel.THINKING, PROSE, 900)
    scenes.settle(window)
    return widget_of(window, "live").thinking


def turn_wheel(view, steps):
    """One notch of the wheel over the view, positive is up; whether the view kept it.

    An event that is not kept goes to the conversation; Qt does so with real ones only.
    """
    place = QPointF(view.viewport().rect().center())
    event = QWheelEvent(
        place,
        QPointF(view.viewport().mapToGlobal(place.toPoint())),
        QPoint(),
        QPoint(0, 120 * steps),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(view.viewport(), event)
    return event.isAccepted()


def test_the_wheel_leaves_the_thinking_only_by_a_new_gesture_at_its_end(long_thinking, monkeypatch):
    # However slow the machine, these turns are one gesture, and those after it are new ones.
    monkeypatch.setattr(thinking_text, "GESTURE_PAUSE_MS", 600_000)
    view = long_thinking.view
    bar = view.verticalScrollBar()
    bar.setValue(30)
    assert all([turn_wheel(view, 1) for _ in range(6)])
    assert bar.value() == 0
    monkeypatch.setattr(thinking_text, "GESTURE_PAUSE_MS", 10)
    QTest.qWait(50)
    assert not turn_wheel(view, 1)
    QTest.qWait(50)
    assert turn_wheel(view, -1)
    assert bar.value() > 0


def test_a_click_leads_back_to_the_latest_thinking(window, long_thinking, qtbot):
    view = long_thinking.view
    bar, button = view.verticalScrollBar(), view.jump_button
    assert bar.value() == bar.maximum()
    assert not button.isVisible()
    turn_wheel(view, 1)
    assert not long_thinking.following
    assert button.isVisible()
    place = bar.value()
    window.append_delta("live", Channel.THINKING, scenes.THINKING, 100)
    scenes.settle(window)
    assert bar.value() == place
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert bar.value() == bar.maximum()
    assert not button.isVisible()
    window.append_delta("live", Channel.THINKING, scenes.THINKING, 100)
    scenes.settle(window)
    assert bar.value() == bar.maximum()


def test_ended_thinking_has_no_latest_line_to_jump_to(window):
    scenes.show_chat(window, scenes.exchange(thinking=PROSE))
    scenes.settle(window)
    view = widget_of(window).thinking.view
    assert view.verticalScrollBar().value() < view.verticalScrollBar().maximum()
    assert not view.jump_button.isVisible()


def test_the_thinking_opens_to_its_full_height_and_back(window, qtbot):
    scenes.show_chat(window, scenes.exchange(answer="Yes.", thinking=PROSE))
    scenes.settle(window)
    widget = widget_of(window)
    usual = widget.card.height()
    button = widget.thinking.height_button
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    scenes.settle(window)
    assert widget.card.height() > 3 * usual
    assert widget.thinking.view.verticalScrollBar().maximum() == 0
    assert button.accessibleName() == "Usual height"
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    scenes.settle(window)
    assert widget.card.height() == usual
    assert widget.thinking.view.verticalScrollBar().maximum() > 0


def test_thinking_that_fits_has_no_button_for_its_height(window):
    scenes.show_chat(window, scenes.exchange(thinking="Short."))
    scenes.settle(window)
    assert not widget_of(window).thinking.height_button.isVisible()


def test_20_000_tokens_of_thinking_leave_the_answer_where_it_is(window):
    window.show_exchange(scenes.running("e1"))
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e1", Channel.ANSWER, "The answer.", 3)
    scenes.settle(window)
    widget = widget_of(window)
    before = (widget.answer.geometry(), widget.height())
    window.append_delta("e1", Channel.THINKING, scenes.THINKING * 120, 20_000)
    scenes.settle(window)
    assert (widget.answer.geometry(), widget.height()) == before
    assert widget.thinking.view.height() <= window.transcript.viewport().height()


def test_hidden_thinking_stays_hidden_whatever_comes(window, qtbot):
    scenes.scene_thinking(window)
    widget = widget_of(window)
    qtbot.mouseClick(widget.thinking.hide_button, Qt.MouseButton.LeftButton)
    window.append_delta("e1", Channel.THINKING, scenes.THINKING, 50)
    scenes.settle(window)
    window.show_exchange(scenes.exchange())
    window.show_chat_state(ChatState.IDLE)
    window.show_exchange(scenes.running("e2"))
    window.show_chat_state(ChatState.THINKING)
    scenes.settle(window)
    assert not widget.thinking.isVisible()
    assert not widget_of(window, "e2").thinking.isVisible()


def test_far_exchanges_give_their_widgets_back_but_not_what_is_opened(window, monkeypatch):
    monkeypatch.setattr("app.ui.transcript_room.MOST_BUILT", 6)
    chat = [scenes.exchange(f"e{i}", thinking=scenes.THINKING * 9) for i in range(40)]
    scenes.show_chat(window, *chat)
    scenes.settle(window)
    transcript, bar = window.transcript, window.transcript.verticalScrollBar()
    widget_of(window, "e39").thinking.toggle_full_height()
    for value in range(bar.maximum(), 0, -bar.maximum() // 12):
        bar.setValue(value)
        scenes.settle(window)
    assert "e39" in transcript.built_ids
    assert len(transcript.built_ids) <= 12
    assert "e37" not in transcript.built_ids
    assert widget_of(window, "e37").answer.body.text == scenes.ANSWER


def test_colours_of_code_come_from_another_thread_when_the_fence_closes(window, theme):
    jobs = []
    theme.code_colors.color_with(lambda job, done: jobs.append((job, done)))
    window.show_exchange(scenes.running("e1"))
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e1", Channel.ANSWER, "```python\nreturn 1\n", 3)
    scenes.settle(window)
    code = widget_of(window).answer.body.segments[0]
    assert jobs == []
    window.append_delta("e1", Channel.ANSWER, "```\n\nText", 3)
    scenes.settle(window)
    assert len(jobs) == 1
    assert code.view.document().begin().layout().formats() == []
    job, done = jobs.pop()
    done(job())
    colors = [
        each.format.foreground().color() for each in code.view.document().begin().layout().formats()
    ]
    assert colors == [theme.color("code_keyword"), theme.color("code_number")]
    scenes.show_chat(window, scenes.exchange("e9", answer="```python\nreturn 1\n```"))
    scenes.settle(window)
    again = widget_of(window, "e9").answer.body.segments[0]
    assert jobs == []
    assert len(again.view.document().begin().layout().formats()) == 2


def test_a_long_answer_is_drawn_in_several_turns_and_the_window_stays_awake(window):
    text = scenes.RICH_ANSWER * 30
    scenes.show_chat(window, scenes.exchange(answer=text, thinking=""))
    body = widget_of(window).answer.body
    assert body.is_behind
    first = len(body.segments)
    scenes.settle(window)
    assert not body.is_behind
    assert len(body.segments) > first
    assert sum(isinstance(each, CodeBlock) for each in body.segments) == 30
    assert isinstance(body.segments[-1], RichText)


def test_a_stopped_reply_without_thinking_says_that_it_did_not_think(window):
    stopped = scenes.exchange(thinking="", status=ReplyStatus.STOPPED, thinking_tokens=0, answer="")
    scenes.show_chat(window, stopped)
    scenes.settle(window)
    assert widget_of(window).thinking._empty.isVisible()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_other_colours_leave_the_thinking_where_it_was_read(window, theme, share):
    scenes.show_chat(window, scenes.exchange("e1", thinking=PROSE))
    scenes.settle(window)
    view = widget_of(window).thinking.view
    bar = view.verticalScrollBar()
    bar.setValue(round(share * bar.maximum()))
    following = view.following
    assert bar.maximum() > 500
    theme.set_look("dark", 15)
    scenes.settle(window)
    assert bar.value() / bar.maximum() == pytest.approx(share, abs=0.01)
    assert view.following is following


def test_live_thinking_is_followed_on_in_other_colours_only_by_who_followed_it(window, theme):
    window.show_exchange(scenes.running("live"))
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("live", Channel.THINKING, PROSE, 900)
    scenes.settle(window)
    view = widget_of(window, "live").thinking.view
    bar = view.verticalScrollBar()
    theme.set_look("dark", 15)
    scenes.settle(window)
    assert (view.following, bar.value()) == (True, bar.maximum())
    bar.setValue(40)
    theme.set_look("light", 15)
    scenes.settle(window)
    assert not view.following
    assert abs(bar.value() - 40) <= 2
