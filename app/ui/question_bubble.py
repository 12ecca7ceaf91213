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
        self._unfolded = False
        self._frame = QFrame(self)
        self._frame.setObjectName("bubble")
        self._text = RichText(theme, "text", scrolls=False, parent=self._frame)
        self._text.setAccessibleName(self.tr("Question"))
        self._more = TextButton("", "link", self._frame)
        self._more.clicked.connect(self._on_more)
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
        return self._unfolded or not self._editor.isHidden()

    def set_question(self, question: str) -> None:
        """Show that question; a long one is folded."""
        if question != self._question:
            self._question = question
            self.redraw()

    def redraw(self) -> None:
        """Draw again, after fonts or colours changed."""
        shown = self._question
        if self._is_long() and not self._unfolded:
            lines = shown[:FOLDED_CHARS].split("\n")[:FOLDED_LINES]
            shown = "\n".join(lines) + " …"
        self._text.clear_blocks()
        self._text.write((Paragraph((Span(with_visible_controls(shown)),)),), ())
        self._more.setText(
            self.tr("Show less")
            if self._unfolded
            else self.tr("Show all {count} characters").format(count=f"{len(self._question):,}")
        )
        self.height_changed.emit()

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
        self._more.setVisible(not editing and self._is_long())
        self.height_changed.emit()

    def _is_long(self) -> bool:
        many_lines = self._question.count("\n") > FOLDED_LINES
        return len(self._question) > FOLDED_CHARS or many_lines

    def unfold_for(self, words: Sequence[str]) -> None:
        """Show all of a folded question that holds one of these words."""
        if not self._unfolded and self._is_long() and places_of(words, self._question):
            self._on_more()

    def _on_more(self) -> None:
        self._unfolded = not self._unfolded
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
        self._more.setVisible(self._is_long())
        if self._is_long():
            ideal = max(ideal, self._more.sizeHint().width())
        height = self._text.height_for(ideal)
        # A line's extra height lies above its letters; half of it below looks centred.
        line = self._theme.line_height("text")
        lift = (line - QFontMetrics(self._theme.font("text")).height()) // 2
        self._text.setGeometry(pad_x, pad_y - lift, ideal, height)
        if self._is_long():
            self._more.setGeometry(
                pad_x - metrics.gap_xs,
                pad_y + height,
                self._more.sizeHint().width(),
                metrics.pane_header_height,
            )
            height += metrics.pane_header_height
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
