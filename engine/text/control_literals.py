"""Keeps what people typed apart from control tokens while both pass through a chat template.

Every control literal inside a message is broken with a marker before the template runs. In the
rendered text an unbroken literal is therefore the template's own: there the text is split, and the
markers are taken out of the pieces between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# DEL first: JSON does not escape it (a template may pass text through `tojson`), no `strip` takes
# it away and changing case leaves it alone. Then noncharacters and private-use characters.
_MARKER_CHARACTERS = ("\x7f", *map(chr, range(0xFDD0, 0xFDF0)), *map(chr, range(0xE000, 0xF900)))


@dataclass(frozen=True, slots=True)
class ControlToken:
    """One added token: the literal that templates write and the id that stands for it.

    `strips_left`, `strips_right`: white space beside the literal belongs to the token.
    """

    token_id: int
    literal: str
    strips_left: bool = False
    strips_right: bool = False
    single_word: bool = False


def choose_marker(texts: Iterable[str]) -> str:
    """A marker that occurs in none of the texts, nor across the border of any two of them.

    One character that no text has; where they use every candidate, the rarest of these repeated
    once more than it occurs in all the texts together.
    """
    joined = "\n".join(texts)
    counts = ((joined.count(character), character) for character in _MARKER_CHARACTERS)
    rarest_count, rarest = joined.count(_MARKER_CHARACTERS[0]), _MARKER_CHARACTERS[0]
    for count, character in counts:
        if count < rarest_count:
            rarest_count, rarest = count, character
        if rarest_count == 0:
            break
    return rarest * (rarest_count + 1)


class ControlLiterals:
    """Finds control literals in text: to break those of people, to split at those of templates.

    Added tokens of a single character are left out: they cannot be broken and control nothing.
    """

    def __init__(self, tokens: Sequence[ControlToken]) -> None:
        usable = [token for token in tokens if len(token.literal) > 1]
        # Where several literals begin at the same place the longest wins, as in `tokenizers`.
        self.tokens = sorted(usable, key=lambda token: -len(token.literal))
        literals = [token.literal for token in self.tokens]
        self._beginnings = {text[:end] for text in literals for end in range(1, len(text))}
        self._endings = {text[start:] for text in literals for start in range(1, len(text))}
        self._longest = max(map(len, literals), default=0)
        self._first_character = _first_character_pattern(literals)
        self._split = _split_pattern(self.tokens)

    @property
    def literals(self) -> list[str]:
        """The literals, longest first."""
        return [token.literal for token in self.tokens]

    def break_in(self, text: str, marker: str) -> str:
        """`text` with `marker` after the first character of every literal, overlapping ones too.

        A text that ends like the beginning of a literal, or begins like the end of one, gets a
        marker there as well, so that no literal forms across the border to what stands beside it.
        """
        if not text or self._first_character is None:
            return text
        broken = self._first_character.sub(lambda found: found.group() + marker, text)
        lengths = range(1, min(self._longest, len(text) + 1))
        if any(text[-length:] in self._beginnings for length in lengths):
            broken += marker
        if any(text[:length] in self._endings for length in lengths):
            broken = marker + broken
        return broken

    def split(self, rendered: str) -> list[str | ControlToken]:
        """`rendered` cut at its literals: texts (none empty) and control tokens, in order."""
        if self._split is None:
            return [rendered] if rendered else []
        pieces: list[str | ControlToken] = []
        position = 0
        for found in self._split.finditer(rendered):
            if found.start() > position:
                pieces.append(rendered[position : found.start()])
            pieces.append(self.tokens[int((found.lastgroup or "t0")[1:])])
            position = found.end()
        if position < len(rendered):
            pieces.append(rendered[position:])
        return pieces


def _first_character_pattern(literals: Sequence[str]) -> re.Pattern[str] | None:
    """Matches one character at which a literal begins; consumes no more, so overlaps are seen."""
    if not literals:
        return None
    # A character class in front lets `re` skip quickly to the places that matter.
    rests: dict[str, list[str]] = {}
    for literal in literals:
        rests.setdefault(literal[0], []).append(re.escape(literal[1:]))
    branches = [
        f"(?<={re.escape(first)})(?:{'|'.join(group)})" for first, group in sorted(rests.items())
    ]
    first_class = "".join(re.escape(first) for first in sorted(rests))
    return re.compile(f"[{first_class}](?={'|'.join(branches)})")


def _split_pattern(tokens: Sequence[ControlToken]) -> re.Pattern[str] | None:
    """Matches one control token; the group that took part tells which: "t0", "t1", ..."""
    if not tokens:
        return None
    branches = []
    for index, token in enumerate(tokens):
        left = r"\s*" if token.strips_left else ""
        left += r"(?<!\w)" if token.single_word else ""
        right = r"(?!\w)" if token.single_word else ""
        right += r"\s*" if token.strips_right else ""
        first, rest = re.escape(token.literal[0]), re.escape(token.literal[1:])
        # The first character stands before the group: so `re` skips to where one can begin, a
        # hundred times faster.
        branches.append(f"{left}{first}(?P<t{index}>{rest}{right})")
    return re.compile("|".join(branches))
