"""The margin note: the model's thinking, with a header that counts."""

from __future__ import annotations

from PySide6.QtCore import QElapsedTimer, QRect, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.render.stream import MarkdownStream
from app.ui import wording
from app.ui.answer_body import CHARS_AT_ONCE, FLUSH_MS
from app.ui.controls import ElidedLabel, IconButton, TextButton, label
from app.ui.pane_share import PaneShare
from app.ui.theme import Theme
from app.ui.thinking_text import ThinkingText


class ThinkingPane(QWidget):
    """Header and text of the thinking; the text scrolls inside and never asks for more room.

    Signals:
        answer_now_requested: the reader has seen enough thinking.
        edit_requested: the reader wants to change it.
        height_changed: `is_full_height` changed, or `full_height` did while it holds.
    """

    answer_now_requested = Signal()
    edit_requested = Signal()
    height_changed = Signal()

    def __init__(self, theme: Theme, share: PaneShare, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._share = share
        self._stream = MarkdownStream()
        self._finished = False
        self._read_share: float | None = None
        self._visible = QRect()
        self._title = label(self.tr("Thinking"), "strong", self)
        self._counter = ElidedLabel("quiet", self)
        self._answer_now = TextButton(self.tr("Answer now"), "accent", self)
        self._answer_now.setToolTip(
            self.tr("End the thinking and go on with the answer (Ctrl+Shift+A)")
        )
        self._answer_now.clicked.connect(self.answer_now_requested)
        self._answer_now.hide()
        self._edit = TextButton(self.tr("Edit"), "link", self)
        self._edit.setAccessibleName(self.tr("Edit the thinking"))
        self._edit.setToolTip(self.tr("Change the thinking, and let the model go on from there"))
        self._edit.clicked.connect(self.edit_requested)
        self._edit.hide()
        self._hide = TextButton(self.tr("Hide"), "link", self)
        self._hide.clicked.connect(share.toggle_thinking)
        self._text = ThinkingText(theme, self)
        self._text.verticalScrollBar().rangeChanged.connect(self._on_range)
        self._text.formulas_drawn.connect(self._on_height)
        self._full = False
        self._height_button = IconButton(theme, "expand", self.tr("Open full height"), self)
        self._height_button.clicked.connect(self.toggle_full_height)
        self._height_button.hide()
        self._empty = label(self.tr("Did not think"), "quiet", self)
        self._empty.hide()
        # A larger font needs more room in the header, in a part of the same size.
        theme.changed.connect(self._place)

    @property
    def text(self) -> str:
        """The thinking as it came."""
        return self._stream.text

    @property
    def view(self) -> ThinkingText:
        """The text area."""
        return self._text

    @property
    def header_text(self) -> str:
        """What the header says, such as "Thought for 12 s, 310 tokens"."""
        return f"{self._title.text()} {self._counter.full_text()}".strip()

    @property
    def answer_now_button(self) -> TextButton:
        """The link that ends the thinking."""
        return self._answer_now

    @property
    def edit_button(self) -> TextButton:
        """The link that lets the thinking be changed; there once it has ended."""
        return self._edit

    def set_busy(self, busy: bool) -> None:
        """While a reply runs nothing can be changed."""
        self._edit.setEnabled(not busy)

    @property
    def hide_button(self) -> TextButton:
        """The link that hides or shows the thinking."""
        return self._hide

    @property
    def following(self) -> bool:
        """Whether the end stays in view as text comes."""
        return self._text.following

    @property
    def is_behind(self) -> bool:
        """Whether another `flush` has more to show, without new text."""
        return self._stream.is_behind

    @property
    def is_full_height(self) -> bool:
        """Whether the reader asked to see all of the thinking at once."""
        return self._full

    @property
    def height_button(self) -> IconButton:
        """Opens the thinking to its full height and back; there where it scrolls."""
        return self._height_button

    def toggle_full_height(self) -> None:
        """Show all of the thinking at once, or in its own scrolling area again."""
        self._full = not self._full
        if self._full:
            self._height_button.show_as("collapse", self.tr("Usual height"))
        else:
            self._height_button.show_as("expand", self.tr("Open full height"))
        self.height_changed.emit()

    def full_height(self, width: int) -> int:
        """Height of the pane that shows all of its text at that width, in pixels."""
        metrics = self._theme.metrics
        room = max(1, width - metrics.gap_l - metrics.gap_xs - metrics.scroll_width)
        header = self._theme.height_for_words(metrics.pane_header_height)
        above = metrics.gap_m + header + metrics.gap_s
        return above + self._text.height_for(room) + metrics.gap_m

    def append(self, text: str) -> None:
        """Take streamed text; shown at the next `flush`."""
        self._stream.append(text)

    def set_text(self, text: str, *, finished: bool) -> None:
        """Replace the text; a continuation of what is shown is appended."""
        old = self._stream.text
        if text.startswith(old) and not self._finished:
            self._text.following = self._text.following and not (finished and not old)
            self._stream.append(text[len(old) :])
        elif text != old or finished != self._finished:
            self._start_over()
            self._stream.append(text)
            # A thought that is over is read from its beginning; only a live one from its end.
            self._text.following = not finished
        if finished and not self._finished:
            self._finished = True
            self._stream.finish()
        self._text.set_live(not self._finished)
        self.flush()
        self._empty.setVisible(finished and not text.strip())

    def flush(self) -> None:
        """Show what came in; follows the end unless the reader scrolled up."""
        began = QElapsedTimer()
        began.start()
        while True:
            closed, tail = self._stream.take(CHARS_AT_ONCE)
            if closed or tail:
                self._text.write(closed, tail)
            if not self._stream.is_behind or began.elapsed() >= FLUSH_MS:
                break
        if self._read_share is not None and not self._stream.is_behind:
            self._text.scroll_to_share(self._read_share)
            self._read_share = None
        self._on_height()

    def redraw(self) -> None:
        """Draw everything again, after fonts or colours changed; the reader's place stays."""
        text, finished, following = self._stream.text, self._finished, self._text.following
        bar = self._text.verticalScrollBar()
        share = bar.value() / max(1, bar.maximum())
        self._start_over()
        self._read_share = None if following else share
        self.set_text(text, finished=finished)
        if following:
            self._text.jump_to_latest()
        self.update()

    def show_live(self, seconds: float, token_count: int) -> None:
        """Count while the model thinks."""
        self._title.setText(self.tr("Thinking"))
        elapsed = wording.live_seconds(seconds)
        self._counter.set_full_text(
            f"{elapsed} · {wording.tokens(token_count)}",
            f"{elapsed} · {wording.count(token_count)}",
        )
        self._answer_now.show()
        self._empty.hide()
        self._place()

    def show_total(self, seconds: float, token_count: int) -> None:
        """Say how long it thought."""
        self._answer_now.hide()
        if not self._stream.text.strip():  # its tags and newlines are tokens, too
            self._title.setText(self.tr("Thinking"))
            self._counter.set_full_text("")
        else:
            self._title.setText(self.tr("Thought"))
            self._counter.set_full_text(
                self.tr("for {time}, {tokens}").format(
                    time=wording.total_seconds(seconds), tokens=wording.tokens(token_count)
                ),
                self.tr("for {time}").format(time=wording.total_seconds(seconds)),
            )
        self._place()

    def show_waiting(self) -> None:
        """Before the first token."""
        self._title.setText(self.tr("Thinking"))
        self._counter.set_full_text(self.tr("has not begun"))
        self._answer_now.hide()
        self._place()

    def set_visible_part(self, part: QRect) -> None:
        """Keep header and text inside that part of the pane: it is what the reader sees."""
        if part != self._visible:
            self._visible = part
            self._place()

    def _place(self) -> None:
        metrics = self._theme.metrics
        part = self._visible
        left, top = metrics.gap_l, part.top() + metrics.gap_m
        width = max(0, part.width() - metrics.gap_l)
        header = self._theme.height_for_words(metrics.pane_header_height)
        shown = self._share.thinking_shown
        self._hide.setText(self.tr("Hide") if shown else self.tr("Show"))
        self._hide.setToolTip(self.tr("Hide or show the thinking (Ctrl+T)"))
        right = part.width() - metrics.gap_m
        ended = self._finished and self._answer_now.isHidden() and bool(self._stream.text.strip())
        self._edit.setVisible(ended and shown)
        self._height_button.setVisible(self._offers_height())
        if not self._height_button.isHidden():
            side = self._height_button.width()
            right -= side
            self._height_button.move(right, top + (header - side) // 2)
        for button in (self._hide, self._edit, self._answer_now):
            if not button.isHidden():
                button_width = button.sizeHint().width()
                right -= button_width
                button.setGeometry(right, top, button_width, header)
        title_width = min(self._title.sizeHint().width(), max(0, right - left))
        self._title.setGeometry(left, top, title_width, header)
        counter_left = left + title_width + metrics.gap_s
        self._counter.setGeometry(counter_left, top, max(0, right - counter_left), header)
        text_top = top + header + metrics.gap_s
        height = max(0, part.bottom() - text_top - metrics.gap_s)
        self._text.setVisible(shown and height > 0)
        self._text.setGeometry(left, text_top, max(0, width - metrics.gap_xs), height)
        self._empty.setGeometry(left, text_top, width, header)
        self._text.keep_end()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The warmer tint, with the card's round corners on the left (or on top when folded)."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        radius = self._theme.metrics.radius_card - self._theme.metrics.border
        area = self.rect()
        path = QPainterPath()
        path.setFillRule(Qt.FillRule.WindingFill)
        path.addRoundedRect(area, radius, radius)
        if self._share.folded:
            path.addRect(area.adjusted(0, radius, 0, 0))
        else:
            path.addRect(area.adjusted(radius, 0, 0, 0))
        painter.fillPath(path, self._theme.color("thinking"))
        painter.end()

    def _offers_height(self) -> bool:
        scrolls = self._text.verticalScrollBar().maximum() > 0
        return self._share.thinking_shown and (self._full or scrolls)

    def _on_range(self) -> None:
        if self._offers_height() is self._height_button.isHidden():
            self._place()

    def _on_height(self) -> None:
        if self._full:
            self.height_changed.emit()

    def _start_over(self) -> None:
        self._read_share = None
        self._stream = MarkdownStream()
        self._finished = False
        self._text.clear_blocks()
        self._text.following = True
