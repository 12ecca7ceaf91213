"""What a text consists of once its Markdown is read: plain data, no Qt, nothing to load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A run of text of one look; `link` is the address as written; `formula` marks TeX source.

    `display`: a formula that is meant to stand on a line of its own.
    """

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str = ""
    formula: bool = False
    display: bool = False


Spans = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; a line break is a newline in a span."""

    spans: Spans


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1 to 6."""

    level: int
    spans: Spans


@dataclass(frozen=True, slots=True)
class Code:
    """A code block; `closed` is false while its fence is still open."""

    language: str
    source: str
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula on lines of its own, as TeX."""

    tex: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list; `start` is the first number, or None for bullets.

    `checks` is empty, or says for each item whether its box is checked; None: it has no box.
    `continues`: the first item goes on with one that stands above, and has no mark of its own.
    """

    start: int | None
    items: tuple[tuple[Block, ...], ...]
    checks: tuple[bool | None, ...] = ()
    continues: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """Quoted blocks."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; `alignments` is one of "", "left", "center", "right" per column."""

    header: tuple[Spans, ...]
    rows: tuple[tuple[Spans, ...], ...]
    alignments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""


Block = Paragraph | Heading | Code | Formula | Listing | Quote | Table | Rule
"""Everything a text can consist of."""
