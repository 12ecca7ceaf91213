"""A growing Markdown text, cut into closed blocks and an open tail.

What is closed never changes again, so a view draws it once; only the tail is read and drawn anew.
The cost of an update is thus that of the last block, not of the whole reply.
"""

from __future__ import annotations

import re
from dataclasses import replace

from app.render.blocks import Block, Paragraph, Span
from app.render.half_done import (
    without_half_fence,
    without_half_formula,
    without_half_line,
    without_half_sign,
)
from app.render.markdown import MAX_MARKDOWN_CHARS, open_fence, parse_markdown
from app.render.visible import with_visible_controls

LONG_BLOCK_CHARS = 1_500
"""From this length on a list is cut between items, and a paragraph at a line break."""

MAX_TAIL_CHARS = 8_000
"""A longer open block is shown as it is until it closes: it would be parsed 25 times a second."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(\s|$)")
_MATH_OPEN = re.compile(r"\s*(\$\$|\\\[)\s*$|\s*(\$\$|\\\[)(?!.*(\$\$|\\\]))")
_MATH_CLOSE = re.compile(r".*(\$\$|\\\])\s*$")
_INDENTED = re.compile(r"\s{2,}|\t")
_NOT_PROSE = re.compile(r"\s*(?:[>#|=<]|-{3,}|\*{3,}|_{3,}|\S.*\|)|\s*$|\s{4}|\t")


class _LineState:
    """What the lines read so far leave open: a fence, a formula, a list, a long paragraph."""

    def __init__(self) -> None:
        self.fence = ""
        self.in_math = False
        self.in_list = False
        self.has_text = False
        self.after_blank = False
        self._in_prose = True
        self._chars = 0
        self._marks = [0, 0, 0]
        self._last_item = ""

    def read(self, line: str) -> bool:
        """Take one line; true when it begins a block that what went before cannot reach."""
        begins = self._begins(line)
        if begins:
            self._chars = 0
            self._marks = [0, 0, 0]
        self._chars += len(line) + 1
        for place, mark in enumerate(("`", "$", "**")):
            self._marks[place] += line.count(mark)
        return begins

    def _begins(self, line: str) -> bool:
        if self.fence or self.in_math:
            self._close(line)
            return False
        if not line.strip():
            self.after_blank = self.has_text
            return False
        fence = _FENCE.match(line)
        item = _LIST_ITEM.match(line)
        stands_apart = fence is not None and self.has_text and not self.in_list
        begins = stands_apart or (self.after_blank and not self._continues(line))
        if begins:
            self.in_list = False
        elif self._chars > LONG_BLOCK_CHARS:
            begins = self._can_cut(line, item)
        if begins or not self.has_text:
            self._in_prose = True
        if _NOT_PROSE.match(line) or fence or item:
            self._in_prose = False
        self.after_blank = False
        self.has_text = True
        if fence:
            self.fence = fence[1]
        elif _MATH_OPEN.match(line):
            self.in_math = True
        elif item:
            self.in_list = True
            if not line[0].isspace():
                self._last_item = item[1]
        return begins

    def _close(self, line: str) -> None:
        """See whether the line closes the fence or the formula that it stands in."""
        if self.in_math:
            self.in_math = not _MATH_CLOSE.match(line)
            return
        stripped = line.strip()
        if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
            self.fence = ""
            self.after_blank = not self.in_list

    def _can_cut(self, line: str, item: re.Match[str] | None) -> bool:
        """Whether a long list or paragraph may be cut before this line without being read anew."""
        if any(count % 2 for count in self._marks):
            return False
        if self.in_list:
            return item is not None and not line[0].isspace() and self._counts_on(item[1])
        return self._in_prose and item is None and not _NOT_PROSE.match(line)

    def _counts_on(self, item: str) -> bool:
        """Whether a list that begins here would show the number that the whole list shows."""
        last = self._last_item
        if item[-1:] != last[-1:]:
            return False
        return not item[:-1] or int(item[:-1]) == int(last[:-1] or 0) + 1

    def _continues(self, line: str) -> bool:
        if self.in_list:
            return bool(_INDENTED.match(line) or _LIST_ITEM.match(line))
        return bool(_INDENTED.match(line))


class MarkdownStream:
    """Text comes in by `append`; `take` gives what is new."""

    def __init__(self) -> None:
        self._closed_chars = 0
        self._text = ""
        self._pieces: list[str] = []
        self._finished = False
        self._state = _LineState()
        self._scanned = 0
        self._boundary = 0
        self._behind = False

    @property
    def text(self) -> str:
        """Everything that came in."""
        if self._pieces:
            self._text += "".join(self._pieces)
            self._pieces.clear()
        return self._text

    @property
    def is_behind(self) -> bool:
        """Whether the last `take` stopped at its limit and another one has more to give."""
        return self._behind

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._pieces.append(text)

    def finish(self) -> None:
        """Say that no more text comes: the tail becomes closed."""
        self._finished = True

    def take(self, limit_chars: int = 0) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        """Blocks closed since the last call, and the blocks of the open tail.

        Args:
            limit_chars: stop after about so many characters of closed blocks; the next call goes
                on there, and there is no tail meanwhile. 0: no limit.
        """
        text = self.text
        end = self._next_boundary(text, limit_chars)
        closed = _parse_in_parts(text[self._closed_chars : end])
        self._closed_chars = end
        if self._behind:
            return closed, ()
        return closed, self._tail(text[end:])

    def _tail(self, tail: str) -> tuple[Block, ...]:
        """What is open, without half a sign or half a formula at its end."""
        if not tail.strip():
            return ()
        tail = without_half_sign(tail)
        if self._state.fence:
            tail = without_half_fence(tail, self._state.fence)
            code = open_fence(tail)
            if code is not None:
                return (replace(code, closed=False),)
        else:
            tail = without_half_line(without_half_formula(tail))
        if len(tail) > MAX_TAIL_CHARS:
            return (Paragraph((Span(with_visible_controls(tail)),)),)
        return parse_markdown(tail) if tail.strip() else ()

    def _next_boundary(self, text: str, limit_chars: int) -> int:
        """Where the closed blocks end that are to be given now."""
        self._behind = False
        while (line_end := text.find("\n", self._scanned)) >= 0:
            if self._state.read(text[self._scanned : line_end]):
                self._boundary = self._scanned
            self._scanned = line_end + 1
            if limit_chars and self._boundary - self._closed_chars >= limit_chars:
                self._behind = True
                return self._boundary
        if self._finished:
            self._boundary = len(text)
        return self._boundary


def _parse_in_parts(source: str) -> tuple[Block, ...]:
    """Parse a closed text; a long one part by part, so that each keeps under the parser's limit."""
    if len(source) <= MAX_MARKDOWN_CHARS:
        return parse_markdown(source) if source.strip() else ()
    blocks: list[Block] = []
    state = _LineState()
    begin = position = 0
    for line in source.splitlines(keepends=True):
        if state.read(line.rstrip("\n")):
            blocks.extend(parse_markdown(source[begin:position]))
            begin = position
        position += len(line)
    blocks.extend(parse_markdown(source[begin:]))
    return tuple(blocks)
