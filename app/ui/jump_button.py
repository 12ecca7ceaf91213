"""The button over a scrolling area that leads back to its end."""

from __future__ import annotations

from PySide6.QtWidgets import QAbstractScrollArea

from app.ui.controls import TextButton
from app.ui.theme import Theme


class JumpButton(TextButton):
    """Stands in the middle above the lower edge while it is shown."""

    def __init__(self, theme: Theme, text: str, area: QAbstractScrollArea) -> None:
        super().__init__(text, "jump", area)
        self._theme = theme
        self._area = area
        self.hide()
        theme.changed.connect(self._on_theme)
        self._on_theme()

    def offer(self, offered: bool) -> None:
        """Show or hide it, and put it in its place."""
        self.setVisible(offered)
        self.adjustSize()
        view = self._area.viewport()
        self.move(
            (view.width() - self.width()) // 2,
            view.height() - self.height() - self._theme.metrics.jump_gap,
        )
        self.raise_()

    def _on_theme(self) -> None:
        self.setIcon(self._theme.icon("arrow-down"))
