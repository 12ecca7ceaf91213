"""The drawn formulas of all texts: asked for when written, drawn elsewhere, told when there."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal

from app.render.formulas import FormulaImage, render_formula

Run = Callable[[Callable[[], FormulaImage | None], Callable[[FormulaImage | None], None]], None]
"""Does a job on another thread, then calls the second argument with its result on this one."""

MOST_KEPT = 1_024
TELL_MS = 30


class NoImage(Enum):
    """Why there is no image: it is being drawn, or the formula cannot be drawn."""

    COMING = "coming"
    IMPOSSIBLE = "impossible"


class FormulaSource(QObject):
    """Draws at once until `draw_with` has named another thread for it: a formula takes 15 to 40 ms.

    Signals:
        arrived: some of what was coming can be asked for again.
    """

    arrived = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run: Run | None = None
        self._images: dict[tuple[str, int, bool], FormulaImage | NoImage] = {}
        self._tell_timer = QTimer(self)
        self._tell_timer.setSingleShot(True)
        self._tell_timer.setInterval(TELL_MS)
        self._tell_timer.timeout.connect(self.arrived)

    def draw_with(self, run: Run) -> None:
        """Have formulas drawn by `run` from now on."""
        self._run = run

    def ask(
        self, tex: str, size_px: int, display: bool
    ) -> FormulaImage | Literal[NoImage.COMING, NoImage.IMPOSSIBLE]:
        """The drawn formula, or why there is none."""
        key = (tex, size_px, display)
        found = self._images.get(key)
        if found is None:
            job = partial(render_formula, *key)
            if self._run is None:
                self._take(key, job())
            else:
                self._images[key] = NoImage.COMING
                self._run(job, partial(self._on_drawn, key))
            found = self._images[key]
        return found

    def _on_drawn(self, key: tuple[str, int, bool], image: FormulaImage | None) -> None:
        self._take(key, image)
        if not self._tell_timer.isActive():
            self._tell_timer.start()

    def _take(self, key: tuple[str, int, bool], image: FormulaImage | None) -> None:
        self._images.pop(key, None)
        self._images[key] = NoImage.IMPOSSIBLE if image is None else image
        if len(self._images) > MOST_KEPT:
            del self._images[next(iter(self._images))]
