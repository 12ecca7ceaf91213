"""Colours of code by Pygments: which characters are keywords, strings, comments, numbers, names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String
from pygments.util import ClassNotFound

MAX_COLORED_CHARS = 60_000
"""Longer code stays plain: lexing it would be felt."""


@dataclass(frozen=True, slots=True)
class ColoredRun:
    """Characters `start`..`start + length` of a line are of one kind, a colour token's name."""

    start: int
    length: int
    kind: str


# Any: `in` asks a token type for its subtypes, which its stub takes for a tuple of str.
_KINDS: tuple[tuple[Any, str], ...] = (
    (Comment, "code_comment"),
    (Keyword, "code_keyword"),
    (Operator.Word, "code_keyword"),
    (String, "code_string"),
    (Number, "code_number"),
    (Name.Function, "code_name"),
    (Name.Class, "code_name"),
    (Name.Builtin, "code_name"),
    (Name.Decorator, "code_name"),
    (Name.Tag, "code_name"),
)


@lru_cache(maxsize=16)
def color_lines(source: str, language: str) -> tuple[tuple[ColoredRun, ...], ...]:
    """Coloured runs of each line; all empty where the language is unknown."""
    lines = source.split("\n")
    plain: tuple[tuple[ColoredRun, ...], ...] = tuple(() for _ in lines)
    if not language or len(source) > MAX_COLORED_CHARS:
        return plain
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return plain
    colored: list[list[ColoredRun]] = [[] for _ in lines]
    row = column = 0
    for token, text in lexer.get_tokens(source):
        kind = next((kind for parent, kind in _KINDS if token in parent), "")
        for index, part in enumerate(text.split("\n")):
            if index:
                row, column = row + 1, 0
            if kind and part and row < len(colored):
                colored[row].append(ColoredRun(column, len(part), kind))
            column += len(part)
    return tuple(tuple(runs) for runs in colored)
