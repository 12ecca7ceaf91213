"""What a screen reader finds: a name and a role for every control, and the answer as it comes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QRadioButton,
    QScrollBar,
    QSlider,
    QTextEdit,
    QToolButton,
    QWidget,
)

from app.chat_view import ChatState, Notice, PresetChoice
from app.paths import resource_dir
from app.ui import spoken_reply
from app.ui.key_list import KeyList
from app.ui.spoken_reply import LONGEST, SpokenReply
from app.ui.theme import Theme
from app.ui.wizard import WizardWindow
from engine.api import Channel
from tests.gui import scenes, wizard_screenshots

SCENES = {
    name.removeprefix("scene_"): show
    for name, show in vars(scenes).items()
    if name.startswith("scene_")
}
ROLES: dict[type[QWidget], set[QAccessible.Role]] = {
    QAbstractButton: {
        *(QAccessible.Role.Button, QAccessible.Role.CheckBox, QAccessible.Role.RadioButton),
        *(QAccessible.Role.ButtonMenu, QAccessible.Role.PushButton),
    },
    QLineEdit: {QAccessible.Role.EditableText},
    QPlainTextEdit: {QAccessible.Role.EditableText},
    QTextEdit: {QAccessible.Role.EditableText, QAccessible.Role.StaticText},
    QSlider: {QAccessible.Role.Slider},
    QListWidget: {QAccessible.Role.List},
}
"""What kinds of controls must be; areas that only scroll, and grips, are Qt's "client"."""


def controls(root: QWidget) -> Iterator[QWidget]:
    """What one can tab to or press; a scroll area or its bars are neither."""
    for widget in root.findChildren(QWidget):
        if isinstance(widget, QScrollBar) or widget.objectName().startswith("qt_"):
            continue
        tabbed = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
        if (tabbed or isinstance(widget, QAbstractButton)) and widget.focusProxy() is None:
            yield widget


def nameless(root: QWidget) -> list[str]:
    found = []
    for widget in controls(root):
        spoken = QAccessible.queryAccessibleInterface(widget)
        name = spoken.text(QAccessible.Text.Name).strip()
        # An icon's file name or a bare sign is no name.
        wanted = [roles for kind, roles in ROLES.items() if isinstance(widget, kind)]
        fits = not wanted or spoken.role() in wanted[0]
        if not any(char.isalpha() for char in name) or not fits:
            parent = widget.parentWidget()
            found.append(
                f"{type(widget).__name__} {widget.objectName()!r} in {type(parent).__name__}: "
                f"{name!r} {spoken.role()}"
            )
    return found


def test_a_control_without_a_name_is_found(qtbot):
    root = QWidget()
    qtbot.addWidget(root)
    button = QToolButton(root)
    assert len(nameless(root)) == 1
    button.setAccessibleName("Close")
    assert nameless(root) == []


@pytest.mark.parametrize("scene", sorted(SCENES))
def test_every_control_of_the_window_has_a_name_and_a_role(window, scene):
    SCENES[scene](window)
    window.panels.restore("right", 0, collapsed=False)
    window.show_presets(PresetChoice(("", "A"), "A", True))
    window.settings_panel.presets.begin_naming()
    window.show_notice(Notice("n", "Something.", actions=(("retry", "Try again"),)))
    assert len(list(controls(window))) > 20
    assert nameless(window) == []


def test_every_control_of_the_list_of_keys_has_a_name(window):
    assert nameless(KeyList(window.theme, window)) == []


def test_every_control_of_the_wizard_has_a_name(qtbot, tmp_path):
    wizard = WizardWindow(Theme(resource_dir()))
    qtbot.addWidget(wizard)
    wizard.show()
    found: dict[str, list[str]] = {}

    def look(name: str) -> None:
        found[name] = nameless(wizard)

    for pages in (wizard_screenshots._check_pages, wizard_screenshots._choose_pages):
        pages(wizard, look, tmp_path)
    for pages in (
        wizard_screenshots._download_pages,
        wizard_screenshots._answer_pages,
        wizard_screenshots._failure_pages,
    ):
        pages(wizard, look)
    assert len(found) > 10
    assert not any(found.values()), found


@pytest.fixture
def said(qtbot, monkeypatch):
    """What is spoken, with a screen reader there."""
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)
    return []


@pytest.fixture
def speaker(qtbot, said):
    widget = QWidget()
    qtbot.addWidget(widget)
    return SpokenReply(widget, lambda _, text: said.append(text))


