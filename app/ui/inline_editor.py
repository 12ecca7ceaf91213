"""The text field that opens in place of a text which is to be changed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.ui.composing_guard import ComposingGuard
from app.ui.controls import is_escape_override


class InlineEditor(QPlainTextEdit):
    """Ctrl+Enter accepts, Esc gives up; plain Enter breaks the line.

    Signals:
        accepted, rejected: by key.
    """

    accepted = Signal()
    rejected = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._unseen = False
        ComposingGuard(self)

    def event(self, event: QEvent) -> bool:
        """Esc is ours here, before it becomes the window's Stop."""
        if is_escape_override(event):
            event.accept()
            return True
        return super().event(event)

    def showEvent(self, event: QShowEvent) -> None:
        """An editor that opens wants to be seen."""
        super().showEvent(event)
        self._unseen = not event.spontaneous()

    def take_unseen(self) -> bool:
        """Whether it was opened since this was asked last."""
        unseen, self._unseen = self._unseen, False
        return unseen

    def hideEvent(self, event: QHideEvent) -> None:
        """Give the keyboard back; a field that takes Tab for itself would keep it, unseen."""
        super().hideEvent(event)
        if self.hasFocus() and not event.spontaneous():
            self.window().setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Accept, give up, or type."""
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.accepted.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.rejected.emit()
        else:
            super().keyPressEvent(event)
