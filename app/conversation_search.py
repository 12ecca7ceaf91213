"""What a search looks for in a text, and where it is found; pure functions, no database.

The words of a search are all looked for, each as a part of a word, without regard to case; what
stands in quotation marks is one word, blanks included.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MAX_WORDS = 16
SNIPPET_CHARACTERS = 120
_BEFORE_CHARACTERS = 30

_WORD = re.compile(r'"([^"]+)"|“([^”]+)”|(\S+)')


def words_of(search: str) -> tuple[str, ...]:
    """The words to look for, in their order, each once; none for a blank search."""
    found: list[str] = []
    # A NUL would end the text early inside of SQLite.
    for match in _WORD.finditer(search.replace("\0", " ")):
        word = next(group for group in match.groups() if group is not None)
        if word.strip() and word.casefold() not in (one.casefold() for one in found):
            found.append(word)
    return tuple(found[:MAX_WORDS])


def places_of(words: Sequence[str], text: str) -> list[tuple[int, int]]:
    """Begin and end of every place in the text that holds one of the words; none overlap."""
    if not words:
        return []
    # The longest first, so that a word wins over its own beginning.
    ordered = sorted(words, key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text)]


def holds(text: str, word: str) -> bool:
    """Whether the word is a part of the text, without regard to case."""
    return word.casefold() in text.casefold()


def snippet_of(words: Sequence[str], text: str) -> str:
    """One line around the first place that is found in the text; its beginning where none is."""
    places = places_of(words, text)
    begin = max(0, places[0][0] - _BEFORE_CHARACTERS) if places else 0
    line = " ".join(text[begin : begin + SNIPPET_CHARACTERS].split())
    return f"…{line}" if begin else line


def utf16_length(text: str) -> int:
    """How many units of UTF-16 the text has, in which Qt counts places."""
    return len(text) + sum(character > "\uffff" for character in text)
