"""A text without its Markdown signs, for pasting where Markdown is not read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from app.render.blocks import Block, Code, Formula, Heading, Listing, Paragraph, Quote, Rule, Spans
from app.render.blocks import Table as TableBlock

_BOXES = {True: "[x] ", False: "[ ] ", None: ""}


def plain_text(blocks: Iterable[Block]) -> str:
    """The blocks as lines that end in LF: lists keep their marks, tables become tabs, formulas
    their TeX between dollar signs, and code is as it was written.
    """
    return "\n\n".join(_plain(block) for block in blocks)


def _plain(block: Block) -> str:
    match block:
        case Paragraph() | Heading():
            return _words(block.spans)
        case Code():
            return block.source
        case Formula():
            return f"$${block.tex}$$"
        case Listing():
            return _list(block)
        case Quote():
            return "\n".join(f"> {line}".rstrip() for line in plain_text(block.blocks).split("\n"))
        case TableBlock():
            return "\n".join(
                "\t".join(_words(cell) for cell in row) for row in (block.header, *block.rows)
            )
        case Rule():
            return "---"
        case _ as never:
            assert_never(never)


def _list(block: Listing) -> str:
    lines: list[str] = []
    for number, item in enumerate(block.items):
        mark = "- " if block.start is None else f"{block.start + number}. "
        if block.checks:
            mark += _BOXES[block.checks[number]]
        text = "\n".join(_plain(inner) for inner in item)
        indent = "\n" + " " * len(mark)
        lines.append(mark + text.replace("\n", indent))
    return "\n".join(lines)


def _words(spans: Spans) -> str:
    words: list[str] = []
    for span in spans:
        mark = ("$$" if span.display else "$") if span.formula else ""
        words.append(f"{mark}{span.text}{mark}")
    return "".join(words)
