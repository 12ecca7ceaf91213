r"""Markdown to blocks, by markdown-it-py with HTML off; never raises, whatever the text.

Images become their alternative text and address, so that nothing can be loaded. Formulas are
`$...$`, `$$...$$`, `\(...\)` and `\[...\]`. A single line break stays a line break.
"""

from __future__ import annotations

from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.texmath import texmath_plugin

from app.render.blocks import (
    Block,
    Code,
    Formula,
    Heading,
    Listing,
    Paragraph,
    Quote,
    Rule,
    Span,
    Spans,
    Table,
)
from app.render.visible import with_visible_controls

MAX_MARKDOWN_CHARS = 40_000
"""A longer block is shown as it is: the parser's time may grow faster than its length."""

MAX_PUNCTUATION = 3_000
"""As many characters that could open something; beyond it the block is shown as it is."""

_MAX_NESTING = 24


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    dollarmath_plugin(parser, allow_space=False, allow_digits=False, double_inline=True)
    texmath_plugin(parser, delimiters="brackets")
    return parser


_PARSER = _parser()


def parse_markdown(text: str) -> tuple[Block, ...]:
    """Read one or several blocks of Markdown."""
    text = with_visible_controls(text.replace("\r\n", "\n").replace("\r", "\n"))
    if len(text) > MAX_MARKDOWN_CHARS or sum(map(text.count, "[*_<>`!$|\\")) > MAX_PUNCTUATION:
        return (_open_fence(text) or Paragraph((Span(text),)),)
    try:
        root = SyntaxTreeNode(_PARSER.parse(text))
        blocks = _blocks(root, text)
    except (RecursionError, IndexError, ValueError, AssertionError):
        # A fault of the parser or of a plugin on odd input must not cost the reader the text.
        blocks = (Paragraph((Span(text),)),)
    return blocks


def _open_fence(text: str) -> Code | None:
    first, _, rest = text.lstrip("\n").partition("\n")
    if not first.startswith("```"):
        return None
    body = rest.rstrip()
    closed = body.endswith("\n```")
    return Code(first.strip("` "), body.removesuffix("\n```"), closed)


def _blocks(parent: SyntaxTreeNode, text: str) -> tuple[Block, ...]:
    return tuple(block for node in parent.children if (block := _block(node, text)) is not None)


def _block(node: SyntaxTreeNode, text: str) -> Block | None:
    match node.type:
        case "paragraph":
            return Paragraph(_inline(node))
        case "heading":
            return Heading(int(node.tag[1:]), _inline(node))
        case "fence":
            language = node.info.strip().split(maxsplit=1)
            return Code(
                language[0] if language else "", node.content.rstrip("\n"), _is_closed(node, text)
            )
        case "code_block":
            return Code("", node.content.rstrip("\n"))
        case "math_block" | "math_block_label" | "math_block_eqno":
            return Formula(node.content.strip())
        case "bullet_list":
            return Listing(None, tuple(_blocks(item, text) for item in node.children))
        case "ordered_list":
            start = node.attrs.get("start", 1)
            return Listing(int(start), tuple(_blocks(item, text) for item in node.children))
        case "blockquote":
            return Quote(_blocks(node, text))
        case "table":
            return _table(node)
        case "hr":
            return Rule()
        case _:
            return Paragraph((Span(node.content),)) if node.content else None


def _is_closed(node: SyntaxTreeNode, text: str) -> bool:
    if node.map is None:
        return True
    lines = text.split("\n")
    last = lines[node.map[1] - 1 : node.map[1]] or [""]
    return node.map[1] - node.map[0] > 1 and last[0].strip(" >").startswith(node.markup)


def _table(node: SyntaxTreeNode) -> Table:
    rows = [
        tuple(_inline(cell) for cell in row.children)
        for section in node.children
        for row in section.children
    ]
    header_cells = node.children[0].children[0].children
    styles = [str(cell.attrs.get("style", "")) for cell in header_cells]
    alignments = tuple(style.removeprefix("text-align:") for style in styles)
    return Table(rows[0], tuple(rows[1:]), alignments)


def _inline(node: SyntaxTreeNode) -> Spans:
    spans: list[Span] = []
    for child in node.children:
        for part in child.children if child.type == "inline" else [child]:
            _add_spans(part, Span(""), spans)
    return _merged(spans)


def _add_spans(node: SyntaxTreeNode, look: Span, spans: list[Span]) -> None:
    match node.type:
        case "text" | "text_special":
            spans.append(replace(look, text=node.content))
        case "softbreak" | "hardbreak":
            spans.append(replace(look, text="\n"))
        case "code_inline":
            spans.append(replace(look, text=node.content, code=True))
        case "math_inline" | "math_inline_double" | "math_single":
            spans.append(replace(look, text=node.content.strip(), formula=True))
        case "image":
            source = str(node.attrs.get("src", ""))
            shown = f"[image: {node.content or source}]"
            spans.append(replace(look, text=shown, link=look.link or source))
        case "strong" | "em" | "s" | "link":
            look = replace(
                look,
                bold=look.bold or node.type == "strong",
                italic=look.italic or node.type == "em",
                strike=look.strike or node.type == "s",
                link=str(node.attrs.get("href", "")) if node.type == "link" else look.link,
            )
            for child in node.children:
                _add_spans(child, look, spans)
        case _:
            if node.content:
                spans.append(replace(look, text=node.content))


def _merged(spans: list[Span]) -> Spans:
    merged: list[Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        if last and not span.formula and not last.formula and replace(last, text=span.text) == span:
            merged[-1] = replace(last, text=last.text + span.text)
        elif span.text:
            merged.append(span)
    return tuple(merged)
