"""A thin bar that shows a share, such as the context in use."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.number_text import percent_text
from app.ui.theme import Theme


class Meter(QWidget):
    """A share of 0 to 1; colours may change at thresholds."""

    def __init__(self, theme: Theme, name: str, width: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._share = 0.0
        self._color = "accent"
        self.setFixedSize(QSize(width, theme.metrics.meter_height))
        self.setAccessibleName(name)
        theme.changed.connect(self.update)

    @property
    def share(self) -> float:
        """What is shown."""
        return self._share

    @property
    def color_name(self) -> str:
        """The colour token of the filled part."""
        return self._color

    def set_share(self, share: float, color: str = "accent") -> None:
        """Show that share, clamped to 0..1, in that colour token."""
        share = min(1.0, max(0.0, share))
        if (share, color) != (self._share, self._color):
            self._share, self._color = share, color
            self.setAccessibleDescription(percent_text(share))
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A rounded track and its filled part."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        radius = self.height() / 2
        painter.setBrush(self._theme.color("line"))
        painter.drawRoundedRect(QRectF(self.rect()), radius, radius)
        if self._share > 0:
            painter.setBrush(self._theme.color(self._color))
            filled = QRectF(0, 0, max(self.height(), self.width() * self._share), self.height())
            painter.drawRoundedRect(filled, radius, radius)
        painter.end()
