"""The line of an answer that is being read: it stays where it is while widths change."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPoint
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.ui.exchange_widget import ExchangeWidget
from app.ui.rich_text import RichText


@dataclass(frozen=True, slots=True)
class _Line:
    """A place in a text, `above` pixels below the height in question."""

    text: RichText
    cursor: QTextCursor
    above: int

    @property
    def is_there(self) -> bool:
        """Whether the text is still shown; it may have been drawn anew meanwhile."""
        return isValid(self.text) and self.text.isVisible()

    def height_in(self, widget: QWidget) -> int:
        """Where it stands now."""
        top = self.text.mapTo(widget, QPoint(0, 0)).y()
        return top + self.text.cursorRect(self.cursor).top() - self.above


class ReadingLine:
    """Remembers the line at the top of the view, and finds it again after all was placed anew.

    While nobody scrolls it is the same line, however often widths change: the first one of a view
    would be an earlier one each time.
    """

    def __init__(self) -> None:
        self._widget: ExchangeWidget | None = None
        self._line: _Line | None = None
        self._offset = 0
        self._held = False

    def hold(self, widget: ExchangeWidget | None, offset: int) -> None:
        """The view begins `offset` pixels below the top of this widget; None: hold nothing."""
        self._held = widget is not None
        if widget is None:
            return
        same = widget is self._widget and offset == self._offset
        if not same or self._line is None or not self._line.is_there:
            self._line = _line_at(widget, offset)
        self._widget = widget

    def offset(self, otherwise: int) -> int:
        """The offset that shows the line where it was, or `otherwise` where none is held."""
        if not self._held or self._widget is None or self._line is None:
            return otherwise
        self._offset = self._line.height_in(self._widget)
        return self._offset


def _line_at(widget: ExchangeWidget, height: int) -> _Line | None:
    """The first line of the answer below that height; None where no text of it stands there."""
    body = widget.answer.body
    if body.mapTo(widget, QPoint(0, 0)).y() >= height:
        return None
    for text in body.findChildren(RichText):
        top = text.mapTo(widget, QPoint(0, 0)).y()
        if text.isVisible() and top + text.height() > height:
            cursor = text.cursorForPosition(QPoint(0, max(0, height - top)))
            return _Line(text, cursor, top + text.cursorRect(cursor).top() - height)
    return None
