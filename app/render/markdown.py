r"""Markdown to blocks, by markdown-it-py with HTML off; never raises, whatever the text.

Images become their alternative text and address, so that nothing can be loaded. Formulas are
`$...$`, `$$...$$`, `\(...\)` and `\[...\]`. A single line break stays a line break.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.amsmath import amsmath_plugin
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
_TEX_SIGNS = frozenset("\\^_{}=<>")
_NAME = re.compile(r"[A-Za-z]{2}")
_PLAIN_WORD = re.compile(r"(?:^|\s)[A-Za-z]{2,}\s|\s[A-Za-z]{3,}(?:\s|$)")
_FENCE_LINE = re.compile(r" *(`{3,}|~{3,})")
_FORMULA_LINE = re.compile(r" *(\$\$|\\\[)((?:(?!\$\$|\\\]).)*(?:\$\$|\\\])?) *$")
_TASK = re.compile(r"\[([ xX])\] ")


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    parser.enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    dollarmath_plugin(parser, allow_space=False, allow_digits=False, double_inline=True)
    texmath_plugin(parser, delimiters="brackets")
    amsmath_plugin(parser)
    parser.inline.ruler.before("escape", "bracket_display", _bracket_display)
    parser.inline.ruler.before("emphasis", "product_sign", _product_sign)
    return parser


def _bracket_display(state: StateInline, silent: bool) -> bool:
    r"""`\[...\]` within a line, which the plugin knows only as a block."""
    if not state.src.startswith("\\[", state.pos):
        return False
    end = state.src.find("\\]", state.pos + 2)
    if end < 0:
        return False
    if not silent:
        state.push("math_inline_double", "math", 0).content = state.src[state.pos + 2 : end]
    state.pos = end + 2
    return True


def _product_sign(state: StateInline, silent: bool) -> bool:
    """The star of `47*86`, which Markdown would take for emphasis together with the next one."""
    around = state.src[max(0, state.pos - 1) : state.pos + 2]
    if len(around) < 3 or around[1] != "*" or not (around[0].isdigit() and around[2].isdigit()):
        return False
    if not silent:
        state.pending += "*"
    state.pos += 1
    return True


_PARSER = _parser()


def parse_markdown(text: str) -> tuple[Block, ...]:
    """Read one or several blocks of Markdown."""
    text = with_visible_controls(text.replace("\r\n", "\n").replace("\r", "\n"))
    if len(text) > MAX_MARKDOWN_CHARS or sum(map(text.count, "[*_<>`!$|\\")) > MAX_PUNCTUATION:
        return (open_fence(text) or Paragraph((Span(text),)),)
    text = _with_formulas_apart(text)
    try:
        root = SyntaxTreeNode(_PARSER.parse(text))
        blocks = _blocks(root, text)
    except (RecursionError, IndexError, ValueError, AssertionError):
        # A fault of the parser or of a plugin on odd input must not cost the reader the text.
        blocks = (Paragraph((Span(text),)),)
    return blocks


def _with_formulas_apart(text: str) -> str:
    """The text with a blank line around each formula that has lines of its own.

    Models write them right below a line of text, where Markdown would see running text, and a line
    of the formula that begins with "+" or "-" as a list.
    """
    if "\\[" not in text and "$$" not in text:
        return text
    lines: list[str] = []
    fence = closer = ""
    for line in text.split("\n"):
        bare = line.strip()
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif closer:
            closer = "" if bare.endswith(closer) else closer
            if not closer:
                lines += [line, ""]
                continue
        elif opened := _FENCE_LINE.match(line):
            fence = opened[1]
        elif begun := _FORMULA_LINE.match(line):
            if lines and lines[-1].strip():
                lines.append("")
            closer = {"$$": "$$", "\\[": "\\]"}[begun[1]]
            if closer in begun[2]:
                closer = ""
                lines += [line, ""]
                continue
        lines.append(line)
    return "\n".join(lines)


def open_fence(text: str) -> Code | None:
    """A text that begins with a fence, as one code block; None for any other text."""
    first, _, rest = text.lstrip("\n").partition("\n")
    if not first.startswith("```"):
        return None
    body = rest.rstrip()
    closed = body.endswith("\n```")
    language = first.strip("` ").split(maxsplit=1)
    source = with_visible_controls(body.removesuffix("\n```"))
    return Code(language[0] if language else "", source, closed)


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
        case "math_block" | "math_block_label" | "math_block_eqno" | "amsmath":
            return Formula(node.content.strip())
        case "bullet_list":
            return _tasks(Listing(None, tuple(_blocks(item, text) for item in node.children)))
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


def _tasks(listing: Listing) -> Listing:
    """The list, with "[ ]" and "[x]" at the beginning of its items taken for check boxes."""
    items, checks = [], []
    for item in listing.items:
        first = item[0] if item else None
        words = first.spans[:1] if isinstance(first, Paragraph) else ()
        mark = _TASK.match(words[0].text) if words and words[0] == Span(words[0].text) else None
        checks.append(None if mark is None else mark[1] != " ")
        if mark is not None and isinstance(first, Paragraph):
            rest = words[0].text[mark.end() :]
            item = (Paragraph((Span(rest), *first.spans[1:])), *item[1:])
        items.append(item)
    if all(check is None for check in checks):
        return listing
    return Listing(None, tuple(items), tuple(checks))


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
        parts = child.children if child.type == "inline" else [child]
        _add_all(parts, Span(""), spans)
    return _merged(spans)


def _add_all(nodes: Sequence[SyntaxTreeNode], look: Span, spans: list[Span]) -> None:
    for index, node in enumerate(nodes):
        if node.type == "math_inline":
            before = nodes[index - 1].content[-1:] if index else ""
            after = nodes[index + 1].content[:1] if index + 1 < len(nodes) else ""
            if not _is_maths(node.content, before.isalnum() or after.isalnum()):
                spans.append(replace(look, text=f"${node.content}$"))
                continue
        _add_spans(node, look, spans)


def _is_maths(content: str, touches_word: bool) -> bool:
    """Whether what stands between two dollar signs is a formula, and not prices or variables.

    "costs $5 or 10$" holds a plain word, "$HOME/bin:$PATH" a name and touches another one.
    """
    if set(content) & _TEX_SIGNS:
        return True
    if touches_word:
        return _NAME.search(content) is None
    return _PLAIN_WORD.search(content) is None


def _add_spans(node: SyntaxTreeNode, look: Span, spans: list[Span]) -> None:
    match node.type:
        case "text" | "text_special":
            spans.append(replace(look, text=node.content))
        case "softbreak" | "hardbreak":
            spans.append(replace(look, text="\n"))
        case "code_inline":
            spans.append(replace(look, text=node.content, code=True))
        case "math_inline" | "math_inline_double" | "math_single":
            display = node.type == "math_inline_double"
            spans.append(replace(look, text=node.content.strip(), formula=True, display=display))
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
            _add_all(node.children, look, spans)
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
