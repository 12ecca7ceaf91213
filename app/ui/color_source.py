"""The colours of all code blocks: asked for as a fence closes, found elsewhere, told then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.render.code_colors import ColoredRun, color_lines
from app.ui.kept_results import KeptResults

Lines = tuple[tuple[ColoredRun, ...], ...]
Key = tuple[str, str]
"""Source, language in small letters."""

Color = Callable[[str, str], Lines]
"""Finds the colours: source, language."""

Run = Callable[[Callable[[], Lines], Callable[[Lines], None]], None]
"""Does a job on another thread, then calls the second argument with its result on this one."""

MOST_KEPT_CHARS = 400_000
"""Of source: some 10,000 lines. Their runs take 25 times as many bytes."""

_ENTRY_CHARS = 50
"""What an entry takes besides, in as many characters of source."""


def _size_of(key: Key, lines: Lines) -> int:
    return _ENTRY_CHARS + len(key[0])


class ColorSource(QObject):
    """Colours at once until `color_with` has named another thread: Pygments takes 5 to 100 ms.

    Signals:
        arrived(str, str): source and language, in small letters, that can be asked for again.
    """

    arrived = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run: Run | None = None
        self._color: Color = color_lines
        self._found: KeptResults[Key, Lines] = KeptResults(MOST_KEPT_CHARS, _size_of)
        self._coming: set[Key] = set()

    def color_with(self, run: Run, color: Color = color_lines) -> None:
        """Have colours found by `run` from now on, each by a call of `color` there."""
        self._run = run
        self._color = color

    def ask(self, source: str, language: str) -> Lines | None:
        """Coloured runs of each line, or None while they are being found."""
        key = (source, language.lower())
        found = self._found.get(key)
        if found is not None:
            return found
        if self._run is None:
            found = self._color(*key)
            self._found.put(key, found)
            return found
        if key not in self._coming:
            self._coming.add(key)
            self._run(partial(self._color, *key), partial(self._on_colored, key))
        return None

    def _on_colored(self, key: Key, lines: Lines) -> None:
        self._coming.discard(key)
        self._found.put(key, lines)
        self.arrived.emit(*key)
