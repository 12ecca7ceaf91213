"""One question with its thinking and its answer, and the split that keeps test problems unseen."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

LETTER_MARK = "\x1f"
"""Stands before each letter that must be a token of its own; no part of the text."""

_TEST_SHARE = 16
"""One problem of this many is held out."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What is asked and how it is solved.

    `keys` name the problem and every smaller problem inside its thinking, independent of wording.
    `value` is a number or word that a next question may go on from.
    """

    task: str
    keys: tuple[str, ...]
    question: str
    thinking: str
    answer: str
    value: int | str | None = None


KNOWN = "known "
"""Begins the keys of problems that are never held out: what everyone types first."""


def is_held_out(key: str) -> bool:
    """Whether the problem of this key belongs to the test side; depends on the key alone."""
    if key.startswith(KNOWN):
        return False
    return hashlib.blake2b(key.encode(), digest_size=4).digest()[0] % _TEST_SHARE == 0


def may_train(problem: Problem) -> bool:
    """Whether neither the problem nor a part of it is a test problem."""
    return not any(is_held_out(key) for key in problem.keys)


def may_test(problem: Problem) -> bool:
    """Whether the problem itself is a test problem."""
    return is_held_out(problem.keys[0])


def plain(text: str) -> str:
    """The text without letter marks."""
    return text.replace(LETTER_MARK, "")
