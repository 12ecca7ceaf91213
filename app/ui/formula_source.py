"""The drawn formulas of all texts: asked for when written, drawn elsewhere, told when there."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.render.formulas import FormulaImage, render_formula
from app.ui.kept_results import KeptResults

Run = Callable[[Callable[[], FormulaImage | None], Callable[[FormulaImage | None], None]], None]
"""Does a job on another thread, then calls the second argument with its result on this one."""

Key = tuple[str, int, bool]
"""TeX, pixel size, display."""

Draw = Callable[[str, int, bool], FormulaImage | None]
"""Draws a formula: TeX, pixel size, display."""

MOST_KEPT_CHARS = 16_000_000
"""Of TeX and SVG: some 2,000 formulas of usual length, or 50 of the longest that are drawn."""

_ENTRY_CHARS = 200
"""What an entry takes besides."""

MOST_AT_ONCE = 8
"""As many are given to the other thread at a time: the newest, which stand before the reader."""
TELL_MS = 40


class NoImage(Enum):
    """Why there is no image: it is being drawn, or the formula cannot be drawn."""

    COMING = "coming"
    IMPOSSIBLE = "impossible"


Drawn = FormulaImage | Literal[NoImage.IMPOSSIBLE]
"""What drawing came to."""


def _size_of(key: Key, drawn: Drawn) -> int:
    svg = drawn.svg if isinstance(drawn, FormulaImage) else ""
    return _ENTRY_CHARS + len(key[0]) + len(svg)


class FormulaSource(QObject):
    """Draws at once until `draw_with` has named another thread for it: a formula takes 15 to 40 ms.

    Signals:
        arrived: some of what was coming can be asked for again.
    """

    arrived = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run: Run | None = None
        self._draw: Draw = render_formula
        self._drawn: KeptResults[Key, Drawn] = KeptResults(MOST_KEPT_CHARS, _size_of)
        self._coming: set[Key] = set()
        self._queue: list[Key] = []
        self._at_work = 0
        self._tell_timer = QTimer(self)
        self._tell_timer.setSingleShot(True)
        self._tell_timer.setInterval(TELL_MS)
        self._tell_timer.timeout.connect(self.arrived)

    def draw_with(self, run: Run, draw: Draw = render_formula) -> None:
        """Have formulas drawn by `run` from now on, each by a call of `draw` there."""
        self._run = run
        self._draw = draw

    def ask(self, tex: str, size_px: int, display: bool) -> Drawn | Literal[NoImage.COMING]:
        """The drawn formula, or why there is none."""
        key = (tex, size_px, display)
        found = self._drawn.get(key)
        if found is not None:
            return found
        if self._run is None:
            return self._take(key, self._draw(*key))
        if key not in self._coming:
            self._coming.add(key)
            self._queue.append(key)
            self._hand_over()
        return NoImage.COMING

    def tell_again(self) -> None:
        """Emit `arrived` soon."""
        if not self._tell_timer.isActive():
            self._tell_timer.start()

    def _hand_over(self) -> None:
        while self._queue and self._at_work < MOST_AT_ONCE and self._run is not None:
            key = self._queue.pop()
            self._at_work += 1
            self._run(partial(self._draw, *key), partial(self._on_drawn, key))

    def _on_drawn(self, key: Key, image: FormulaImage | None) -> None:
        self._at_work -= 1
        self._coming.discard(key)
        self._take(key, image)
        self._hand_over()
        self.tell_again()

    def _take(self, key: Key, image: FormulaImage | None) -> Drawn:
        result: Drawn = NoImage.IMPOSSIBLE if image is None else image
        self._drawn.put(key, result)
        return result
