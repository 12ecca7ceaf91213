"""Counts the tokens of long texts piece by piece, so that a share can be told and nothing waits.

Each piece is a job of its own: other short jobs have their turns between two of them, and a text
that was taken out again is not counted to its end.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from app.settings_controller import Jobs
from engine.api import ChatMessage, Role
from engine.errors import EngineError

PIECE_CHARS = 65_536
"""A twentieth of a second or so of one processor core."""

logger = logging.getLogger(__name__)


class TokenCounter(Protocol):
    """An engine, or the thread that has one."""

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int | None:
        """Tokens of a conversation; None where no model is loaded."""
        ...


@dataclass(frozen=True, slots=True)
class CountStep:
    """How far a count is: the share 0..1, and the tokens so far; None where none can be counted."""

    share: float
    tokens: int | None


class PieceCounter:
    """Counts one text at a time; `jobs` does the work off the GUI thread."""

    def __init__(self, engine: TokenCounter, jobs: Jobs) -> None:
        self._engine = engine
        self._jobs = jobs
        self.is_busy = False

    def start(self, make_text: Callable[[], str], on_step: Callable[[CountStep], bool]) -> None:
        """Count a text, which is made off the GUI thread too.

        `on_step` is told of each piece, the last with a share of 1.0 or without tokens; the count
        ends where it returns False, and only then may it have started another.
        """
        self.is_busy = True
        self._jobs.run(partial(_made_pieces, make_text), partial(self._on_pieces, on_step))

    def _on_pieces(self, on_step: Callable[[CountStep], bool], pieces: list[str]) -> None:
        self._count_next(on_step, pieces, 0, 0)

    def _count_next(
        self, on_step: Callable[[CountStep], bool], pieces: list[str], done: int, tokens: int
    ) -> None:
        job = partial(count_text, pieces[done], self._engine)
        self._jobs.run(job, partial(self._on_counted, on_step, pieces, done, tokens))

    def _on_counted(
        self,
        on_step: Callable[[CountStep], bool],
        pieces: list[str],
        done: int,
        tokens: int,
        found: int | None,
    ) -> None:
        done += 1
        step = CountStep(done / len(pieces), None if found is None else tokens + found)
        # Before the step is told: who hears of the last one, or ends it, may start the next count.
        self.is_busy = False
        goes_on = on_step(step)
        if goes_on and found is not None and done < len(pieces):
            self.is_busy = True
            self._count_next(on_step, pieces, done, tokens + found)


def count_text(text: str, engine: TokenCounter) -> int | None:
    """Tokens that a text adds to a question; None where no model is loaded, or it cannot count."""
    try:
        whole = engine.count_tokens([ChatMessage(Role.USER, text)])
        alone = engine.count_tokens([ChatMessage(Role.USER, "")])
    except EngineError:
        logger.exception("the tokens of a text could not be counted")
        return None
    return None if whole is None or alone is None else whole - alone


def pieces_of(text: str, most: int = PIECE_CHARS) -> list[str]:
    """The text in pieces of at most that many characters, at least one.

    Cut where a line begins, else before a word: there the tokenizers of byte-level BPE cut too, so
    that the counts add up. In an endless word each cut may cost a token more.
    """
    pieces = []
    start = 0
    while len(text) - start > most:
        end = _cut(text, start, start + most)
        pieces.append(text[start:end])
        start = end
    return [*pieces, text[start:]]


def _cut(text: str, start: int, end: int) -> int:
    """The last good place to cut in the second half of that stretch."""
    middle = (start + end) // 2
    at = text.rfind("\n", middle, end)
    while at >= 0:
        if not text[at + 1].isspace():
            return at + 1
        at = text.rfind("\n", middle, at)
    at = text.rfind(" ", middle, end)
    while at >= 0:
        if not (text[at - 1].isspace() or text[at + 1].isspace()):
            return at
        at = text.rfind(" ", middle, at)
    return end


def _made_pieces(make_text: Callable[[], str]) -> list[str]:
    return pieces_of(make_text())
