"""A growing Markdown text, cut into closed blocks and an open tail.

What is closed never changes again, so a view draws it once; only the tail is read and drawn anew.
The cost of an update is thus that of the last block, not of the whole reply.
"""

from __future__ import annotations

import re

from app.render.blocks import Block
from app.render.markdown import MAX_MARKDOWN_CHARS, parse_markdown

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST_ITEM = re.compile(r" {0,3}([-*+]|\d{1,9}[.)])(\s|$)")
_MATH_OPEN = re.compile(r"\s*(\$\$|\\\[)\s*$|\s*(\$\$|\\\[)(?!.*(\$\$|\\\]))")
_MATH_CLOSE = re.compile(r".*(\$\$|\\\])\s*$")
_INDENTED = re.compile(r"\s{2,}|\t")


class _LineState:
    """What the lines read so far leave open: a fence, a formula, a list."""

    def __init__(self) -> None:
        self.fence = ""
        self.in_math = False
        self.in_list = False
        self.has_text = False
        self.after_blank = False

    def read(self, line: str) -> bool:
        """Take one line; true when it begins a block that what went before cannot reach."""
        if self.fence:
            stripped = line.strip()
            if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
                self.fence = ""
                self.after_blank = not self.in_list
            return False
        if self.in_math:
            self.in_math = not _MATH_CLOSE.match(line)
            return False
        if not line.strip():
            self.after_blank = self.has_text
            return False
        fence = _FENCE.match(line)
        stands_apart = fence is not None and self.has_text and not self.in_list
        begins = stands_apart or (self.after_blank and not self._continues(line))
        if begins:
            self.in_list = False
        self.after_blank = False
        self.has_text = True
        if fence:
            self.fence = fence[1]
        elif _MATH_OPEN.match(line):
            self.in_math = True
        elif _LIST_ITEM.match(line):
            self.in_list = True
        return begins

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

    @property
    def text(self) -> str:
        """Everything that came in."""
        if self._pieces:
            self._text += "".join(self._pieces)
            self._pieces.clear()
        return self._text

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._pieces.append(text)

    def finish(self) -> None:
        """Say that no more text comes: the tail becomes closed."""
        self._finished = True

    def take(self) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        """Blocks closed since the last call, and the blocks of the open tail."""
        text = self.text
        boundary = len(text) if self._finished else self._last_boundary(text)
        closed_source = text[self._closed_chars : boundary]
        self._closed_chars = boundary
        closed = _parse_in_parts(closed_source)
        tail = text[boundary:]
        return closed, parse_markdown(tail) if tail.strip() else ()

    def _last_boundary(self, text: str) -> int:
        state = _LineState()
        boundary = position = self._closed_chars
        while (end := text.find("\n", position)) >= 0:
            if state.read(text[position:end]):
                boundary = position
            position = end + 1
        return boundary


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
