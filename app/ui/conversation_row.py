"""How a line of the list of chats is drawn, with what was searched for marked, and renamed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QFont,
    QFontMetricsF,
    QPainter,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from app.conversation_search import places_of, utf16_length
from app.ui.composing_guard import ComposingGuard
from app.ui.theme import Theme

ID_ROLE = Qt.ItemDataRole.UserRole
SNIPPET_ROLE = Qt.ItemDataRole.UserRole + 1
TEMPORARY_ROLE = Qt.ItemDataRole.UserRole + 2

Index = QModelIndex | QPersistentModelIndex


class RowPainter(QStyledItemDelegate):
    """Paints groups and chats; edits a title in place.

    Signals:
        renamed(str, str): conversation id, new title.
    """

    renamed = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._guard: ComposingGuard | None = None
        self.words: Sequence[str] = ()
        """What is searched for; marked wherever it stands."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Taller with a line of what was found."""
        metrics = self._theme.metrics
        if index.data(ID_ROLE) is None:
            return QSize(0, metrics.list_group_height)
        grown = self._theme.line_height("thinking") + 2 * metrics.gap_s
        height = max(metrics.list_row_height, grown)
        snippet = metrics.list_snippet_height if index.data(SNIPPET_ROLE) else 0
        return QSize(0, height + snippet)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """A group as a heading; a chat with its title and what was found."""
        metrics, theme = self._theme.metrics, self._theme
        area: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inner = area.adjusted(metrics.gap_m - metrics.ring, 0, -metrics.gap_s, 0)
        if index.data(ID_ROLE) is None:
            painter.setPen(theme.color("quiet"))
            painter.setFont(theme.font("group"))
            inner.setBottom(area.bottom() - metrics.gap_xs)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom
            painter.drawText(inner, flags, str(index.data()))
            painter.restore()
            return
        self._paint_background(painter, option)
        painter.setPen(theme.color("text"))
        painter.setFont(theme.font("thinking"))
        snippet = str(index.data(SNIPPET_ROLE) or "")
        title_area = QRect(inner)
        if snippet:
            title_area.setHeight(inner.height() - metrics.list_snippet_height)
        if index.data(TEMPORARY_ROLE):
            self._paint_temporary(painter, title_area)
        self._draw_line(painter, title_area, str(index.data()))
        if snippet:
            painter.setPen(theme.color("quiet"))
            painter.setFont(theme.font("group"))
            inner.setTop(title_area.bottom() - metrics.gap_xs)
            inner.setHeight(metrics.list_snippet_height)
            self._draw_line(painter, inner, snippet)
        painter.restore()

    def _paint_temporary(self, painter: QPainter, area: QRect) -> None:
        """The sign of a chat that is not stored, at the end of its line, which gets shorter."""
        side = self._theme.metrics.icon - self._theme.metrics.gap_xs
        left = area.right() - side
        top = area.top() + (area.height() - side) // 2
        self._theme.icon("temporary").paint(painter, QRect(left, top, side, side))
        area.setRight(left - self._theme.metrics.gap_xs)

    def _paint_background(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        metrics, theme = self._theme.metrics, self._theme
        state = QStyle.StateFlag
        row: QRect = option.rect.adjusted(0, metrics.border, 0, -metrics.border)
        radius = metrics.radius_control
        painter.setPen(Qt.PenStyle.NoPen)
        if option.state & state.State_Selected:
            painter.setBrush(theme.color("user"))
            painter.drawRoundedRect(row, radius, radius)
        elif option.state & state.State_MouseOver:
            painter.setBrush(theme.color("hover"))
            painter.drawRoundedRect(row, radius, radius)
        if option.state & state.State_HasFocus and option.state & state.State_KeyboardFocusChange:
            pen = painter.pen()
            pen.setStyle(Qt.PenStyle.SolidLine)
            pen.setColor(theme.color("accent"))
            pen.setWidth(metrics.ring)
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            edge = metrics.border
            painter.drawRoundedRect(row.adjusted(edge, edge, -edge, -edge), radius, radius)

    def _draw_line(self, painter: QPainter, area: QRect, text: str) -> None:
        """One line of text, cut where the room ends, with what was searched for marked."""
        shown = self.shown_part(text.replace("\n", " "), painter.font(), area.width())
        places = places_of(self.words, shown)
        if not places:
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(area, flags, shown)
            return
        layout = QTextLayout(shown, painter.font())
        layout.setTextOption(QTextOption(Qt.AlignmentFlag.AlignLeft))
        layout.setFormats([self._mark(shown, *place) for place in places])
        layout.beginLayout()
        drawn = layout.createLine()
        drawn.setLineWidth(area.width() + 1)
        layout.endLayout()
        top = area.top() + (area.height() - drawn.height()) / 2
        layout.draw(painter, QPointF(area.left(), top))

    def shown_part(self, line: str, font: QFont, width: int) -> str:
        """What of the line fits into that width: its beginning, or else what is searched for."""
        metrics = QFontMetricsF(font)
        shown = metrics.elidedText(line, Qt.TextElideMode.ElideRight, width)
        found = places_of(self.words, line)
        if not found or places_of(self.words, shown):
            return shown
        begin, end = found[0]
        while begin and metrics.horizontalAdvance(f"…{line[begin - 1 : end]}…") <= width:
            begin -= 1
        return metrics.elidedText(f"…{line[begin:]}", Qt.TextElideMode.ElideRight, width)

    def _mark(self, text: str, begin: int, end: int) -> QTextLayout.FormatRange:
        marked = QTextLayout.FormatRange()
        # Qt counts UTF-16 units; an emoji is two of them.
        marked.start = utf16_length(text[:begin])
        marked.length = utf16_length(text[begin:end])
        style = QTextCharFormat()
        style.setBackground(self._theme.color("selection"))
        style.setForeground(self._theme.color("text"))
        marked.format = style
        return marked

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """A field for the title."""
        editor = QLineEdit(parent)
        self._guard = ComposingGuard(editor)
        editor.setObjectName("rename")
        editor.setAccessibleName(self.tr("Title of the chat"))
        return editor

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        """Qt's own would end the editing with the Enter that only decides on a word."""
        if self._guard is not None and isValid(self._guard) and self._guard.keeps(event):
            return True
        return super().eventFilter(editor, event)

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """The title as it is, all of it chosen."""
        if isinstance(editor, QLineEdit):
            editor.setText(str(index.data()))
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        """Tell a title that is another one."""
        if isinstance(editor, QLineEdit):
            title = editor.text().strip()
            if title and title != index.data():
                model.setData(index, title)
                self.renamed.emit(str(index.data(ID_ROLE)), title)
