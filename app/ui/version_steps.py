"""Arrows that walk through the versions of a question or of a reply."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.ui.controls import IconButton, label
from app.ui.theme import Theme


class VersionSteps(QWidget):
    """Two arrows around "2 / 3"; hidden while there is one version only.

    Args:
        theme: icons and sizes.
        earlier, later: names of the two arrows.
        parent: the owner.

    Signals:
        chosen(int): index of the version to show.
    """

    chosen = Signal(int)

    def __init__(self, theme: Theme, earlier: str, later: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._index, self._total, self._busy = 0, 1, False
        self.earlier = IconButton(theme, "chevron-left", earlier, self)
        self.earlier.clicked.connect(lambda: self.chosen.emit(self._index - 1))
        self._place = label("", "quiet", self)
        self.later = IconButton(theme, "chevron-right", later, self)
        self.later.clicked.connect(lambda: self.chosen.emit(self._index + 1))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(theme.metrics.ring)
        for widget in (self.earlier, self._place, self.later):
            row.addWidget(widget)
        self.hide()

    @property
    def text(self) -> str:
        """Which version is shown, such as "2 / 3"."""
        return self._place.text()

    def show_place(self, index: int, total: int) -> None:
        """Version `index` of `total` is shown."""
        self._index, self._total = index, total
        self._place.setText(f"{index + 1} / {total}")
        self.setVisible(total > 1)
        self.set_busy(self._busy)

    def set_busy(self, busy: bool) -> None:
        """While a reply runs no other version can be chosen."""
        self._busy = busy
        self.earlier.setEnabled(not busy and self._index > 0)
        self.later.setEnabled(not busy and self._index + 1 < self._total)
