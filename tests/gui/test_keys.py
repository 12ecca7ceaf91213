"""Keys: defined once, listed whole, and each does what the list says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QToolTip

from app.settings import Settings, with_value
from app.ui import rich_text, shortcuts
from app.ui.key_list import KeyList
from app.ui.rich_text import RichText
from app.ui.shortcuts import KEYS, make_shortcuts, written
from app.ui.window_keys import actions_of
from tests.gui import scenes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def in_use(window, qtbot):
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=30_000)
    return window


def press(window, keys):
    """As the keyboard does: to whatever has the focus."""
    combination = QKeySequence(keys)[0]
    QTest.keyClick(window, combination.key(), combination.keyboardModifiers())


def test_the_window_has_the_keys_of_the_table_and_no_others(window):
    made = sorted(
        shortcut.key().toString(QKeySequence.SequenceFormat.PortableText)
        for shortcut in window.findChildren(QShortcut)
    )
    listed = (QKeySequence(keys) for key in KEYS if key.action for keys in key.keys)
    assert made == sorted(k.toString(QKeySequence.SequenceFormat.PortableText) for k in listed)
    assert len(set(made)) == len(made), "two actions on one key"


def test_no_other_file_defines_a_key():
    """A shortcut made elsewhere would be missing in the list."""
    allowed = {"shortcuts.py", "key_list.py"}
    makers = {"QShortcut", "setShortcut", "setShortcuts"}
    found = [
        f"{path.name}:{node.lineno}"
        for path in sorted((ROOT / "app").rglob("*.py"))
        if path.name not in allowed
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in makers
    ]
    assert not found


def test_an_action_without_a_key_cannot_be_forgotten(window, monkeypatch):
    monkeypatch.setattr(shortcuts, "KEYS", KEYS[1:])
    with pytest.raises(ValueError, match="differ"):
        make_shortcuts(window, actions_of(window))


def test_f1_lists_every_key_with_its_meaning(in_use, qtbot):
    press(in_use, "F1")
    listed = in_use.findChild(KeyList)
    listed.activateWindow()
    qtbot.waitUntil(listed.isActiveWindow, timeout=30_000)
    texts = [each.text() for each in listed.findChildren(QLabel)]
    for key in KEYS:
        assert key.meaning in texts
        assert key.place in texts
        assert any(written(key.keys[0]) in text for text in texts)
    assert all(text.strip() for text in texts)
    press(listed, "Escape")
    qtbot.waitUntil(lambda: in_use.findChild(KeyList) is None, timeout=30_000)


@pytest.mark.parametrize(
    ("keys", "size"), [("Ctrl++", 16), ("Ctrl+=", 16), ("Ctrl+-", 14), ("Ctrl+0", 15)]
)
def test_zoom_is_the_font_size(in_use, qtbot, keys, size):
    if keys == "Ctrl+0":
        in_use.show_settings(with_value(Settings(), "font_size", 24))
    told = []
    in_use.settings_changed.connect(told.append)
    press(in_use, keys)
    qtbot.waitUntil(lambda: bool(told), timeout=30_000)
    assert told[-1].font_size == size
    assert in_use.theme.px("text") == size


def test_zoom_keys_that_pile_up_dress_the_window_once(in_use, qtbot):
    dressed = []
    in_use.theme.changed.connect(lambda: dressed.append(in_use.settings.font_size))
    for keys in ("Ctrl++", "Ctrl++", "Ctrl++", "Ctrl+-", "Ctrl++"):
        press(in_use, keys)
    qtbot.waitUntil(lambda: bool(dressed), timeout=30_000)
    press(in_use, "Ctrl+0")
    qtbot.waitUntil(lambda: len(dressed) == 2, timeout=30_000)
    assert dressed == [18, 15]


@pytest.mark.parametrize(("keys", "size"), [("Ctrl++", 28), ("Ctrl+-", 11)])
def test_zoom_ends_at_the_ends_of_the_setting(in_use, qtbot, keys, size):
    in_use.show_settings(with_value(Settings(), "font_size", size))
    told = []
    in_use.settings_changed.connect(told.append)
    press(in_use, keys)
    later = []
    QTimer.singleShot(0, lambda: later.append(True))  # after the turn of the key
    qtbot.waitUntil(lambda: bool(later), timeout=30_000)
    assert told == []
    assert in_use.settings.font_size == size


def test_search_keys_open_the_panels_they_search(in_use):
    in_use.panels.restore("left", 0, collapsed=True)
    in_use.panels.restore("right", 0, collapsed=True)
    press(in_use, "Ctrl+Shift+F")
    assert in_use.panels.is_shown("right")
    assert in_use.focusWidget() is in_use.settings_panel.search
    press(in_use, "Ctrl+F")
    assert in_use.panels.is_shown("left")
    assert in_use.focusWidget() is in_use.chats.search
    press(in_use, "Ctrl+L")
    assert in_use.focusWidget() is in_use.composer.edit


def test_panels_and_thinking_go_and_come_by_key(in_use):
    for keys, shown in (
        ("Ctrl+B", lambda: in_use.panels.is_shown("left")),
        ("Ctrl+,", lambda: in_use.panels.is_shown("right")),
        ("Ctrl+T", lambda: in_use.settings.show_thinking),
    ):
        before = shown()
        press(in_use, keys)
        assert shown() is not before, keys
        press(in_use, keys)
        assert shown() is before, keys


def test_the_model_menu_opens_by_key_and_is_walked_by_arrows(in_use, qtbot):
    chosen = []
    in_use.model_selected.connect(chosen.append)
    press(in_use, "Ctrl+M")
    menu = in_use.header.picker.menu
    qtbot.waitUntil(menu.isVisible, timeout=30_000)
    QTest.keyClick(menu, Qt.Key.Key_Down)
    QTest.keyClick(menu, Qt.Key.Key_Return)
    assert len(chosen) == 1


def test_the_settings_lead_to_the_list_of_keys(window, qtbot):
    window.panels.restore("right", 0, collapsed=False)
    window.settings_panel.keys.click()
    qtbot.waitUntil(lambda: window.findChild(KeyList) is not None, timeout=30_000)


def test_a_link_of_an_answer_is_reached_by_tab_and_followed_by_enter(in_use, monkeypatch):
    asked = []
    monkeypatch.setattr(rich_text, "ask_to_open", lambda _, address: asked.append(address))
    scenes.scene_rich(in_use)
    scenes.settle(in_use)
    with_link = next(
        text
        for text in in_use.transcript.findChildren(RichText)
        if "bisect_left" in text.toPlainText()
    )
    with_link.setFocus()
    QTest.keyClick(with_link, Qt.Key.Key_Tab)
    assert with_link.hasFocus()
    QTest.keyClick(with_link, Qt.Key.Key_Return)
    assert len(asked) == 1
    assert asked[0].startswith("https://docs.python.org/")
    QTest.keyClick(with_link, Qt.Key.Key_Tab)
    assert not with_link.hasFocus()


def test_the_list_of_keys_is_scrolled_by_keys(window, qtbot):
    window.resize(900, 500)
    keys = KeyList(window.theme, window)
    keys.show()
    keys.activateWindow()
    qtbot.waitUntil(keys.isActiveWindow, timeout=30_000)
    bar = keys.area.verticalScrollBar()
    assert bar.maximum() > 0
    QTest.keyClick(keys.focusWidget(), Qt.Key.Key_PageDown)
    assert bar.value() > 0


def test_who_has_no_mouse_reads_the_explanations_too(in_use):
    in_use.panels.restore("right", 0, collapsed=False)
    in_use.settings_panel.rows["temperature"].input.setFocus()
    press(in_use, "Shift+F1")
    assert "How freely words are chosen" in QToolTip.text()
    QToolTip.hideText()