def test_the_answer_is_spoken_in_sentences(speaker, said):
    speaker.on_state(ChatState.THINKING)
    speaker.take(Channel.THINKING, "Not to be read aloud. ")
    speaker.on_state(ChatState.ANSWERING)
    for piece in ("The sky is", " **blue**.", " Red light", " is"):
        speaker.take(Channel.ANSWER, piece)
    speaker.on_breath()
    assert said == ["Thinking", "The sky is blue."]
    speaker.take(Channel.ANSWER, " scattered less")
    speaker.on_breath()
    assert len(said) == 2, "half a sentence waits"
    speaker.on_state(ChatState.IDLE)
    assert said[2:] == ["Red light is scattered less", "The reply has ended"]


def test_chinese_sentences_end_without_a_space(speaker, said):
    speaker.take(Channel.ANSWER, "天空是蓝色的。因为")
    speaker.on_breath()
    assert said == ["天空是蓝色的。"]


def test_a_flood_of_text_is_spoken_once_a_breath(speaker, said):
    for _ in range(1000):
        speaker.take(Channel.ANSWER, "A word. ")
    assert said == []
    assert speaker._timer.isActive()
    speaker.on_breath()
    assert len(said) == 1


def test_text_without_an_end_is_spoken_in_pieces_and_none_is_lost(speaker, said):
    text = "word " * 300
    speaker.take(Channel.ANSWER, text)
    while speaker._timer.isActive() and len(said) < 3:
        speaker._timer.stop()
        speaker.on_breath()
    speaker.on_state(ChatState.ANSWERING)
    speaker.on_state(ChatState.IDLE)
    assert max(map(len, said[:3])) <= LONGEST
    assert " ".join(said[:-1]).split() == text.split()


def test_nothing_is_gathered_where_nobody_listens(qtbot, monkeypatch):
    monkeypatch.setattr(QAccessible, "isActive", lambda: False)
    spoken = []
    widget = QWidget()
    qtbot.addWidget(widget)
    speaker = SpokenReply(widget, lambda _, text: spoken.append(text))
    speaker.on_state(ChatState.THINKING)
    speaker.take(Channel.ANSWER, "Hello. ")
    speaker.on_state(ChatState.IDLE)
    assert spoken == []
    assert not speaker._timer.isActive()


def test_the_window_feeds_it(window, said, monkeypatch):
    monkeypatch.setattr(window._spoken, "_say", lambda _, text: said.append(text))
    SCENES["thinking"](window)
    assert "Thinking" in said
    assert spoken_reply.INTERVAL_MS >= 1000


@pytest.mark.parametrize("scene", ["done", "failed", "versions", "deleted", "empty"])
def test_every_button_can_be_reached_by_tab(window, scene):
    SCENES[scene](window)
    window.panels.restore("right", 0, collapsed=False)
    window.show_notice(Notice("n", "Something.", actions=(("retry", "Try again"),)))
    scenes.settle(window)
    window.activateWindow()
    window.composer.edit.setFocus()
    met = []
    while (widget := window.focusWidget()) not in met:
        met.append(widget)
        QTest.keyClick(widget, Qt.Key.Key_Tab)
    wanted = [
        button
        for button in window.findChildren(QAbstractButton)
        if button.isVisible() and button.isEnabled() and not button.objectName().startswith("qt_")
    ]
    assert len(wanted) > 10
    assert [button for button in wanted if button not in met] == []


def test_every_button_of_the_wizard_can_be_reached_by_tab(qtbot, tmp_path):
    wizard = WizardWindow(Theme(resource_dir()))
    qtbot.addWidget(wizard)
    wizard.show()
    wizard.activateWindow()
    missed: dict[str, list[str]] = {}

    def look(name: str) -> None:
        QTest.qWait(10)
        wanted = [
            button
            for button in wizard.findChildren(QAbstractButton)
            if button.isVisible() and button.isEnabled()
        ]
        wanted[0].setFocus()
        met: list[QWidget | None] = []
        while (widget := wizard.focusWidget()) not in met:
            met.append(widget)
            QTest.keyClick(widget, Qt.Key.Key_Tab)
        # Of radio buttons one is a stop; the arrow keys lead to the others.
        missed[name] = [
            button.text()
            for button in wanted
            if button not in met and not isinstance(button, QRadioButton)
        ]

    for pages in (wizard_screenshots._check_pages, wizard_screenshots._choose_pages):
        pages(wizard, look, tmp_path)
    for pages in (wizard_screenshots._download_pages, wizard_screenshots._failure_pages):
        pages(wizard, look)
    assert len(missed) > 8
    assert not any(missed.values()), missed
