"""A line to search in; Esc empties it before it becomes the window's Stop."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from app.ui.composing_guard import ComposingGuard
from app.ui.controls import is_escape_override


class SearchField(QLineEdit):
    """Named by `name`, which also stands in it while it is empty."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        ComposingGuard(self)
        self.setObjectName("search")
        self.setPlaceholderText(name)
        self.setAccessibleName(name)

    def event(self, event: QEvent) -> bool:
        """Esc is meant for the field while something stands in it."""
        if is_escape_override(event) and self.text():
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Esc empties the field."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        else:
            super().keyPressEvent(event)
