"""What was searched for is marked in the list and in the opened chat, which opens there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QStyleOptionViewItem, QTextEdit

from app.chat_view import ChatState
from app.conversation import ConversationSummary
from app.settings import with_value
from engine.api import Channel
from tests.gui import scenes


def marked(window, exchange_id):
    """All marked words of an exchange, as they are shown."""
    widget = window.transcript.exchange_widget(exchange_id)
    return [
        mark.cursor.selectedText()
        for text in widget.findChildren(QTextEdit)
        for mark in text.extraSelections()
    ]


def search(window, text):
    window.chats.search.setText(text)
    window.chats.search_changed.emit(text)


@pytest.fixture
def long_chat(window):
    """Forty exchanges, one of which speaks of violets."""

    def show(place, **changes):
        exchanges = [scenes.exchange(f"e{n}", f"Question {n}?") for n in range(40)]
        exchanges[place] = scenes.exchange(f"e{place}", **changes)
        scenes.show_chat(window, *exchanges)

    return show


def is_in_view(window, exchange_id):
    widget = window.transcript.exchange_widget(exchange_id)
    view = window.transcript.viewport()
    top = widget.mapTo(view, widget.rect().topLeft()).y()
    return top < view.height() and top + widget.height() > 0


def test_words_are_marked_in_question_answer_code_and_thinking(window):
    scenes.scene_done(window)
    window.transcript.exchange_widget("e1")
    search(window, "blue RATIO")
    found = {word.lower() for word in marked(window, "e1")}
    assert found == {"blue", "ratio"}
    widget = window.transcript.exchange_widget("e1")
    assert widget.thinking.view.extraSelections()
    assert any("ratio" in word for word in marked(window, "e1")), "in the code too"


def test_marks_go_with_the_search(window):
    scenes.scene_done(window)
    window.transcript.exchange_widget("e1")
    search(window, "blue")
    assert marked(window, "e1")
    search(window, "")
    assert marked(window, "e1") == []


def test_text_that_streams_in_is_marked_too(window, qtbot):
    scenes.scene_thinking(window)
    search(window, "zebra")
    assert marked(window, "e1") == []
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e1", Channel.ANSWER, "A zebra has stripes.\n\n", 5)
    qtbot.waitUntil(lambda: marked(window, "e1") == ["zebra"], timeout=30_000)


@pytest.mark.parametrize(
    "where",
    [
        {"question": "What of zebras?"},
        {"answer": "Words.\n\n" * 60 + "Here is the zebra."},
        {"answer": "Words.\n\n```\nzebra = 1\n```\n"},
        {"thinking": "Thoughts.\n\n" * 60 + "And a zebra."},
    ],
)
@pytest.mark.parametrize("place", [0, 20])
def test_a_chat_that_is_opened_from_a_search_opens_where_it_stands(
    window, long_chat, qtbot, where, place
):
    window.marks._hold.setInterval(60_000)  # however slowly this machine draws
    search(window, "zebra")
    long_chat(place, **where)
    qtbot.waitUntil(lambda: marked(window, f"e{place}") == ["zebra"], timeout=20_000)
    qtbot.waitUntil(lambda: window.marks.is_settled, timeout=20_000)
    widget = window.transcript.exchange_widget(f"e{place}")
    [text] = [each for each in widget.findChildren(QTextEdit) if each.extraSelections()]
    [mark] = text.extraSelections()

    def is_in_sight() -> bool:
        spot = text.cursorRect(mark.cursor).center()
        seen = text.viewport().mapTo(window.transcript.viewport(), spot)
        inside = text.viewport().rect().contains(spot)
        return inside and window.transcript.viewport().rect().contains(seen)

    # What is drawn late above it still moves it for a moment.
    qtbot.waitUntil(is_in_sight, timeout=20_000)


def test_f3_walks_through_the_exchanges_that_hold_a_word(window, qtbot):
    exchanges = [scenes.exchange(f"e{n}", f"Question {n}?") for n in range(12)]
    for place in (1, 5, 9):
        exchanges[place] = scenes.exchange(f"e{place}", "Of zebras?")
    search(window, "zebra")
    scenes.show_chat(window, *exchanges)
    shift = Qt.KeyboardModifier.ShiftModifier
    none = Qt.KeyboardModifier.NoModifier
    for modifier, place in ((none, 5), (none, 9), (none, 1), (shift, 9), (shift, 5)):
        qtbot.keyClick(window, Qt.Key.Key_F3, modifier)
        qtbot.waitUntil(lambda place=place: is_in_view(window, f"e{place}"), timeout=30_000)
        top = (
            window.transcript.exchange_widget(f"e{place}")
            .mapTo(window.transcript.viewport(), QPoint(0, 0))
            .y()
        )
        assert 0 <= top < window.transcript.viewport().height() // 2


def current(window):
    """What is marked as the place that was gone to, with the text around it."""
    color = window.theme.color("accent")
    return [
        mark.cursor.block().text()
        for text in window.transcript.findChildren(QTextEdit)
        for mark in text.extraSelections()
        if mark.format.background().color() == color
    ]


def test_f3_goes_from_place_to_place_also_within_an_exchange(window, qtbot):
    first = scenes.exchange(
        "e1", "Zebras?", answer="One zebra.\n\n```\nzebra = 2\n```", thinking="A zebra, I think."
    )
    second = scenes.exchange("e2", "And lions?", answer="No zebra here.", thinking="")
    search(window, "zebra")
    scenes.show_chat(window, first, second)
    places = ["Zebras?", "One zebra.", "zebra = 2", "A zebra, I think.", "No zebra here."]
    qtbot.waitUntil(lambda: current(window) == places[:1], timeout=20_000)
    qtbot.waitUntil(lambda: len(marked(window, "e1")) == 4, timeout=20_000)
    for place in (*places[1:], *places[:2]):
        qtbot.keyClick(window, Qt.Key.Key_F3)
        qtbot.waitUntil(lambda place=place: current(window) == [place], timeout=20_000)
    for place in (places[0], *reversed(places)):
        qtbot.keyClick(window, Qt.Key.Key_F3, Qt.KeyboardModifier.ShiftModifier)
        qtbot.waitUntil(lambda place=place: current(window) == [place], timeout=20_000)


def test_a_thinking_that_is_hidden_has_no_place_to_go_to(window, qtbot):
    window.change_settings(with_value(window.settings, "show_thinking", False))
    search(window, "zebra")
    shown = scenes.exchange("e1", "q?", answer="A zebra.", thinking="zebra")
    scenes.show_chat(window, shown, scenes.exchange("e2", "Zebras?", thinking="", answer="No."))
    qtbot.waitUntil(lambda: current(window) == ["A zebra."], timeout=20_000)
    qtbot.keyClick(window, Qt.Key.Key_F3)
    qtbot.waitUntil(lambda: current(window) == ["Zebras?"], timeout=20_000)


def test_a_version_that_is_not_shown_is_no_place_to_go_to(window, qtbot):
    versions = (scenes.reply(answer="A zebra.", thinking=""), scenes.reply(answer="A horse."))
    exchanges = [
        replace(scenes.exchange("e1", "q?"), replies=versions, chosen=1),
        scenes.exchange("e2", "Zebras?"),
    ]
    search(window, "zebra")
    scenes.show_chat(window, *exchanges)
    qtbot.waitUntil(lambda: current(window) == ["Zebras?"], timeout=20_000)
    qtbot.keyClick(window, Qt.Key.Key_F3)
    assert current(window) == ["Zebras?"]
    window.show_exchange(replace(exchanges[0], chosen=0))
    window.show_hit("e1")
    qtbot.waitUntil(lambda: current(window) == ["A zebra."], timeout=20_000)
    window.show_hit("e9")
    assert current(window) == ["A zebra."]


def test_f3_without_a_search_moves_nothing(window, long_chat, qtbot):
    long_chat(3, answer="zebra")
    before = window.transcript.verticalScrollBar().value()
    qtbot.keyClick(window, Qt.Key.Key_F3)
    assert window.transcript.verticalScrollBar().value() == before


def test_enter_in_the_search_opens_the_first_chat_that_is_found(window, qtbot):
    opened = []
    window.conversation_selected.connect(opened.append)
    told = []
    window.search_changed.connect(told.append)
    qtbot.keyClicks(window.chats.search, "zebra")
    qtbot.keyClick(window.chats.search, Qt.Key.Key_Return)
    assert told == ["zebra"], "without waiting for the pause"
    window.show_conversations([ConversationSummary("c7", "Zebras", 0.0)], None)
    window.show_conversations([ConversationSummary("c8", "Others", 0.0)], None)
    assert opened == ["c7"], "once"


def test_a_folded_question_is_unfolded_for_its_word(window, qtbot):
    search(window, "zebra")
    scenes.show_chat(window, scenes.exchange("e1", "line\n" * 400 + "zebra"))
    qtbot.waitUntil(lambda: marked(window, "e1") == ["zebra"], timeout=30_000)


def test_without_a_search_a_chat_opens_at_its_end(window, long_chat):
    long_chat(3, answer="zebra")
    assert window.transcript.following
    search(window, "giraffe")
    long_chat(3, answer="zebra")
    assert window.transcript.following, "nothing to go to"


def test_very_many_places_do_not_hold_the_window_up(window):
    scenes.show_chat(window, scenes.exchange("e1", "q?", answer="the " * 5_000))
    search(window, "the")
    assert len(marked(window, "e1")) <= 1_100


def drawn(window, theme, text, words):
    """One line of the list as an image."""
    painter_of_rows = window.chats.list.itemDelegate()
    painter_of_rows.words = words
    window.show_conversations([ConversationSummary("c", text, 0.0)], None)
    painter_of_rows.words = words
    image = QImage(300, 40, QImage.Format.Format_RGB32)
    image.fill(theme.color("window"))
    option = QStyleOptionViewItem()
    option.rect = QRect(0, 0, 300, 40)
    painter = QPainter(image)
    painter_of_rows.paint(painter, option, window.chats.list.model().index(1, 0))
    painter.end()
    return image


def columns_of(image, color):
    return [
        x
        for x in range(image.width())
        if any(image.pixelColor(x, y) == color for y in range(image.height()))
    ]


@pytest.mark.parametrize("title", ["the zebra of mine", "家 🙂 zebra", "צפה zebra שלום"])
def test_a_line_of_the_list_has_its_words_marked(window, theme, title):
    color = theme.color("selection")
    assert columns_of(drawn(window, theme, title, ()), color) == []
    columns = columns_of(drawn(window, theme, title, ("zebra",)), color)
    assert columns
    assert columns[-1] - columns[0] < 60, "the word, not the line"


def test_the_line_of_what_was_found_stands_below_the_title(window):
    window.chats.search.setText("zebra")
    window.show_conversations(
        [ConversationSummary("c", "Title", 0.0, "…of the zebra in the zoo")], None
    )
    chats = window.chats.list
    row = chats.visualItemRect(chats.item(1)).height()
    window.chats.search.setText("")
    window.show_conversations([ConversationSummary("c", "Title", 0.0)], None)
    assert row > chats.visualItemRect(chats.item(1)).height()
