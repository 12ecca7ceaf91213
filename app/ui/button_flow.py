"""Buttons in a row, and in more rows where the width is short."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget


class ButtonFlow(QWidget):
    """Takes the buttons over; each is seen whole as long as the widest one fits.

    Args:
        buttons: from left to right; hidden ones take no room.
        gap: between neighbours, in pixels, in both directions.
        at_right: whether each row ends at the right edge.
    """

    def __init__(
        self,
        buttons: Sequence[QAbstractButton],
        gap: int,
        parent: QWidget | None = None,
        *,
        at_right: bool = False,
    ) -> None:
        super().__init__(parent)
        self._buttons = tuple(buttons)
        self._gap = gap
        self._at_right = at_right
        for button in self._buttons:
            button.setParent(self)
        policy = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def _rows(self, width: int) -> list[list[QAbstractButton]]:
        rows: list[list[QAbstractButton]] = []
        left = 0
        for button in self._buttons:
            if button.isHidden():
                continue
            needed = button.sizeHint().width()
            if not rows or left + needed > width:
                rows.append([])
                left = 0
            rows[-1].append(button)
            left += needed + self._gap
        return rows

    def sizeHint(self) -> QSize:
        """All in one row."""
        sizes = [button.sizeHint() for button in self._buttons if not button.isHidden()]
        width = sum(size.width() for size in sizes) + self._gap * max(0, len(sizes) - 1)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSizeHint(self) -> QSize:
        """The widest button."""
        sizes = [button.sizeHint() for button in self._buttons if not button.isHidden()]
        width = max((size.width() for size in sizes), default=0)
        return QSize(width, self.sizeHint().height())

    def hasHeightForWidth(self) -> bool:
        """Narrower is higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Height of the rows that the buttons take at that width."""
        count = len(self._rows(width))
        return count * self.sizeHint().height() + self._gap * max(0, count - 1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the buttons."""
        super().resizeEvent(event)
        self.place()

    def place(self) -> None:
        """Place the buttons anew, after the words on one have changed."""
        height = self.sizeHint().height()
        top = 0
        for row in self._rows(self.width()):
            widths = [min(button.sizeHint().width(), self.width()) for button in row]
            used = sum(widths) + self._gap * (len(row) - 1)
            left = self.width() - used if self._at_right else 0
            for button, width in zip(row, widths, strict=True):
                button.setGeometry(left, top, width, height)
                left += width + self._gap
            top += height + self._gap
