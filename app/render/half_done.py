"""What of an open text is held back for a moment: half a sign, a formula, a line."""

from __future__ import annotations

import re

MAX_HELD_CHARS = 400
"""A formula that grows longer than this is shown as it comes."""

_FLAGS = re.compile("[\U0001f1e6-\U0001f1ff]+$")
_DISPLAY = re.compile(r"(?m)^[ >]*(?:\$\$|\\\[)")
_DISPLAY_END = re.compile(r"(?:\$\$|\\\])[ ]*$")
_BRACKET = re.compile(r"\\(?:\((?:(?!\\\)).)*|\[(?:(?!\\\]).)*)$")
_DOLLAR = re.compile(r"(?<![\\$])\$(?!\$)")
_TWO_DOLLARS = re.compile(r"(?<!\\)\$\$")
_ONLY_MARKS = re.compile(r"[ >]*(?:[-*+_=~`#>]{1,3}|\d{1,3}[.)]?|[-*+] \[[ xX]?\]?)? *$")
_DELIMITERS = re.compile(r"[ |:-]*$")
_BACKSLASH = re.compile(r"(?<!\\)\\$")
_BEGINS_FORMULA = re.compile(r"\$(?![\s\d])(?!.*\s[A-Za-z]{3})")


def without_half_sign(text: str) -> str:
    """The text without a joiner, or the first half of a flag, at its end."""
    flags = _FLAGS.search(text)
    if flags is not None:
        return text[: len(text) - len(flags[0]) % 2]
    return text.removesuffix("\u200d")


def without_half_formula(text: str) -> str:
    """The text up to a formula that is still open at its end; prices and variables stay."""
    for match in reversed(tuple(_DISPLAY.finditer(text))):
        formula = text[match.end() :]
        if _DISPLAY_END.search(formula) or len(formula) > MAX_HELD_CHARS:
            break
        if "\n\n" not in formula and "$$" not in formula and "\\]" not in formula:
            return text[: match.start()]
        break
    text = _BACKSLASH.sub("", text)
    line_start = text.rfind("\n") + 1
    line = text[line_start:]
    begins = []
    if opened := _BRACKET.search(line):
        begins.append(opened.start())
    pairs = [match.start() for match in _TWO_DOLLARS.finditer(line)]
    if len(pairs) % 2:
        begins.append(pairs[-1])
    dollars = [match.start() for match in _DOLLAR.finditer(line)]
    if len(dollars) % 2 and _BEGINS_FORMULA.match(line, dollars[-1]):
        begins.append(dollars[-1])
    if not begins or len(line) - min(begins) > MAX_HELD_CHARS:
        return text
    return text[: line_start + min(begins)]


def without_half_line(text: str) -> str:
    """The text without a last line that does not yet say what it is: a mark of a list, a heading,
    a rule or a fence; or the first line of a table, until its second one is there.

    "Words" and "-" below would be a heading until the list that it begins has its first letter.
    """
    lines = text.split("\n")
    if _ONLY_MARKS.match(lines[-1]):
        lines.pop()
    rows = 0
    while rows < min(3, len(lines)) and lines[-1 - rows].lstrip(" >").startswith("|"):
        rows += 1
    if rows == 1 or (rows == 2 and _DELIMITERS.match(lines[-1]) and not text.endswith("\n")):
        del lines[-rows:]
    return "\n".join(lines)


def without_half_fence(text: str, fence: str) -> str:
    """The text of an open code block without a last line that may become its closing fence."""
    begun, _, last = text.rpartition("\n")
    return begun if last.strip() and fence.startswith(last.strip()) else text
