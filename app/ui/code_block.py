"""A code block: language and Copy above, the code below in colours, scrolling sideways."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import (
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextLayout,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QLabel, QTextEdit, QWidget

from app.ui.controls import TextButton, copy_to_clipboard, label, leave_viewport_unpainted
from app.ui.theme import Theme

PARAGRAPH_SEPARATOR = "\u2029"
"""What Qt puts between two lines of a selection."""


class _CodeView(QTextEdit):
    """Read-only code that leaves the vertical wheel to the conversation."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        sideways = abs(event.angleDelta().x()) > abs(event.angleDelta().y())
        if sideways or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Copies as plain text, its lines ended by LF."""
        data = QMimeData()
        data.setText(self.textCursor().selectedText().replace(PARAGRAPH_SEPARATOR, "\n"))
        return data


class CodeBlock(QFrame):
    """Shows code that may still grow; colours come when the block is closed.

    `steps_in`: in how many lists it stands.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("codeBlock")
        self._theme = theme
        self.steps_in = 0
        self._source = ""
        self._language = ""
        self._colored = False
        self._waits = False
        self._label: QLabel = label("", "quiet", self)
        self._copy = TextButton(self.tr("Copy"), "link", self)
        self._copy.setAccessibleName(self.tr("Copy code"))
        self._copy.setToolTip(self.tr("Copy this code"))
        self._copy.clicked.connect(self._on_copy)
        self._view = _CodeView(self)
        self._view.setFrameShape(QFrame.Shape.NoFrame)
        leave_viewport_unpainted(self._view)
        self._view.setLineWrapMode(QTextEdit.LineWrapMode.NoWrap)
        self._view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._view.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._view.document().setDocumentMargin(0)
        self._view.document().setUndoRedoEnabled(False)
        self._view.setAccessibleName(self.tr("Code"))

    @property
    def source(self) -> str:
        """The code as shown."""
        return self._source

    @property
    def view(self) -> QTextEdit:
        """The text area."""
        return self._view

    @property
    def copy_button(self) -> TextButton:
        """Puts the code on the clipboard."""
        return self._copy

    def show_code(self, source: str, language: str, closed: bool) -> None:
        """Replace or extend the code; colours it once it is closed."""
        if language != self._language or not self._label.text():
            self._language = language
            self._label.setText(language or self.tr("code"))
        if source != self._source or not self._source:
            grows = bool(self._source) and source.startswith(self._source)
            self._write(source[len(self._source) :] if grows else source, replaces=not grows)
            self._source = source
            self._colored = False
        if closed and not self._colored:
            self._color()

    def _write(self, text: str, *, replaces: bool) -> None:
        cursor = QTextCursor(self._view.document())
        block_format = QTextBlockFormat()
        block_format.setLineHeight(
            self._theme.line_height("code"), QTextBlockFormat.LineHeightTypes.MinimumHeight.value
        )
        text_format = QTextCharFormat()
        text_format.setFont(self._theme.font("code"))
        text_format.setForeground(self._theme.color("text"))
        cursor.beginEditBlock()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if replaces:
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.removeSelectedText()
            cursor.setBlockFormat(block_format)
            cursor.setBlockCharFormat(text_format)
        cursor.insertText(text, text_format)
        cursor.endEditBlock()
        if replaces:
            # The view's own cursor went along to the end, and would be scrolled to.
            own = self._view.textCursor()
            own.movePosition(QTextCursor.MoveOperation.Start)
            self._view.setTextCursor(own)

    def _color(self) -> None:
        """Colour what is shown as soon as its colours are known."""
        lines = self._theme.code_colors.ask(self._source, self._language)
        if lines is None:
            if not self._waits:
                self._waits = True
                self._theme.code_colors.arrived.connect(self._on_colors)
            return
        self._colored = True
        document = self._view.document()
        formats: dict[str, QTextCharFormat] = {}
        block = document.begin()
        for runs in lines:
            ranges = []
            for run in runs:
                if run.kind not in formats:
                    formats[run.kind] = QTextCharFormat()
                    formats[run.kind].setForeground(self._theme.color(run.kind))
                span = QTextLayout.FormatRange()
                span.start, span.length, span.format = run.start, run.length, formats[run.kind]
                ranges.append(span)
            block.layout().setFormats(ranges)
            block = block.next()
        document.markContentsDirty(0, document.characterCount())

    def _on_colors(self, source: str, language: str) -> None:
        if (source, language) == (self._source, self._language.lower()):
            self._theme.code_colors.arrived.disconnect(self._on_colors)
            self._waits = False
            self._color()

    def arrange(self, width: int) -> int:
        """Place the parts at that width; returns the height needed."""
        metrics = self._theme.metrics
        header = self._theme.height_for_words(metrics.pane_header_height)
        inner = width - 2 * metrics.gap_m
        copy_width = self._copy.sizeHint().width()
        self._label.setGeometry(metrics.gap_m, metrics.gap_xs, inner - copy_width, header)
        self._copy.setGeometry(
            width - copy_width - metrics.gap_s, metrics.gap_xs, copy_width, header
        )
        document = self._view.document()
        bar = metrics.scroll_width if document.idealWidth() > inner else 0
        height = int(document.size().height() + 0.999) + bar
        top = metrics.gap_xs + header
        self._view.setGeometry(metrics.gap_m, top, inner, height)
        return top + height + metrics.gap_m - min(bar, metrics.gap_s)

    def _on_copy(self) -> None:
        copy_to_clipboard(self._source)
        self._copy.confirm(self.tr("Copied"))
