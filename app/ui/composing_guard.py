"""While an input method composes a word, Enter and Esc are its own, in whatever field it is.

Some input methods pass these keys on after they have used them; a field would then send, save or
leave with half a word.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

_OWN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)


class ComposingGuard(QObject):
    """Watches one text field; owned by it."""

    def __init__(self, field: QWidget) -> None:
        super().__init__(field)
        self._composing = False
        self._field = field
        self._hint = ""
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remember what is composed, and keep the keys that belong to it."""
        if isinstance(event, QInputMethodEvent):
            self._set_composing(bool(event.preeditString()))
        elif event.type() == QEvent.Type.FocusOut:
            self._set_composing(False)
        return self.keeps(event)

    def _set_composing(self, composing: bool) -> None:
        if composing is self._composing:
            return
        self._composing = composing
        if isinstance(self._field, QPlainTextEdit):
            # Qt goes on drawing the hint of an empty field below the word.
            hint, self._hint = self._hint, self._field.placeholderText() if composing else ""
            self._field.setPlaceholderText("" if composing else hint)

    def keeps(self, event: QEvent) -> bool:
        """Whether this key belongs to the word that is being composed."""
        if not (self._composing and isinstance(event, QKeyEvent) and event.key() in _OWN_KEYS):
            return False
        event.accept()
        return True
