"""The line between thinking and answer, to be dragged, or moved with the arrow keys."""

from __future__ import annotations

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.ui.theme import Theme


class PaneGrip(QWidget):
    """A one-pixel line in a wider area that can be caught.

    Signals:
        moved(int): pixels to the right since the last time.
        reset: double click; back to the default place.
    """

    moved = Signal(int)
    reset = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._last_x: float | None = None
        self.setCursor(Qt.CursorShape.SplitHCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setToolTip(self.tr("Drag, or use the arrow keys; double-click for the usual width"))
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The line; in the accent colour while it is held or has the focus."""
        painter = QPainter(self)
        active = self.hasFocus() or self._last_x is not None or self.underMouse()
        metrics = self._theme.metrics
        width = metrics.ring if active else metrics.border
        color = self._theme.color("accent" if active else "line")
        painter.fillRect(QRect((self.width() - width) // 2, 0, width, self.height()), color)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Catch the line."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._last_x = event.globalPosition().x()
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Move it."""
        if self._last_x is None:
            return
        step = round(event.globalPosition().x() - self._last_x)
        if step:
            self._last_x += step
            self.moved.emit(step)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let it go."""
        self._last_x = None
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Back to the usual width."""
        self.reset.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Left and Right move it by a step."""
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        direction = steps.get(Qt.Key(event.key()))
        if direction is None:
            super().keyPressEvent(event)
            return
        self.moved.emit(direction * self._theme.metrics.grip_step)
