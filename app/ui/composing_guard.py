"""While an input method composes a word, Enter and Esc are its own, in whatever field it is.

Some input methods pass these keys on after they have used them; a field would then send, save or
leave with half a word.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QInputMethodEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

_OWN_KEYS = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)


class ComposingGuard(QObject):
    """Watches one text field; owned by it."""

    def __init__(self, field: QWidget) -> None:
        super().__init__(field)
        self._composing = False
        field.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Remember what is composed, and keep the keys that belong to it."""
        if isinstance(event, QInputMethodEvent):
            self._composing = bool(event.preeditString())
        elif event.type() == QEvent.Type.FocusOut:
            self._composing = False
        return self.keeps(event)

    def keeps(self, event: QEvent) -> bool:
        """Whether this key belongs to the word that is being composed."""
        if not (self._composing and isinstance(event, QKeyEvent) and event.key() in _OWN_KEYS):
            return False
        event.accept()
        return True
