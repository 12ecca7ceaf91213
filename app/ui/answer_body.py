"""The text of an answer: prose in text documents, each code block in a frame of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QElapsedTimer, Signal
from PySide6.QtWidgets import QTextEdit, QWidget

from app.render.blocks import Block, Code
from app.render.code_apart import with_code_apart
from app.render.stream import MarkdownStream
from app.ui.block_selection import BlockSelection
from app.ui.code_block import CodeBlock
from app.ui.rich_text import RichText
from app.ui.theme import Theme

CHARS_AT_ONCE = 400
"""As much closed text is read and drawn in one go, at least."""

FLUSH_MS = 5
"""After that time the rest of a long text is left to the next flushes."""


@dataclass(slots=True)
class _Prose:
    """Blocks of one text segment."""

    closed: list[Block] = field(default_factory=list)
    tail: list[Block] = field(default_factory=list)
    is_fixed: bool = False


@dataclass(slots=True)
class _Fence:
    """The code block of one segment."""

    block: Code
    depth: int
    is_fixed: bool


class AnswerBody(QWidget):
    """Grows by `append` and `flush`; only what is still open is drawn again.

    Signals:
        height_changed: the text needs another height; the owner calls `arrange`.
    """

    height_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._stream = MarkdownStream()
        self._segments: list[RichText | CodeBlock] = []
        self._fixed = 0
        self._finished = False
        self._tail: tuple[Block, ...] = ()
        self._places: list[tuple[int, int]] = []
        self._width = 0
        self._dirty_from = 0
        self.selection = BlockSelection(self.texts, self)

    def texts(self) -> tuple[QTextEdit, ...]:
        """The text areas, top to bottom."""
        return tuple(v.view if isinstance(v, CodeBlock) else v for v in self._segments)

    @property
    def text(self) -> str:
        """The Markdown as it came."""
        return self._stream.text

    @property
    def segments(self) -> tuple[RichText | CodeBlock, ...]:
        """What is shown, top to bottom."""
        return tuple(self._segments)

    @property
    def is_behind(self) -> bool:
        """Whether another `flush` has more to show, without new text."""
        return self._stream.is_behind

    def set_text(self, text: str, *, finished: bool) -> None:
        """Replace the text; a mere continuation of what is shown is appended."""
        old = self._stream.text
        if text.startswith(old) and not self._finished:
            self._stream.append(text[len(old) :])
        elif text != old or finished != self._finished:
            self._start_over()
            self._stream.append(text)
        if finished and not self._finished:
            self._finished = True
            self._stream.finish()
        self.flush()

    def append(self, text: str) -> None:
        """Take streamed text; shown at the next `flush`."""
        self._stream.append(text)

    def redraw(self) -> None:
        """Draw everything again, after fonts or colours changed."""
        text, finished = self._stream.text, self._finished
        self._start_over()
        self.set_text(text, finished=finished)

    def flush(self) -> None:
        """Show what came in since the last time, or as much of it as can be drawn in short time."""
        began = QElapsedTimer()
        began.start()
        self._flush_some()
        while self._stream.is_behind and began.elapsed() < FLUSH_MS:
            self._flush_some()

    def _flush_some(self) -> None:
        closed, tail = self._stream.take(CHARS_AT_ONCE)
        if not closed and tail == self._tail:
            return
        self._tail = tail
        groups = self._grouped(closed, tail)
        extends = bool(self._fixed) and isinstance(self._segments[self._fixed - 1], RichText)
        base = self._fixed - 1 if extends else self._fixed
        for index, group in enumerate(groups, start=base):
            if isinstance(group, _Prose):
                self._prose_at(index).write(group.closed, group.tail)
            else:
                code = group.block
                view = self._code_at(index)
                view.steps_in = group.depth
                view.show_code(code.source, code.language, code.closed)
        self._drop_from(base + len(groups))
        self._dirty_from = min(self._dirty_from, base)
        self._fixed = base + sum(group.is_fixed for group in groups)
        self.height_changed.emit()

    def _grouped(self, closed: Sequence[Block], tail: Sequence[Block]) -> list[_Prose | _Fence]:
        """The blocks as segments; the first continues the last fixed one if that is prose."""
        groups: list[_Prose | _Fence] = []
        if self._fixed and isinstance(self._segments[self._fixed - 1], RichText):
            groups.append(_Prose(is_fixed=True))
        for blocks, is_closed in ((closed, True), (tail, False)):
            for placed in with_code_apart(blocks):
                block = placed.block
                if isinstance(block, Code):
                    groups.append(_Fence(block, placed.depth, is_closed))
                    continue
                if not groups or not isinstance(groups[-1], _Prose):
                    groups.append(_Prose())
                prose = groups[-1]
                assert isinstance(prose, _Prose)
                (prose.closed if is_closed else prose.tail).append(block)
                prose.is_fixed = prose.is_fixed or is_closed
        return groups

    def _prose_at(self, index: int) -> RichText:
        if index < len(self._segments):
            current = self._segments[index]
            if isinstance(current, RichText):
                return current
            self._drop_from(index)
        view = RichText(self._theme, "text", scrolls=False, parent=self)
        view.setAccessibleName(self.tr("Answer text"))
        view.formulas_drawn.connect(self._on_formulas_drawn)
        self.selection.add(view)
        self._segments.append(view)
        view.show()
        return view

    def _code_at(self, index: int) -> CodeBlock:
        if index < len(self._segments):
            current = self._segments[index]
            if isinstance(current, CodeBlock):
                return current
            self._drop_from(index)
        view = CodeBlock(self._theme, self)
        self.selection.add(view.view)
        self._segments.append(view)
        view.show()
        return view

    def _drop_from(self, index: int) -> None:
        for view in self._segments[index:]:
            view.hide()
            view.deleteLater()
        del self._segments[index:]
        self._dirty_from = min(self._dirty_from, index)

    def _on_formulas_drawn(self) -> None:
        view = self.sender()
        if isinstance(view, RichText) and view in self._segments:
            self._dirty_from = min(self._dirty_from, self._segments.index(view))
            self.height_changed.emit()

    def _start_over(self) -> None:
        self._drop_from(0)
        self._stream = MarkdownStream()
        self._fixed = 0
        self._tail = ()
        self._finished = False

    def arrange(self, width: int) -> int:
        """Place the segments at that width; returns the height they need."""
        gap = self._theme.metrics.gap_s
        # What stands above the first change keeps its place: a long answer is not gone through.
        begin = self._dirty_from if width == self._width else 0
        del self._places[begin:]
        for view in self._segments[begin:]:
            top = sum(self._places[-1]) + gap if self._places else 0
            left = 0
            if isinstance(view, CodeBlock):
                # Code in a list stands below its words, but keeps half the width at any depth.
                left = min(view.steps_in * self._theme.metrics.list_indent, width // 2)
                height = view.arrange(width - left)
            else:
                height = view.height_for(width)
            view.setGeometry(left, top, width - left, height)
            self._places.append((top, height))
        self._width = width
        # A text edit that is not shown yet still lays its text out at some width of its own.
        self._dirty_from = len(self._segments) if self.isVisible() else 0
        return sum(self._places[-1]) if self._places else 0
