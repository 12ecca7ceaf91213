"""Python's garbage is collected on the GUI thread alone.

A cycle of objects is destroyed by the thread that happens to collect it. Where a widget, a timer or
a text cursor hangs on it and the thread is not Qt's own, that ends the process: "Timers cannot be
stopped from another thread", and a segmentation fault.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer, Slot

TICK_MS = 100


class GuiGarbage(QObject):
    """Takes over from Python between `start` and `stop`; lives in the GUI thread."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._was_enabled = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_tick)

    def start(self) -> None:
        """From now on nothing is collected but here."""
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._timer.start(TICK_MS)

    def stop(self) -> None:
        """Leave it to Python again: the other threads have ended."""
        if self._timer.isActive():
            self._timer.stop()
            if self._was_enabled:
                gc.enable()

    @Slot()
    def _on_tick(self) -> None:
        """The oldest generation that is due, as Python itself would choose it."""
        due = zip(gc.get_count(), gc.get_threshold(), strict=True)
        generations = [number for number, (count, most) in enumerate(due) if count > most]
        if generations:
            gc.collect(generations[-1])
