"""The colours of all code blocks: asked for as a fence closes, found elsewhere, told then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.render.code_colors import ColoredRun, color_lines

Lines = tuple[tuple[ColoredRun, ...], ...]
Color = Callable[[str, str], Lines]
"""Finds the colours: source, language."""

Run = Callable[[Callable[[], Lines], Callable[[Lines], None]], None]
"""Does a job on another thread, then calls the second argument with its result on this one."""

MOST_KEPT = 256


class ColorSource(QObject):
    """Colours at once until `color_with` has named another thread: Pygments takes 5 to 100 ms.

    Signals:
        arrived(str, str): source and language that can be asked for again.
    """

    arrived = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run: Run | None = None
        self._color: Color = color_lines
        self._found: dict[tuple[str, str], Lines | None] = {}

    def color_with(self, run: Run, color: Color = color_lines) -> None:
        """Have colours found by `run` from now on, each by a call of `color` there."""
        self._run = run
        self._color = color

    def ask(self, source: str, language: str) -> Lines | None:
        """Coloured runs of each line, or None while they are being found."""
        key = (source, language.lower())
        if key not in self._found:
            if self._run is None:
                self._take(key, self._color(*key))
            else:
                self._found[key] = None
                self._run(partial(self._color, *key), partial(self._on_colored, source, language))
        return self._found[key]

    def _on_colored(self, source: str, language: str, lines: Lines) -> None:
        self._take((source, language.lower()), lines)
        self.arrived.emit(source, language)

    def _take(self, key: tuple[str, str], lines: Lines) -> None:
        self._found.pop(key, None)
        self._found[key] = lines
        if len(self._found) > MOST_KEPT:
            del self._found[next(iter(self._found))]
