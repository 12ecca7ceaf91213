"""Which preset the chat uses: choose, save, rename, delete; says when the chat differs from it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QVBoxLayout, QWidget

from app.chat_view import PresetChoice
from app.language import translate
from app.ui.composing_guard import ComposingGuard
from app.ui.controls import (
    IconButton,
    TextButton,
    is_escape_override,
    label,
    plain_tooltip,
    without_mnemonic,
)
from app.ui.theme import Theme

MAX_NAME_CHARACTERS = 60


class NameEdit(QLineEdit):
    """A name; Enter takes it, Esc does not.

    Signals:
        named(str): the name; given_up: nothing was meant.
    """

    named = Signal(str)
    given_up = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        ComposingGuard(self)

    def event(self, event: QEvent) -> bool:
        """Esc is meant for this field, before it becomes the window's Stop."""
        if is_escape_override(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and Esc; the rest is Qt's."""
        if event.key() == Qt.Key.Key_Escape:
            self.given_up.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.named.emit(self.text())
        else:
            super().keyPressEvent(event)


class PresetBar(QWidget):
    """Stands above the settings that belong to the chat.

    Signals: as of app.chat_view.
    """

    preset_chosen = Signal(str)
    preset_saved = Signal(str)
    preset_renamed = Signal(str, str)
    preset_deleted = Signal(str)
    preset_reverted = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._choice = PresetChoice()
        self._take_name: Callable[[str], None] = self.preset_saved.emit
        metrics = theme.metrics
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.gap_xs)
        first = QHBoxLayout()
        first.setSpacing(metrics.gap_s)
        caption = label(self.tr("Preset"), "label", self)
        caption.setToolTip(
            plain_tooltip(
                self.tr(
                    "A named set of thinking, sampling and system prompt. Changes below belong to "
                    "this chat alone, until you save them into the preset."
                )
            )
        )
        first.addWidget(caption)
        first.addStretch(1)
        self.button = TextButton("", "choice", self)
        self.button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self.button.clicked.connect(self._on_open)
        first.addWidget(self.button)
        column.addLayout(first)
        self.menu = QMenu(self)
        self._build_changes(column)
        self._build_naming(column)
        theme.changed.connect(self._on_theme)
        self._on_theme()
        self.show_presets(self._choice)

    def _build_changes(self, column: QVBoxLayout) -> None:
        self.changes = QWidget(self)
        row = QHBoxLayout(self.changes)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self._theme.metrics.gap_s)
        edited = label(self.tr("Changed"), "quiet", self.changes)
        edited.setToolTip(plain_tooltip(self.tr("This chat differs from its preset")))
        row.addWidget(edited, 1)
        self.revert = TextButton(self.tr("Take back"), "link", self.changes)
        self.revert.setToolTip(self.tr("Back to the saved values of the preset"))
        self.revert.clicked.connect(self.preset_reverted)
        row.addWidget(self.revert)
        self.save = TextButton(self.tr("Save preset"), "link", self.changes)
        self.save.setToolTip(self.tr("New chats with this preset begin with these values"))
        self.save.clicked.connect(lambda: self.preset_saved.emit(self._choice.chosen))
        row.addWidget(self.save)
        column.addWidget(self.changes)

    def _build_naming(self, column: QVBoxLayout) -> None:
        self.naming = QWidget(self)
        row = QHBoxLayout(self.naming)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self._theme.metrics.gap_xs)
        self.name_edit = NameEdit(self.naming)
        self.name_edit.setObjectName("presetName")
        self.name_edit.setMaxLength(MAX_NAME_CHARACTERS)
        self.name_edit.setAccessibleName(self.tr("Name of the preset"))
        self.name_edit.setPlaceholderText(self.tr("Name of the preset"))
        self.name_edit.named.connect(self._on_named)
        self.name_edit.given_up.connect(self._end_naming)
        row.addWidget(self.name_edit, 1)
        for icon, words, slot in (
            ("check", self.tr("Save under this name (Enter)"), self._on_name_button),
            ("close", self.tr("Cancel (Esc)"), self._end_naming),
        ):
            button = IconButton(self._theme, icon, words, self.naming)
            button.clicked.connect(slot)
            row.addWidget(button)
        self.naming.hide()
        column.addWidget(self.naming)

    def show_presets(self, choice: PresetChoice) -> None:
        """Show which one is in use, and whether the chat differs from it."""
        self._choice = choice
        name = self._called(choice.chosen)
        self.button.setText(without_mnemonic(name))
        self.button.setAccessibleName(self.tr("Preset: {name}").format(name=name))
        self.changes.setVisible(choice.edited)

    def begin_naming(self, old: str = "") -> None:
        """Ask for the name of a new preset, or another one for `old`."""
        self._take_name = (
            (lambda new: self.preset_renamed.emit(old, new)) if old else self.preset_saved.emit
        )
        self.name_edit.setText(old)
        self.name_edit.selectAll()
        self.naming.show()
        self.name_edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _called(self, name: str) -> str:
        return name or translate("Presets", "Default")

    def _on_open(self) -> None:
        self.fill_menu()
        self.menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))

    def fill_menu(self) -> None:
        """All presets, and what can be done with the one in use."""
        self.menu.clear()
        chosen = self._choice.chosen
        for name in self._choice.names:
            action = self.menu.addAction(without_mnemonic(self._called(name)))
            if name == chosen:
                action.setIcon(self._theme.icon("check", "accent"))
            action.triggered.connect(lambda _=False, name=name: self.preset_chosen.emit(name))
        self.menu.addSeparator()
        new = self.menu.addAction(self.tr("Save as a new preset…"))
        new.triggered.connect(lambda: self.begin_naming())
        rename = self.menu.addAction(self.tr("Rename…"))
        rename.setEnabled(bool(chosen))
        rename.triggered.connect(lambda: self.begin_naming(chosen))
        delete = self.menu.addAction(self.tr("Delete"))
        delete.setEnabled(bool(chosen))
        delete.triggered.connect(lambda: self.preset_deleted.emit(chosen))

    def _on_name_button(self) -> None:
        self._on_named(self.name_edit.text())

    def _on_named(self, name: str) -> None:
        if name.strip():
            self._end_naming()
            self._take_name(name)

    def _end_naming(self) -> None:
        if self.naming.isAncestorOf(self.window().focusWidget()):
            self.button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.naming.hide()

    def _on_theme(self) -> None:
        self.button.setIcon(self._theme.icon("chevron-down"))
