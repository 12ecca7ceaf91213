"""The list of chats: groups, search, rename in place, delete with undo."""

import datetime
import time

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from app.conversation import ConversationSummary
from tests.gui import scenes


def lines(window):
    chats = window.chats.list
    return [chats.item(row).text() for row in range(chats.count())]


def select(window, title):
    chats = window.chats.list
    row = lines(window).index(title)
    chats.setCurrentRow(row)
    return chats.item(row)


def test_chats_stand_under_their_dates_in_the_given_order(window):
    noon = datetime.datetime.combine(datetime.date.today(), datetime.time(12)).timestamp()
    window.show_conversations(
        [
            ConversationSummary("a", "First", noon),
            ConversationSummary("b", "Second", noon - 60),
            ConversationSummary("c", "Before", noon - 86_400),
            ConversationSummary("d", "Week", noon - 7 * 86_400),
            ConversationSummary("e", "Month", noon - 30 * 86_400),
            ConversationSummary("f", "Old", noon - 31 * 86_400),
        ],
        "a",
    )
    expected = ["Today", "First", "Second", "Yesterday", "Before", "Last 7 days", "Week"]
    assert lines(window) == [*expected, "Last 30 days", "Month", "Earlier", "Old"]
    assert window.chats.list.currentItem().text() == "First"


def test_a_clock_that_was_set_back_puts_no_chat_under_a_date_below_older_ones(window):
    noon = datetime.datetime.combine(datetime.date.today(), datetime.time(12)).timestamp()
    window.show_conversations(
        [
            ConversationSummary("new", "Newest", noon - 365 * 86_400),
            ConversationSummary("a", "Before", noon - 60),
            ConversationSummary("b", "Old", noon - 300 * 86_400),
        ],
        "a",
    )
    assert lines(window) == ["Today", "Newest", "Before", "Earlier", "Old"]


def test_a_list_that_did_not_change_is_not_filled_again(window):
    shown = scenes.summaries()
    window.show_conversations(shown, "c1")
    items = [window.chats.list.item(row) for row in range(window.chats.list.count())]
    window.show_conversations(list(shown), "c3")
    assert all(window.chats.list.item(row) is item for row, item in enumerate(items))
    assert window.chats.list.currentItem().text() == "Plan a week of dinners"
    window.show_conversations(shown, None)
    assert window.chats.list.currentItem() is None


