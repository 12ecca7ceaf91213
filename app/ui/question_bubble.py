"""The question: a bubble on the right, which turns into an editor."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.conversation_search import places_of
from app.render.blocks import Paragraph, Span
from app.render.visible import with_visible_controls
from app.ui.controls import TextButton, wrap_mode_for
from app.ui.inline_editor import InlineEditor
from app.ui.rich_text import RichText
from app.ui.theme import Theme
from app.ui.version_steps import VersionSteps

FOLDED_CHARS = 1_500
FOLDED_LINES = 16

STEP_CHARS = 20_000
STEP_LINES = 1_000
"""As much more is shown at a press: it takes a tenth of a second or so to lay out."""


class QuestionBubble(QWidget):
    """Takes the full width of the exchange; the bubble inside is as wide as its text.

    Signals:
        edited(str): the changed question, to be asked again.
        version_requested(int): an earlier or later wording, with what followed it.
        height_changed: call `arrange` again.
    """

    edited = Signal(str)
    version_requested = Signal(int)
    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._question = ""
        self._shown_chars = 0  # 0: folded
        self._frame = QFrame(self)
        self._frame.setObjectName("bubble")
        self._text = RichText(theme, "text", scrolls=False, parent=self._frame)
        self._text.setAccessibleName(self.tr("Question"))
        # Never without a name, though it is hidden until a question is too long.
        more = self.tr("Show all {count} characters").format(count="0")
        self._more = TextButton(more, "link", self._frame)
        self._more.clicked.connect(self._on_more)
        self._less = TextButton(self.tr("Show less"), "link", self._frame)
        self._less.clicked.connect(self._on_less)
        self._editor = InlineEditor(self._frame)
        self._editor.setObjectName("field")
        self._editor.setAccessibleName(self.tr("Edit the question"))
        self._editor.accepted.connect(self._on_accept)
        self._editor.rejected.connect(self._end_edit)
        self._ask = TextButton(self.tr("Ask again"), "primary", self._frame)
        self._ask.setToolTip(self.tr("Ask the changed question (Ctrl+Enter)"))
        self._ask.clicked.connect(self._on_accept)
        self._cancel = TextButton(self.tr("Cancel"), "plain", self._frame)
        self._cancel.clicked.connect(self._end_edit)
        self.versions = VersionSteps(
            theme, self.tr("Earlier question"), self.tr("Later question"), self
        )
        self.versions.chosen.connect(self.version_requested)
        self._end_edit()

    def set_busy(self, busy: bool) -> None:
        """While a reply runs nothing is asked anew; what is being typed stays."""
        self._ask.setEnabled(not busy)
        self.versions.set_busy(busy)

    @property
    def editor(self) -> QPlainTextEdit:
        """The editor, shown while editing."""
        return self._editor

    @property
    def is_opened(self) -> bool:
        """Whether the reader unfolded or edits it."""
        return self._shown_chars > 0 or not self._editor.isHidden()

    def set_question(self, question: str) -> None:
        """Show that question; a long one is folded."""
        if question != self._question:
            self._question = question
            self._shown_chars = 0
            self.redraw()

    def redraw(self) -> None:
        """Draw again, after fonts or colours changed."""
        shown = self._piece(0, self._shown_chars) if self._shown_chars else self._question
        if self._is_long() and not self._shown_chars:
            lines = shown[:FOLDED_CHARS].split("\n")[:FOLDED_LINES]
            shown = "\n".join(lines) + " …"
        self._text.clear_blocks()
        self._write(shown)

    def _write(self, text: str) -> None:
        """Append a paragraph."""
        self._text.write((Paragraph((Span(with_visible_controls(text)),)),), ())
        count = f"{len(self._question):,}"
        in_one_step = _step(self._question, 0) == len(self._question)
        words = (
            self.tr("Show all {count} characters")
            if in_one_step
            else self.tr("Show more of {count} characters")
        )
        self._more.setText(words.format(count=count))
        self._show_links()
        self.height_changed.emit()

    def _show_links(self) -> None:
        reading = self._is_long() and self._editor.isHidden()
        self._more.setVisible(reading and self._shown_chars < len(self._question))
        self._less.setVisible(reading and self._shown_chars > 0)

    @property
    def is_editing(self) -> bool:
        """Whether the editor is open."""
        return not self._editor.isHidden()

    def begin_edit(self, begun: str | None = None) -> None:
        """Turn into an editor with the question in it; one that was `begun` before goes on, and
        does not take the keyboard.
        """
        text = self._question if begun is None else begun
        self._editor.setWordWrapMode(wrap_mode_for(text))
        self._editor.setPlainText(text)
        self._show_editor(True)
        if begun is None:
            self._editor.setFocus()
            self._editor.selectAll()

    def _end_edit(self) -> None:
        self._show_editor(False)

    def _show_editor(self, editing: bool) -> None:
        for widget in (self._editor, self._ask, self._cancel):
            widget.setVisible(editing)
        self._text.setVisible(not editing)
        self._show_links()
        self.height_changed.emit()

    def _is_long(self) -> bool:
        many_lines = self._question.count("\n") > FOLDED_LINES
        return len(self._question) > FOLDED_CHARS or many_lines

    def unfold_for(self, words: Sequence[str]) -> None:
        """Show as much of a folded question as leads to the first of these words."""
        places = places_of(words, self._question) if self._is_long() else []
        while places and self._shown_chars < places[0][1]:
            self._on_more()

    def _on_more(self) -> None:
        """Show the next piece; what stands there already is not laid out again."""
        begin, self._shown_chars = self._shown_chars, _step(self._question, self._shown_chars)
        if begin:
            self._write(self._piece(begin, self._shown_chars))
        else:
            self.redraw()

    def _piece(self, begin: int, end: int) -> str:
        """A part of the question; its last line end is the one between two paragraphs."""
        piece = self._question[begin:end]
        return piece if end == len(self._question) else piece.removesuffix("\n")

    def _on_less(self) -> None:
        self._shown_chars = 0
        self.redraw()

    def _on_accept(self) -> None:
        question = self._editor.toPlainText().strip()
        if question and self._ask.isEnabled():
            self._end_edit()
            self.edited.emit(question)

    def arrange(self, width: int) -> int:
        """Place the bubble at that width; returns the height needed."""
        metrics = self._theme.metrics
        pad_x, pad_y = metrics.bubble_padding_x, metrics.bubble_padding_y
        most = max(metrics.bubble_min_width, width * metrics.bubble_max_percent // 100)
        if not self._editor.isHidden():
            return self._arrange_editor(width, most)
        inner = most - 2 * pad_x
        self._text.height_for(inner)
        ideal = min(inner, int(self._text.document().idealWidth()) + 1)
        links = [link for link in (self._more, self._less) if not link.isHidden()]
        links_width = sum(link.sizeHint().width() for link in links)
        if links:
            ideal = min(inner, max(ideal, links_width))
        height = self._text.height_for(ideal)
        # A line's extra height lies above its letters; half of it below looks centred.
        line = self._theme.line_height("text")
        lift = (line - QFontMetrics(self._theme.font("text")).height()) // 2
        self._text.setGeometry(pad_x, pad_y - lift, ideal, height)
        if links:
            left = pad_x - metrics.gap_xs
            link_height = self._theme.height_for_words(metrics.pane_header_height)
            for link in links:
                link_width = link.sizeHint().width()
                if left > pad_x and left + link_width > pad_x + ideal:
                    left, height = pad_x - metrics.gap_xs, height + link_height
                link.setGeometry(left, pad_y + height, link_width, link_height)
                left += link_width
            height += link_height
        total = height + 2 * pad_y
        self._frame.setGeometry(width - ideal - 2 * pad_x, 0, ideal + 2 * pad_x, total)
        if self.versions.isHidden():
            return total
        size = self.versions.sizeHint()
        self.versions.setGeometry(width - size.width(), total, size.width(), size.height())
        return total + size.height()

    def _arrange_editor(self, width: int, most: int) -> int:
        metrics = self._theme.metrics
        pad = metrics.bubble_padding_y
        height = metrics.prompt_box_height
        self._editor.setGeometry(pad, pad, most - 2 * pad, height)
        right = most - pad
        top = pad + height + metrics.gap_s
        bottom = top
        for button in (self._ask, self._cancel):
            size = button.sizeHint()
            right -= size.width()
            button.setGeometry(right, top, size.width(), size.height())
            right -= metrics.gap_s
            bottom = max(bottom, top + size.height())
        self._frame.setGeometry(width - most, 0, most, bottom + pad)
        return bottom + pad


def _step(question: str, begin: int) -> int:
    """Where the piece that begins there ends: after a line, where there is one."""
    end = begin + STEP_CHARS
    lines = question[begin:end].splitlines(keepends=True)
    if len(lines) > STEP_LINES:
        return begin + sum(map(len, lines[:STEP_LINES]))
    if end >= len(question):
        return len(question)
    at = question.rfind("\n", begin + STEP_CHARS // 2, end)
    return end if at < 0 else at + 1
