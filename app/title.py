"""Titles of chats, made from the question alone: never from thinking, no model needed."""

from __future__ import annotations

import re

MAX_CHARACTERS = 60

_MARKUP_AT_START = re.compile(r"^(?:[#>*+\-]+|```\w*|\d+[.)])\s+|^```\w*$")


_FILE = re.compile(r'^File "(.+)":$')
"""How a file stands in a question (`app.attached_file.fenced`); its name alone is the title."""


def title_from_question(question: str) -> str:
    """The first line that says something, without markup, cut at a word; "" for blank text."""
    for line in question.splitlines():
        text = " ".join(_MARKUP_AT_START.sub("", line.strip()).split())
        text = _FILE.sub(r"\1", text)
        # Control and direction characters could disguise the list entry; the joiner of emoji stays.
        text = "".join(c for c in text if c.isprintable() or c == "\u200d")
        if text:
            return _shortened(text)
    return ""


def _shortened(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    cut = text[: MAX_CHARACTERS - 1]
    at_word = cut.rfind(" ")
    # Without blanks (Chinese, a long link) the cut falls where the room ends.
    return (cut[:at_word] if at_word >= MAX_CHARACTERS // 2 else cut).rstrip(" ,;:.") + "…"