def test_a_click_opens_a_chat_and_a_click_on_a_group_does_nothing(window, qtbot):
    opened = []
    window.conversation_selected.connect(opened.append)
    chats = window.chats.list
    for title in ("Today", "Plan a week of dinners"):
        place = chats.visualItemRect(chats.item(lines(window).index(title))).center()
        qtbot.mouseClick(chats.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert opened == ["c3"]


def test_enter_opens_the_chosen_chat(window, qtbot):
    select(window, "Regex for dates")
    with qtbot.waitSignal(window.conversation_selected) as told:
        qtbot.keyClick(window.chats.list, Qt.Key.Key_Return)
    assert told.args == ["c5"]


def test_f2_renames_in_place(window, qtbot):
    select(window, "Regex for dates")
    window.chats.list.setFocus()
    qtbot.keyClick(window.chats.list, Qt.Key.Key_F2)
    editor = window.chats.list.findChild(QLineEdit, "rename")
    editor.setText("Dates")
    with qtbot.waitSignal(window.rename_requested) as told:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert told.args == ["c5", "Dates"]
    assert "Dates" in lines(window)


def test_an_empty_or_unchanged_title_renames_nothing(window, qtbot):
    asked = []
    window.rename_requested.connect(lambda *args: asked.append(args))
    for text in ("   ", "Regex for dates"):
        select(window, "Regex for dates")
        window.chats.rename_current()
        editor = window.chats.list.findChild(QLineEdit, "rename")
        editor.setText(text)
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        QApplication.processEvents()
    assert asked == []
    assert "Regex for dates" in lines(window)


def test_escape_while_renaming_gives_it_up_and_stops_no_reply(window, qtbot):
    scenes.scene_answering(window)
    stops, asked = [], []
    window.stop_requested.connect(lambda: stops.append(1))
    window.rename_requested.connect(lambda *args: asked.append(args))
    select(window, "Regex for dates")
    window.chats.rename_current()
    qtbot.keyClick(window.chats.list.findChild(QLineEdit, "rename"), Qt.Key.Key_Escape)
    assert (stops, asked) == ([], [])


def test_delete_offers_undo(window, qtbot):
    select(window, "Regex for dates")
    with qtbot.waitSignal(window.delete_requested) as told:
        qtbot.keyClick(window.chats.list, Qt.Key.Key_Delete)
    assert told.args == ["c5"]
    assert window.chats.undo_bar.isVisible()
    with qtbot.waitSignal(window.undo_delete_requested) as told:
        qtbot.mouseClick(window.chats.undo, Qt.MouseButton.LeftButton)
    assert told.args == ["c5"]
    assert not window.chats.undo_bar.isVisible()


def test_no_key_but_del_deletes_a_chat(window, qtbot):
    deleted = []
    window.delete_requested.connect(deleted.append)
    keys = [Qt.Key(code) for code in range(Qt.Key.Key_Space, Qt.Key.Key_AsciiTilde)]
    keys += [Qt.Key.Key_Backspace, Qt.Key.Key_Insert, Qt.Key.Key_Home, Qt.Key.Key_PageDown]
    for modifier in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
        for key in keys:
            select(window, "Regex for dates")
            window.chats.list.setFocus()
            qtbot.keyClick(window.chats.list, key, modifier)
    assert deleted == []
    select(window, "Regex for dates")
    qtbot.keyClick(window.chats.list, Qt.Key.Key_Delete)
    assert deleted == ["c5"]
    assert window.chats.undo_bar.isVisible(), "and that can be taken back"


def test_search_is_told_after_a_pause_and_an_empty_result_says_so(window, qtbot):
    told = []
    window.search_changed.connect(told.append)
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert window.chats.search.hasFocus() or window.focusWidget() is window.chats.search
    with qtbot.waitSignal(window.search_changed):
        qtbot.keyClicks(window.chats.search, "violet")
    assert told == ["violet"]
    window.show_conversations([], None)
    assert window.chats.empty_text == "No chat contains “violet”."
    window.show_conversations(scenes.summaries(), "c1")
    assert window.chats.empty_text == ""


def test_thousands_of_chats_can_be_shown(window):
    now = time.time()
    many = [ConversationSummary(f"c{i}", f"Chat {i}", now - i * 600) for i in range(3_000)]
    window.show_conversations(many, "c0")
    QTest.qWait(20)
    assert window.chats.list.count() >= 3_000
    assert window.chats.list.item(1).text() == "Chat 0"


def test_a_list_that_is_filled_anew_does_not_end_the_renaming(window, qtbot):
    chats = window.chats
    chats.rename_current()
    editor = chats.list.findChild(QLineEdit, "rename")
    qtbot.keyClicks(editor, "Half a na")
    scenes.furnish(window)
    assert chats.list.findChild(QLineEdit, "rename") is editor
    qtbot.keyClicks(editor, "me")
    with qtbot.waitSignal(window.rename_requested) as told:
        qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert told.args[1] == "Half a name"
    titles = [chats.list.item(row).text() for row in range(chats.list.count())]
    assert "Half a name" in titles
    qtbot.waitUntil(
        lambda: (
            "Half a name" not in [chats.list.item(row).text() for row in range(chats.list.count())]
        ),
        timeout=30_000,
    )


def test_after_the_delete_key_the_next_key_is_for_undo(window, qtbot):
    window.activateWindow()
    window.chats.list.setFocus()
    with qtbot.waitSignal(window.delete_requested) as told:
        qtbot.keyClick(window.chats.list, Qt.Key.Key_Delete)
    assert window.focusWidget() is window.chats.undo
    with qtbot.waitSignal(window.undo_delete_requested) as undone:
        qtbot.keyClick(window.chats.undo, Qt.Key.Key_Space)
    assert undone.args == told.args
    assert window.focusWidget() is window.chats.list


def test_a_found_word_is_seen_in_its_line_however_far_it_stands_from_the_beginning(window, theme):
    chats = window.chats.list
    painter = chats.itemDelegate()
    painter.words = ("carry",)
    line = "…86=47*6+47*80 47*6 and a good many words before ones 7*6=42 carry 4: 2 and so on"
    font, width = theme.font("group"), theme.metrics.list_width - 40
    shown = painter.shown_part(line, font, width)
    assert "carry" in shown
    assert shown.startswith("…")
    assert QFontMetricsF(font).horizontalAdvance(shown) <= width
    assert painter.shown_part("carry on", font, width) == "carry on"
    painter.words = ()
    assert painter.shown_part(line, font, width).startswith("…86=47")


def test_enter_in_the_search_goes_to_the_next_place_of_a_chat_that_is_open_already(window, qtbot):
    window.show_conversations(scenes.summaries(), "c1")
    scenes.scene_done(window)
    window.activateWindow()
    qtbot.keyClick(window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(window.chats.search, "violet")
    opened, steps = [], []
    window.conversation_selected.connect(opened.append)
    window.chats.next_place_requested.connect(lambda: steps.append(1))
    qtbot.keyClick(window.chats.search, Qt.Key.Key_Return)
    window.show_conversations(scenes.summaries(), "c1")
    assert (opened, steps) == ([], [1])
    assert window.marks._current == "e1"
    qtbot.keyClick(window.chats.search, Qt.Key.Key_Return)
    window.show_conversations(scenes.summaries()[1:], "c1")
    assert (opened, steps) == ([scenes.summaries()[1].conversation_id], [1])
    assert window.focusWidget() is window.chats.search


def test_the_hint_of_an_empty_list_stands_where_titles_would(window):
    window.show_conversations([], None)
    hint = window.chats._empty
    metrics = window.theme.metrics
    assert hint.indent() == metrics.gap_m - metrics.ring
    assert window.chats.empty_text == "Your chats will be listed here."
