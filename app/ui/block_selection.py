"""One selection over the segments of an answer: dragged from prose through code to prose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakMethod

from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QMouseEvent, QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from app.ui.controls import copy_to_clipboard

_WATCHED = frozenset(
    {
        QEvent.Type.KeyPress,
        QEvent.Type.MouseButtonPress,
        QEvent.Type.MouseMove,
        QEvent.Type.MouseButtonRelease,
    }
)
_START, _END = QTextCursor.MoveOperation.Start, QTextCursor.MoveOperation.End
_KEEP = QTextCursor.MoveMode.KeepAnchor


class BlockSelection(QObject):
    """Each text selects within itself, as ever; this adds what lies beyond its edges.

    Args:
        texts: gives the texts from top to bottom; a method of the parent.
        parent: the widget that they stand in.
    """

    def __init__(self, texts: Callable[[], Sequence[QTextEdit]], parent: QWidget) -> None:
        super().__init__(parent)
        # The parent holds this object; a strong way back would keep a whole answer in memory after
        # its widgets are gone, until the garbage collector comes by.
        self._texts_of_parent = WeakMethod(texts)
        self._from: QTextEdit | None = None
        self._anchor = 0

    def add(self, text: QTextEdit) -> None:
        """Watch a text; it is forgotten when it is destroyed."""
        text.installEventFilter(self)
        text.viewport().installEventFilter(self)

    def _texts(self) -> Sequence[QTextEdit]:
        texts = self._texts_of_parent()
        return texts() if texts is not None else ()

    def selected_text(self) -> str:
        """All that is selected, from top to bottom, a line break between two texts."""
        chosen = [text for text in self._texts() if text.textCursor().hasSelection()]
        return "\n".join(text.createMimeDataFromSelection().text() for text in chosen)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Follow the mouse out of the text where it was pressed, and copy from all of them."""
        if event.type() not in _WATCHED:
            return False
        if isinstance(event, QKeyEvent):
            return self._on_key(event)
        text = next((each for each in self._texts() if each.viewport() is watched), None)
        if text is None or not isinstance(event, QMouseEvent):
            return False
        left = Qt.MouseButton.LeftButton
        if event.type() == QEvent.Type.MouseButtonPress and event.button() == left:
            self._clear(keep=text)
            extends = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            place = text.cursorForPosition(event.position().toPoint()).position()
            self._from = text
            self._anchor = text.textCursor().anchor() if extends else place
        elif event.type() == QEvent.Type.MouseMove and event.buttons() & left and self._from:
            return self._drag(event.globalPosition().toPoint())
        elif event.type() == QEvent.Type.MouseButtonRelease:
            self._from = None
        return False

    def _on_key(self, event: QKeyEvent) -> bool:
        if not event.matches(QKeySequence.StandardKey.Copy):
            return False
        chosen = [text for text in self._texts() if text.textCursor().hasSelection()]
        if len(chosen) > 1:
            copy_to_clipboard(self.selected_text())
        return len(chosen) > 1

    def _drag(self, place: QPoint) -> bool:
        texts = self._texts()
        begin = next((i for i, text in enumerate(texts) if text is self._from), None)
        if begin is None:
            self._from = None
            return False
        end = self._at(texts, place)
        if begin == end:
            self._clear(keep=texts[begin])
            return False
        down = end > begin
        for index, text in enumerate(texts):
            cursor = text.textCursor()
            if index == begin:
                cursor.setPosition(self._anchor)
                cursor.movePosition(_END if down else _START, _KEEP)
            elif index == end:
                reached = text.cursorForPosition(text.viewport().mapFromGlobal(place)).position()
                cursor.movePosition(_START if down else _END)
                cursor.setPosition(reached, _KEEP)
            elif min(begin, end) < index < max(begin, end):
                cursor.select(QTextCursor.SelectionType.Document)
            else:
                cursor.clearSelection()
            text.setTextCursor(cursor)
        return True

    def _at(self, texts: Sequence[QTextEdit], place: QPoint) -> int:
        """The text at that height, or the last one above it."""
        found = 0
        for index, text in enumerate(texts):
            if text.mapToGlobal(QPoint(0, 0)).y() <= place.y():
                found = index
        return found

    def _clear(self, keep: QTextEdit) -> None:
        for text in self._texts():
            cursor = text.textCursor()
            if text is not keep and cursor.hasSelection():
                cursor.clearSelection()
                text.setTextCursor(cursor)
