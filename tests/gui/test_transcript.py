"""The conversation: following the end, long chats, streaming into the right place."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QTextEdit

from app.chat_view import ChatState
from app.conversation import Reply
from app.ui.code_block import CodeBlock
from app.ui.rich_text import RichText
from engine.api import Channel
from tests.gui import scenes


def test_the_end_is_followed_only_while_the_reader_is_there(window, qtbot):
    scenes.show_chat(window, *(scenes.exchange(f"e{i}") for i in range(4)))
    window.show_exchange(scenes.running("live"))
    window.show_chat_state(ChatState.ANSWERING)
    bar = window.transcript.verticalScrollBar()
    window.append_delta("live", Channel.ANSWER, "line\n\n" * 60, 60)
    scenes.settle(window)
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    window.append_delta("live", Channel.ANSWER, "line\n\n" * 60, 60)
    scenes.settle(window)
    assert bar.value() == 100
    assert window.transcript.jump_button.isVisible()
    qtbot.mouseClick(window.transcript.jump_button, Qt.MouseButton.LeftButton)
    assert bar.value() == bar.maximum()
    assert not window.transcript.jump_button.isVisible()
    window.append_delta("live", Channel.ANSWER, "line\n\n" * 20, 60)
    scenes.settle(window)
    assert bar.value() == bar.maximum()


def test_a_new_question_is_brought_into_view(window):
    scenes.show_chat(window, *(scenes.exchange(f"e{i}") for i in range(4)))
    scenes.settle(window)
    bar = window.transcript.verticalScrollBar()
    bar.setValue(0)
    window.show_exchange(scenes.running("new"))
    scenes.settle(window)
    assert bar.value() == bar.maximum()


def test_a_chat_of_500_exchanges_builds_only_what_is_near(window):
    scenes.show_chat(window, *(scenes.exchange(f"e{i}") for i in range(500)))
    for _ in range(8):
        scenes.settle(window)
    transcript = window.transcript
    assert len(transcript.exchange_ids) == 500
    assert 2 <= len(transcript.built_ids) <= 12
    bar = transcript.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(0)
    for _ in range(4):
        scenes.settle(window)
    assert bar.value() == 0
    assert transcript.exchange_widget("e0").isVisible()
    assert len(transcript.built_ids) <= 24


def test_building_what_is_above_does_not_move_what_is_read(window):
    answers = ("Short.", scenes.ANSWER * 4, scenes.RICH_ANSWER)
    chat = [scenes.exchange(f"e{i}", answer=answers[i % 3]) for i in range(60)]
    scenes.show_chat(window, *chat)
    scenes.settle(window)
    bar = window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    for _ in range(4):
        scenes.settle(window)
    # The exchange at the top of the view, and where it stands in it.
    top = bar.value()
    rooms = window.transcript._rooms
    index = next(i for i, room in enumerate(rooms) if room.top + room.height > top)
    place = rooms[index].top - top
    for other in range(max(0, index - 6), index):
        window.transcript.exchange_widget(f"e{other}")
    window.transcript._arrange()
    assert rooms[index].top - bar.value() == place


def test_streamed_text_lands_in_its_own_exchange(window):
    scenes.show_chat(window, scenes.exchange("e1"))
    window.show_exchange(scenes.running("e2"))
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e2", Channel.ANSWER, "for two", 2)
    window.append_delta("gone", Channel.ANSWER, "for nobody", 2)
    scenes.settle(window)
    assert window.transcript.exchange_widget("e2").answer.body.text == "for two"
    assert window.transcript.exchange_widget("e1").answer.body.text == scenes.ANSWER
    assert window.transcript.exchange_ids == ("e1", "e2")


def test_an_earlier_exchange_that_is_asked_again_counts_in_its_own_card(window):
    first = scenes.exchange("e1")
    scenes.show_chat(window, first, scenes.exchange("e2"))
    later = window.transcript.exchange_widget("e2").answer
    before = later.info_text
    window.show_exchange(first.with_reply(Reply("r-new")))
    window.show_chat_state(ChatState.PREFILLING)
    window.show_wait("e1", "", None)
    window.transcript._on_tick()
    assert (later.info_text, later.waiting_text) == (before, "")
    assert "Reading" in window.transcript.exchange_widget("e1").answer.waiting_text


def test_an_edited_question_takes_the_later_ones_away(window):
    scenes.show_chat(window, *(scenes.exchange(f"e{i}") for i in range(5)))
    scenes.settle(window)
    window.remove_exchanges_after("e1")
    assert window.transcript.exchange_ids == ("e0", "e1")
    window.remove_exchanges_after("unknown")
    assert window.transcript.exchange_ids == ("e0", "e1")


def test_the_final_text_replaces_the_streamed_one(window):
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, scenes.THINKING[:50], 10)
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e1", Channel.ANSWER, scenes.ANSWER[:50], 10)
    window.show_exchange(scenes.exchange())
    window.show_chat_state(ChatState.IDLE)
    scenes.settle(window)
    widget = window.transcript.exchange_widget("e1")
    assert widget.answer.body.text == scenes.ANSWER
    assert widget.thinking.text == scenes.THINKING
    assert "Rayleigh scattering" in widget.thinking.view.toPlainText()
    assert widget.answer.info_text == "0.9 s · 182 tokens"


def shown(window, exchange_id="e1"):
    """All that the answer shows, prose and code, top to bottom."""
    texts = []
    for segment in window.transcript.exchange_widget(exchange_id).answer.body.segments:
        text = segment.source if isinstance(segment, CodeBlock) else segment.toPlainText()
        texts.append((type(segment), text))
    return texts


def test_streamed_token_by_token_it_looks_as_if_it_came_at_once(window):
    scenes.show_chat(window, scenes.exchange("whole", answer=scenes.RICH_ANSWER))
    window.show_exchange(scenes.running("streamed"))
    window.show_chat_state(ChatState.ANSWERING)
    body = window.transcript.exchange_widget("streamed").answer.body
    for start in range(0, len(scenes.RICH_ANSWER), 7):
        window.append_delta("streamed", Channel.ANSWER, scenes.RICH_ANSWER[start : start + 7], 2)
        body.flush()
    window.show_exchange(scenes.exchange("streamed", answer=scenes.RICH_ANSWER))
    scenes.settle(window)
    assert shown(window, "streamed") == shown(window, "whole")
    whole = window.transcript.exchange_widget("whole").answer.body
    assert body.arrange(600) == whole.arrange(600)


def test_what_is_finished_is_not_drawn_again(window):
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.ANSWERING)
    body = window.transcript.exchange_widget("e1").answer.body
    body.append("First paragraph.\n\n```py\nx = 1\n```\n\nTail")
    body.flush()
    prose, code = body.segments[0], body.segments[1]
    changes = []
    prose.document().contentsChange.connect(lambda *change: changes.append(change))
    code._view.document().contentsChange.connect(lambda *change: changes.append(change))
    for _ in range(20):
        body.append(" and more")
        body.flush()
    assert changes == []
    assert body.segments[0] is prose
    assert body.segments[1] is code


def test_code_has_its_language_its_own_copy_and_scrolls_sideways(window, qtbot):
    long_line = "x = " + " + ".join(f"value_{i}" for i in range(60))
    scenes.show_chat(window, scenes.exchange(answer=f"```python\n{long_line}\n```"))
    scenes.settle(window)
    (code,) = window.transcript.exchange_widget("e1").answer.body.segments
    assert isinstance(code, CodeBlock)
    assert code._label.text() == "python"
    assert code._view.horizontalScrollBar().maximum() > 0
    assert code._view.verticalScrollBar().maximum() == 0
    qtbot.mouseClick(code.copy_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == long_line


def test_every_line_of_an_answer_is_visible_without_scrolling_in_it(window):
    scenes.show_chat(window, scenes.exchange(answer=scenes.RICH_ANSWER * 3))
    scenes.settle(window)
    for segment in window.transcript.exchange_widget("e1").answer.body.segments:
        if isinstance(segment, RichText):
            assert segment.document().size().height() <= segment.height()
            assert segment.verticalScrollBar().maximum() == 0


def test_selected_text_is_copied_plain_with_formulas_as_tex(window):
    scenes.show_chat(window, scenes.exchange(answer="Energy $E = mc^2$ and **mass**.\n\n$$x^2$$"))
    (prose,) = window.transcript.exchange_widget("e1").answer.body.segments
    assert isinstance(prose, RichText)
    prose.selectAll()
    data = prose.createMimeDataFromSelection()
    assert data.text() == "Energy $E = mc^2$ and mass.\n$$x^2$$"
    assert not data.hasHtml()


def test_nothing_is_selected_that_the_reader_did_not_select(window):
    scenes.scene_done(window)
    scenes.settle(window)
    widget = window.transcript.exchange_widget("e1")
    views = widget.findChildren(QTextEdit)
    assert len(views) >= 4
    assert [view for view in views if view.textCursor().hasSelection()] == []


def test_what_is_selected_stays_selected_while_text_streams_in(window):
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, scenes.THINKING, 100)
    scenes.settle(window)
    view = window.transcript.exchange_widget("e1").thinking.view
    cursor = view.textCursor()
    cursor.setPosition(4)
    cursor.setPosition(8, cursor.MoveMode.KeepAnchor)
    view.setTextCursor(cursor)
    window.append_delta("e1", Channel.THINKING, scenes.THINKING, 100)
    scenes.settle(window)
    assert view.textCursor().selectedText() == "user"


def test_a_very_long_question_is_folded_and_can_be_opened(window, qtbot):
    scenes.show_chat(window, scenes.exchange(question="word " * 4_000, answer="Fine."))
    scenes.settle(window)
    bubble = window.transcript.exchange_widget("e1").bubble
    folded = bubble.height()
    assert folded < 600
    qtbot.mouseClick(bubble._more, Qt.MouseButton.LeftButton)
    scenes.settle(window)
    assert bubble.height() > 1_500
