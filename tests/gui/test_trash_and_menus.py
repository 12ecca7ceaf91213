"""What can be done with chats: menus, pins, the trash, temporary chats, import and export."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu

from app.chat_view import ExportFormat
from app.conversation import Conversation, ConversationSummary
from app.ui import chat_side
from app.ui.chat_dialogs import file_name_for
from tests.gui import chat_scenes, scenes
from tests.gui.test_conversation_list import lines, select


def entries(menu):
    return [action.text() for action in menu.actions() if action.text()]


def choose(menu, text):
    for action in menu.actions():
        if action.text() == text:
            action.trigger()
            return
        if action.menu() is not None and text in entries(action.menu()):
            choose(action.menu(), text)
            return
    raise AssertionError(f"{text} is not among {entries(menu)}")


def told_by(signal):
    told = []
    signal.connect(lambda *values: told.append(values))
    return told


def test_the_menu_of_a_chat_offers_all_that_can_be_done_with_it(window):
    menu = window.chats.menu_of(select(window, "Regex for dates"))
    assert entries(menu) == ["Rename", "Pin to the top", "Duplicate", "Export", "Delete"]


@pytest.mark.parametrize(
    ("entry", "signal", "values"),
    [
        ("Pin to the top", "pin_requested", ("c5", True)),
        ("Duplicate", "duplicate_requested", ("c5",)),
        ("Delete", "delete_requested", ("c5",)),
    ],
)
def test_an_entry_of_the_menu_is_told(window, entry, signal, values):
    told = told_by(getattr(window, signal))
    choose(window.chats.menu_of(select(window, "Regex for dates")), entry)
    assert told == [values]


def test_rename_in_the_menu_opens_the_editor(window):
    choose(window.chats.menu_of(select(window, "Regex for dates")), "Rename")
    assert window.chats.list.findChild(QLineEdit, "rename") is not None


def test_the_menu_key_opens_the_menu_of_the_chosen_chat(window, monkeypatch):
    opened = told_by(window.chats.list.menu_requested)
    monkeypatch.setattr("app.ui.conversation_menu.ConversationMenu.open_at", lambda *a: None)
    item = select(window, "Regex for dates")
    reason = QContextMenuEvent.Reason.Keyboard
    event = QContextMenuEvent(reason, QPoint(0, 0), QPoint(0, 0))
    QApplication.sendEvent(window.chats.list.viewport(), event)
    [(found, place)] = opened
    assert found is item
    row = window.chats.list.visualItemRect(item)
    assert row.contains(window.chats.list.viewport().mapFromGlobal(place))


def test_pinned_chats_have_a_group_of_their_own_and_can_be_unpinned(window):
    chat_scenes.scene_pinned(window)
    assert lines(window)[:4] == [
        "Pinned",
        "House rules for the model",
        "天空为什么是蓝色的",
        "Today",
    ]
    told = told_by(window.pin_requested)
    choose(window.chats.menu_of(select(window, "House rules for the model")), "Unpin")
    assert told == [("p1", False)]


def test_old_pinned_chats_do_not_change_the_dates_of_the_others(window):
    now = time.time()
    window.show_conversations(
        [
            ConversationSummary("p", "Old but pinned", now - 400 * 86_400, pinned=True),
            ConversationSummary("a", "New", now),
        ],
        "a",
    )
    assert lines(window) == ["Pinned", "Old but pinned", "Today", "New"]


def test_a_temporary_chat_is_marked_in_list_header_and_empty_page(window, qtbot):
    assert window.header.temporary_text == ""
    with qtbot.waitSignal(window.temporary_chat_requested):
        qtbot.keyClick(
            window,
            Qt.Key.Key_N,
            Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier,
        )
    with qtbot.waitSignal(window.temporary_chat_requested):
        qtbot.mouseClick(window.chats.temporary, Qt.MouseButton.LeftButton)
    chat_scenes.scene_temporary_empty(window)
    assert "Nothing of this chat is stored" in window.empty._privacy.text()
    chat_scenes.scene_temporary(window)
    assert window.header.temporary_text == "Temporary chat: nothing of it is stored"
    assert lines(window)[:2] == ["Temporary, not stored", "A question for nobody"]
    menu = window.chats.menu_of(select(window, "A question for nobody"))
    assert entries(menu) == ["Rename", "Keep a copy", "Export", "Delete"]
    window.show_conversation(Conversation("c1"))
    assert window.header.temporary_text == ""
    assert "stay here" in window.empty._privacy.text()


def test_the_trash_shows_what_was_deleted_and_when(window, qtbot):
    chat_scenes.scene_trash(window)
    assert window.chats.trash_button.text() == "Trash (3)"
    trash = window.chats.trash
    shown = [
        (trash.list.item(row).text(), trash.list.item(row).data(Qt.ItemDataRole.UserRole + 1))
        for row in range(trash.count)
    ]
    assert shown == [
        ("Plan a week of dinners", "deleted today"),
        ("旧的草稿", "deleted yesterday, 29 days left"),
        ("Names for a boat", "12 days ago, 18 days left"),
    ]
    assert trash.isVisible()
    qtbot.mouseClick(trash.back, Qt.MouseButton.LeftButton)
    assert not trash.isVisible()
    assert window.chats.list.isVisible()


def test_a_chat_is_restored_by_button_and_by_enter(window, qtbot):
    chat_scenes.scene_trash(window)
    told = told_by(window.undo_delete_requested)
    trash = window.chats.trash
    qtbot.mouseClick(trash.restore, Qt.MouseButton.LeftButton)
    trash.list.setCurrentRow(2)
    qtbot.keyClick(trash.list, Qt.Key.Key_Return)
    assert told == [("d1",), ("d3",)]


def test_the_only_chat_in_the_trash_is_chosen_and_enter_restores_it(window, qtbot):
    window.show_trash([ConversationSummary("d1", "Alone", 0.0, deleted_at=time.time())])
    told = told_by(window.undo_delete_requested)
    trash = window.chats.trash
    qtbot.mouseClick(window.chats.trash_button, Qt.MouseButton.LeftButton)
    assert trash.restore.isEnabled()
    qtbot.keyClick(trash.list, Qt.Key.Key_Return)
    assert told == [("d1",)]


def test_erasing_is_asked_once_more_and_the_hasty_key_keeps(window, qtbot):
    window.activateWindow()
    chat_scenes.scene_trash(window)
    told = told_by(window.erase_requested)
    trash = window.chats.trash
    qtbot.keyClick(trash.list, Qt.Key.Key_Delete)
    assert trash.question_text == (
        "Erase “Plan a week of dinners” for good? This cannot be undone."
    )
    assert window.focusWidget() is trash.keep
    qtbot.keyClick(trash.keep, Qt.Key.Key_Space)
    assert (trash.question_text, told) == ("", [])
    qtbot.mouseClick(trash.erase, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(trash.confirm, Qt.MouseButton.LeftButton)
    assert told == [(("d1",),)]


def test_the_whole_trash_is_emptied_after_a_question(window, qtbot):
    chat_scenes.scene_trash_question(window)
    told = told_by(window.erase_requested)
    trash = window.chats.trash
    assert trash.question_text == "Erase 3 chats for good? This cannot be undone."
    qtbot.mouseClick(trash.confirm, Qt.MouseButton.LeftButton)
    assert told == [(("d1", "d2", "d3"),)]
    window.show_trash([])
    assert not trash.empty.isEnabled()
    assert not trash.restore.isEnabled()
    assert window.chats.trash_button.text() == "Trash"


@pytest.mark.parametrize("key", [*range(Qt.Key.Key_A, Qt.Key.Key_Z + 1), Qt.Key.Key_Backspace])
def test_no_other_key_in_the_trash_erases_or_restores(window, qtbot, key):
    chat_scenes.scene_trash(window)
    told = told_by(window.erase_requested) + told_by(window.undo_delete_requested)
    qtbot.keyClick(window.chats.trash.list, Qt.Key(key))
    assert (window.chats.trash.question_text, told) == ("", [])


@pytest.mark.parametrize(
    ("entry", "kind", "ending"),
    [
        ("Markdown with thinking…", ExportFormat.MARKDOWN_WITH_THINKING, "md"),
        ("Markdown without thinking…", ExportFormat.MARKDOWN, "md"),
        ("JSON, to be imported again…", ExportFormat.JSON, "json"),
    ],
)
def test_a_chat_is_exported_to_the_file_that_was_chosen(window, monkeypatch, entry, kind, ending):
    asked = []

    def ask(parent, title, chosen):
        asked.append((title, chosen))
        return f"/tmp/there.{ending}"

    monkeypatch.setattr(chat_side, "ask_where_to_export", ask)
    told = told_by(window.export_requested)
    choose(window.chats.menu_of(select(window, "Regex for dates")), entry)
    choose(window.chats.menu_of_all(), entry)
    assert asked == [("Regex for dates", kind), ("All chats", kind)]
    assert told == [("c5", kind, f"/tmp/there.{ending}"), ("", kind, f"/tmp/there.{ending}")]


def test_who_gives_up_the_dialog_exports_and_imports_nothing(window, monkeypatch):
    monkeypatch.setattr(chat_side, "ask_where_to_export", lambda *a: "")
    monkeypatch.setattr(chat_side, "ask_what_to_import", lambda *a: "")
    told = told_by(window.export_requested) + told_by(window.import_requested)
    choose(window.chats.menu_of_all(), "Import chats…")
    choose(window.chats.menu_of_all(), "JSON, to be imported again…")
    assert told == []


def test_an_import_leaves_what_is_typed_with_its_chat(window, monkeypatch, qtbot):
    monkeypatch.setattr(chat_side, "ask_what_to_import", lambda *a: "/tmp/chats.json")
    order = []
    window.draft_changed.connect(lambda text: order.append(text))
    window.import_requested.connect(lambda path: order.append(path))
    qtbot.keyClicks(window.composer.edit, "half a question")
    choose(window.chats.menu_of_all(), "Import chats…")
    assert order == ["half a question", "/tmp/chats.json"]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Why is the sky blue?", "Why is the sky blue.md"),
        ("a/b\\c:d*e", "a b c d e.md"),
        ("二进制搜索", "二进制搜索.md"),
        ("...", "chat.md"),
        ("", "chat.md"),
        ("x" * 300, "x" * 80 + ".md"),
        ("line\nbreak\x00", "line break.md"),
    ],
)
def test_the_proposed_name_is_one_that_every_file_system_takes(title, name):
    assert file_name_for(title, ExportFormat.MARKDOWN) == name


def test_a_screen_reader_hears_where_a_chat_stands_and_what_was_found(window):
    spoken = Qt.ItemDataRole.AccessibleTextRole
    chat_scenes.scene_search(window)
    item = select(window, "Radar and rain")
    assert item.data(spoken) == "Radar and rain, Yesterday, …the drops scatter the pulse"
    chat_scenes.scene_temporary(window)
    item = select(window, "A question for nobody")
    assert item.data(spoken) == "A question for nobody, Temporary, not stored"
    chat_scenes.scene_trash(window)
    item = window.chats.trash.list.item(1)
    assert item.data(spoken) == "旧的草稿, deleted yesterday, 29 days left"


def test_the_menus_are_menus_of_the_list_panel(window):
    scenes.scene_done(window)
    assert isinstance(window.chats.menu_of_all(), QMenu)
    assert entries(window.chats.menu_of_all()) == ["Import chats…", "Export all chats"]


def test_the_menu_of_all_chats_opens_above_its_button(window):
    """It lay over the button and hung out of the window."""
    menu, more = window.chats.menu_of_all(), window.chats.more
    bottom = window.chats.place_for(menu).y() + menu.sizeHint().height()
    assert bottom == more.mapToGlobal(more.rect().topLeft()).y()
