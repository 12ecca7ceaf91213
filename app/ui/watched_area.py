"""An area that tells how wide it is; what stands in it folds by that, not by the window's width."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget


class WatchedArea(QWidget):
    """Signals: resized(int): the new width in pixels."""

    resized = Signal(int)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Tell it."""
        super().resizeEvent(event)
        self.resized.emit(event.size().width())
