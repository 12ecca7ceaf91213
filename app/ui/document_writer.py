"""Writes the blocks of a text into a QTextDocument, in the theme's fonts and colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, assert_never

from PySide6.QtCore import Qt
from PySide6.QtGui import (
    QBrush,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextListFormat,
    QTextTable,
    QTextTableFormat,
)

from app.render.blocks import (
    Block,
    Code,
    Formula,
    Heading,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Table,
)
from app.render.formulas import FormulaImage, formula_as_text
from app.render.links import openable_url
from app.ui.controls import plain_tooltip
from app.ui.formula_object import OBJECT_CHARACTER, formula_format, waiting_format
from app.ui.formula_source import NoImage
from app.ui.theme import Theme

LINE_SEPARATOR = "\u2028"
INVISIBLE = "\u200b"
"""Stands in the block of a rule."""

_ALIGNMENTS = {
    "center": Qt.AlignmentFlag.AlignHCenter,
    "right": Qt.AlignmentFlag.AlignRight,
}


@dataclass(frozen=True, slots=True)
class AwaitedRun:
    """Text at `begin` that gives way to a formula once that is drawn."""

    begin: int
    length: int
    tex: str
    size_px: int
    display: bool


class DocumentWriter:
    """Appends blocks at a cursor; `role` is "text" (answers) or "thinking" (smaller, quieter)."""

    def __init__(self, theme: Theme, role: Literal["text", "thinking"]) -> None:
        self._theme = theme
        self._role = role
        self._color = theme.color("text" if role == "text" else "quiet")
        self._line_height = theme.line_height(role)
        self._formats: dict[str, QTextCharFormat] = {}
        self.awaited: list[AwaitedRun] = []
        """Each text that stands in place of a formula that is still being drawn."""

    def write(self, cursor: QTextCursor, block: Block, *, indent: int = 0) -> None:
        """Append one block after the cursor; an empty last block is used first.

        Args:
            cursor: stands at the end of the document or of a table cell.
            block: what to write.
            indent: left margin in pixels.
        """
        match block:
            case Paragraph():
                self._begin(cursor, self._block_format(indent))
                self._insert_spans(cursor, block.spans)
            case Heading():
                self._write_heading(cursor, block, indent)
            case Code():
                self._write_code(cursor, block, indent)
            case Formula():
                self._write_formula(cursor, block, indent)
            case Listing():
                self._write_listing(cursor, block, indent)
            case Quote():
                self._write_quote(cursor, block, indent)
            case Table():
                self._write_table(cursor, block)
            case Rule():
                self._write_rule(cursor)
            case _ as never:
                assert_never(never)

    def _block_format(self, indent: int, *, gap: int | None = None) -> QTextBlockFormat:
        block_format = QTextBlockFormat()
        block_format.setLeftMargin(indent)
        block_format.setBottomMargin(self._theme.metrics.gap_s if gap is None else gap)
        block_format.setLineHeight(
            self._line_height, QTextBlockFormat.LineHeightTypes.MinimumHeight.value
        )
        return block_format

    def _begin(self, cursor: QTextCursor, block_format: QTextBlockFormat) -> None:
        """Start a block, in the current one if nothing stands in it."""
        text_format = self._char_format()
        block = cursor.block()
        # A block that follows a table is empty and a line high; it must not stay as a gap.
        if block.length() <= 1 and block.textList() is None:
            cursor.setBlockFormat(block_format)
            cursor.setBlockCharFormat(text_format)
            cursor.setCharFormat(text_format)
        else:
            cursor.insertBlock(block_format, text_format)

    def _char_format(self, kind: str = "") -> QTextCharFormat:
        """A copy of the format of running text, or of "code" in it."""
        if kind not in self._formats:
            text_format = QTextCharFormat()
            text_format.setFont(self._theme.font("code" if kind == "code" else self._role))
            text_format.setForeground(QBrush(self._color))
            self._formats[kind] = text_format
        return QTextCharFormat(self._formats[kind])

    def _insert_spans(
        self, cursor: QTextCursor, spans: Spans, base: QTextCharFormat | None = None
    ) -> None:
        base = base or self._char_format()
        for span in spans:
            text_format = self._span_format(span, base)
            if span.formula:
                self._insert_formula(cursor, span.text, text_format, display=span.display)
                continue
            cursor.insertText(span.text.replace("\n", LINE_SEPARATOR), text_format)

    def _span_format(self, span: Span, base: QTextCharFormat) -> QTextCharFormat:
        text_format = QTextCharFormat(base)
        if span.bold:
            # Not less: Qt thickens a Chinese face that has no bold only from here on.
            text_format.setFontWeight(QFont.Weight.Bold)
        if span.italic:
            text_format.setFontItalic(True)
        if span.strike:
            text_format.setFontStrikeOut(True)
        if span.code:
            text_format.setFont(self._char_format("code").font())
            text_format.setBackground(QBrush(self._theme.color("code")))
        if span.link:
            self._mark_link(text_format, span.link)
        return text_format

    def _mark_link(self, text_format: QTextCharFormat, link: str) -> None:
        url = openable_url(link)
        if url is None:
            return
        text_format.setAnchor(True)
        text_format.setAnchorHref(url)
        text_format.setToolTip(plain_tooltip(url))
        text_format.setFontUnderline(True)
        text_format.setForeground(QBrush(self._theme.color("accent")))

    def _write_heading(self, cursor: QTextCursor, block: Heading, indent: int) -> None:
        block_format = self._block_format(indent)
        block_format.setTopMargin(self._theme.metrics.gap_s)
        self._begin(cursor, block_format)
        text_format = self._char_format()
        font = self._theme.font(self._role, bold=True)
        if self._role == "text":
            font.setPixelSize(self._theme.heading_px(block.level))
        text_format.setFont(font)
        self._insert_spans(cursor, block.spans, text_format)

    def _write_code(self, cursor: QTextCursor, block: Code, indent: int) -> None:
        block_format = self._block_format(indent)
        block_format.setBackground(QBrush(self._theme.color("code")))
        block_format.setLineHeight(
            self._theme.line_height("code"), QTextBlockFormat.LineHeightTypes.MinimumHeight.value
        )
        self._begin(cursor, block_format)
        text_format = self._char_format("code")
        cursor.insertText(block.source.replace("\n", LINE_SEPARATOR), text_format)

    def _write_formula(self, cursor: QTextCursor, block: Formula, indent: int) -> None:
        block_format = self._block_format(indent)
        block_format.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        block_format.setTopMargin(self._theme.metrics.gap_xs)
        self._begin(cursor, block_format)
        text_format = self._char_format()
        font = self._theme.font(self._role)
        font.setPixelSize(self._theme.heading_px(1))
        text_format.setFont(font)
        self._insert_formula(cursor, block.tex, text_format, display=True)

    def _insert_formula(
        self, cursor: QTextCursor, tex: str, text_format: QTextCharFormat, *, display: bool
    ) -> None:
        """The picture, a readable text while it is being drawn, or its source if it cannot be."""
        size = text_format.font().pixelSize()
        found = self._theme.formulas.ask(tex, size, display)
        if found is not NoImage.COMING:
            self.insert_drawn(cursor, found, tex, text_format, display=display)
            return
        text_format.setFontItalic(True)
        begin = cursor.position()
        text = (formula_as_text(tex) or tex).replace("\n", LINE_SEPARATOR)
        cursor.insertText(text, waiting_format(text_format))
        self.awaited.append(AwaitedRun(begin, cursor.position() - begin, tex, size, display))

    def insert_drawn(
        self,
        cursor: QTextCursor,
        found: FormulaImage | Literal[NoImage.IMPOSSIBLE],
        tex: str,
        text_format: QTextCharFormat,
        *,
        display: bool,
    ) -> None:
        """The picture, or the source as it was written; replaces what the cursor selects."""
        if isinstance(found, FormulaImage):
            drawn = formula_format(text_format, tex, display, found)
            cursor.insertText(OBJECT_CHARACTER, drawn)
            return
        source = QTextCharFormat(text_format)
        source.setFont(self._char_format("code").font())
        mark = "$$" if display else "$"
        cursor.insertText(f"{mark}{tex}{mark}".replace("\n", LINE_SEPARATOR), source)

    def _write_listing(self, cursor: QTextCursor, block: Listing, indent: int) -> None:
        step = self._theme.metrics.list_indent
        style = QTextListFormat.Style
        for number, item in enumerate(block.items):
            if number == 0 and block.continues:
                for inner in item:
                    self.write(cursor, inner, indent=indent + step)
                continue
            first = item[0] if item else Paragraph(())
            block_format = self._block_format(indent, gap=self._theme.metrics.gap_xs)
            if block.checks and (check := block.checks[number]) is not None:
                marker = QTextBlockFormat.MarkerType
                block_format.setMarker(marker.Checked if check else marker.Unchecked)
            self._begin(cursor, block_format)
            list_format = QTextListFormat()
            list_format.setIndent(1)
            if block.start is None:
                list_format.setStyle(style.ListDisc)
            else:
                list_format.setStyle(style.ListDecimal)
                list_format.setStart(block.start + number)
            cursor.createList(list_format)
            rest = item
            if isinstance(first, Paragraph):
                self._insert_spans(cursor, first.spans)
                rest = item[1:]
            for inner in rest:
                cursor.insertBlock(self._block_format(0), self._char_format())
                self.write(cursor, inner, indent=indent + step)
        if block.items:
            last = cursor.blockFormat()
            last.setBottomMargin(self._theme.metrics.gap_s)
            cursor.setBlockFormat(last)

    def _write_table(self, cursor: QTextCursor, block: Table) -> None:
        metrics = self._theme.metrics
        table_format = QTextTableFormat()
        table_format.setBorder(metrics.border)
        table_format.setBorderCollapse(True)
        table_format.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        table_format.setBorderBrush(QBrush(self._theme.color("line")))
        table_format.setCellPadding(metrics.table_padding_y)
        table_format.setCellSpacing(0)
        table_format.setTopMargin(metrics.gap_s)
        table_format.setBottomMargin(metrics.gap_s)
        table_format.setHeaderRowCount(1)
        columns = len(block.header)
        table_format.setColumnWidthConstraints(
            [QTextLength(QTextLength.Type.VariableLength, 0)] * columns
        )
        rows = (block.header, *block.rows)
        table = cursor.insertTable(len(rows), columns, table_format)
        for row, cells in enumerate(rows):
            for column, spans in enumerate(cells[:columns]):
                cell = table.cellAt(row, column)
                inner = cell.firstCursorPosition()
                block_format = self._block_format(0, gap=0)
                block_format.setLeftMargin(metrics.table_padding_y)
                block_format.setRightMargin(metrics.table_padding_y)
                block_format.setAlignment(
                    _ALIGNMENTS.get(block.alignments[column], Qt.AlignmentFlag.AlignLeft)
                )
                inner.setBlockFormat(block_format)
                base = self._char_format()
                if row == 0:
                    base.setFontWeight(QFont.Weight.DemiBold)
                self._insert_spans(inner, spans, base)
        self._leave_table(cursor, table)

    def _write_quote(self, cursor: QTextCursor, block: Quote, indent: int) -> None:
        """A table of two cells, the left one a coloured line: Qt has no such border for blocks."""
        metrics = self._theme.metrics
        table_format = QTextTableFormat()
        table_format.setBorder(0)
        table_format.setCellSpacing(0)
        table_format.setCellPadding(0)
        table_format.setTopMargin(metrics.gap_xs)
        table_format.setBottomMargin(metrics.gap_s)
        table_format.setLeftMargin(indent)
        # All the room, so that a right-to-left quote stands on the right.
        table_format.setColumnWidthConstraints(
            [
                QTextLength(QTextLength.Type.FixedLength, metrics.quote_line),
                QTextLength(QTextLength.Type.PercentageLength, 100),
            ]
        )
        table = cursor.insertTable(1, 2, table_format)
        bar = table.cellAt(0, 0)
        line = QTextCharFormat()
        line.setBackground(QBrush(self._theme.color("line")))
        bar.setFormat(line)
        self._flatten(bar.firstCursorPosition())
        inner = table.cellAt(0, 1).firstCursorPosition()
        for quoted in block.blocks:
            self.write(inner, quoted, indent=metrics.gap_m)
        last = inner.blockFormat()
        last.setBottomMargin(0)
        inner.setBlockFormat(last)
        self._leave_table(cursor, table)

    def _leave_table(self, cursor: QTextCursor, table: QTextTable) -> None:
        """Go behind the table, where Qt keeps a block that must not show as an empty line."""
        cursor.setPosition(table.lastCursorPosition().position() + 1)
        self._flatten(cursor)

    def _write_rule(self, cursor: QTextCursor) -> None:
        """Qt's own ruler: a block whose background is a line gets it in the wrong place."""
        block_format = self._block_format(0)
        block_format.setLineHeight(0, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
        width = QTextLength(QTextLength.Type.PercentageLength, 100)
        block_format.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth, width)
        block_format.setBackground(QBrush(self._theme.color("line")))
        self._begin(cursor, block_format)
        # A character, so that the next block does not take this one for an unused one.
        thin = self._char_format()
        font = QFont(thin.font())
        font.setPixelSize(self._theme.metrics.border)
        thin.setFont(font)
        cursor.insertText(INVISIBLE, thin)

    def _flatten(self, cursor: QTextCursor) -> None:
        """Make the empty block after a table take no room."""
        block_format = QTextBlockFormat()
        block_format.setLineHeight(
            self._theme.metrics.border, QTextBlockFormat.LineHeightTypes.FixedHeight.value
        )
        cursor.setBlockFormat(block_format)
