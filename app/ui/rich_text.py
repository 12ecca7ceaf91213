"""Read-only text of the model: grows by blocks, loads nothing, opens nothing by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from PySide6.QtCore import QMimeData, Qt, QUrl, Signal
from PySide6.QtGui import QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QTextBrowser, QWidget

from app.render.blocks import Block, Paragraph
from app.ui.controls import leave_viewport_unpainted, wrap_mode_for
from app.ui.document_writer import INVISIBLE, LINE_SEPARATOR, AwaitedRun, DocumentWriter
from app.ui.formula_object import (
    FORMULA_OBJECT,
    OBJECT_CHARACTER,
    FormulaObject,
    formula_source,
    without_waiting,
)
from app.ui.formula_source import NoImage
from app.ui.link_guard import ask_to_open
from app.ui.theme import Theme

MOST_SETTLED = 8
"""As many pictures take the place of their text at once; the text after them is laid out anew."""


class RichText(QTextBrowser):
    """Blocks in a text document, of which the last few may still change.

    Signals:
        formulas_drawn: pictures took the place of text, so the height may be another.

    Args:
        theme: colours and fonts.
        role: "text" for answers, "thinking" for thoughts.
        scrolls: whether it scrolls itself; otherwise its owner gives it the height it needs.
        parent: the owner.
    """

    formulas_drawn = Signal()

    def __init__(
        self,
        theme: Theme,
        role: Literal["text", "thinking"],
        *,
        scrolls: bool,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._role: Literal["text", "thinking"] = role
        self._scrolls = scrolls
        self._fixed_end = 0
        self._bar_room = 0
        self._writer = DocumentWriter(theme, role)
        self._awaited: list[AwaitedRun] = []
        theme.formulas.arrived.connect(self._on_formulas)
        self.setFrameShape(QFrame.Shape.NoFrame)
        leave_viewport_unpainted(self)
        self.setUndoRedoEnabled(False)
        self.setOpenLinks(False)
        self.anchorClicked.connect(self._on_link)
        off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setHorizontalScrollBarPolicy(off)
        if not scrolls:
            self.setVerticalScrollBarPolicy(off)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextBrowserInteraction
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        document = self.document()
        document.setDocumentMargin(0)
        document.setIndentWidth(theme.metrics.list_indent)
        self._usual_wrap = wrap_mode_for("")
        self.setWordWrapMode(self._usual_wrap)
        layout = document.documentLayout()
        layout.registerHandler(FORMULA_OBJECT, FormulaObject(document))

    def reserve_scroll_bar(self, width: int) -> None:
        """Keep the bar's room free while it is hidden: no line breaks anew when it comes."""
        self._bar_room = width
        self.verticalScrollBar().rangeChanged.connect(self._on_range)
        self._on_range(0, self.verticalScrollBar().maximum())

    def _on_range(self, _minimum: int, maximum: int) -> None:
        self.setViewportMargins(0, 0, 0 if maximum > 0 else self._bar_room, 0)

    def write(self, closed: Sequence[Block], tail: Sequence[Block]) -> None:
        """Append closed blocks for good, and the tail until the next call."""
        own = self.textCursor()
        place = (own.anchor(), own.position())
        self._break_endless_words((*closed, *tail))
        writer = self._writer
        writer.awaited = [run for run in self._awaited if run.begin < self._fixed_end]
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.setPosition(self._fixed_end)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if self._fixed_end == 0 and (block_list := cursor.block().textList()):
            block_list.remove(cursor.block())
        for block in closed:
            writer.write(cursor, block)
        self._fixed_end = cursor.position()
        for block in tail:
            writer.write(cursor, block)
        cursor.endEditBlock()
        self._put_cursor_back(*place)
        self._awaited = writer.awaited

    def _on_formulas(self) -> None:
        """Put the pictures that are there now in the place of their text."""
        if not self._awaited:
            return
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        still: list[AwaitedRun] = []
        shift = settled = 0
        for run in self._awaited:
            run = replace(run, begin=run.begin + shift) if shift else run
            if settled == MOST_SETTLED:
                still.append(run)
                continue
            found = self._theme.formulas.ask(run.tex, run.size_px, run.display)
            if found is NoImage.COMING:
                still.append(run)
                continue
            settled += 1
            cursor.setPosition(run.begin)
            cursor.setPosition(run.begin + run.length, QTextCursor.MoveMode.KeepAnchor)
            text_format = without_waiting(cursor.charFormat())
            self._writer.insert_drawn(cursor, found, run.tex, text_format, display=run.display)
            grown = cursor.position() - run.begin - run.length
            if run.begin < self._fixed_end:
                self._fixed_end += grown
            shift += grown
        cursor.endEditBlock()
        self._awaited = still
        if settled == MOST_SETTLED:
            self._theme.formulas.tell_again()
        if settled:
            self.formulas_drawn.emit()

    def _put_cursor_back(self, anchor: int, position: int) -> None:
        """Leave the reader's selection as it was; text that is inserted pushes the cursor along."""
        own = self.textCursor()
        end = self.document().characterCount() - 1
        anchor, position = min(anchor, end), min(position, end)
        if (own.anchor(), own.position()) != (anchor, position):
            own.setPosition(anchor)
            own.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(own)

    def _break_endless_words(self, blocks: Sequence[Block]) -> None:
        texts = (
            span.text for block in blocks if isinstance(block, Paragraph) for span in block.spans
        )
        if any(wrap_mode_for(text) != self._usual_wrap for text in texts):
            self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)

    def clear_blocks(self) -> None:
        """Take everything away."""
        self._fixed_end = 0
        self._awaited = []
        self._writer = DocumentWriter(self._theme, self._role)
        self.setWordWrapMode(self._usual_wrap)
        self.document().clear()

    def height_for(self, width: int) -> int:
        """Height of the whole text at that width, in pixels."""
        document = self.document()
        if document.textWidth() != width:
            document.setTextWidth(width)
        return int(document.size().height() + 0.999)

    def loadResource(self, type: int, name: QUrl | str) -> object:
        """Nothing is ever loaded, whatever the text asks for."""
        return None

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copies as plain text, formulas as TeX."""
        cursor = self.textCursor()
        begin = cursor.selectionStart()
        pieces = []
        for offset, char in enumerate(cursor.selectedText()):
            if char == INVISIBLE:
                continue
            if char == OBJECT_CHARACTER:
                probe = QTextCursor(self.document())
                probe.setPosition(begin + offset + 1)
                pieces.append(formula_source(probe.charFormat()))
            else:
                pieces.append("\n" if char in ("\u2029", LINE_SEPARATOR) else char)
        data = QMimeData()
        data.setText("".join(pieces))
        return data

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Leave the wheel to the conversation unless this text scrolls itself."""
        if self._scrolls and self.verticalScrollBar().maximum() > 0:
            super().wheelEvent(event)
        else:
            event.ignore()

    def _on_link(self, url: QUrl) -> None:
        ask_to_open(self, url.toString(QUrl.ComponentFormattingOption.FullyEncoded))
