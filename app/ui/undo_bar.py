"""The bar that offers to bring a deleted chat back, for a while."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.ui.controls import ElidedLabel, TextButton
from app.ui.theme import Theme

UNDO_MS = 10_000


class UndoBar(QFrame):
    """Says which chat was deleted.

    Signals:
        undo_requested(str): conversation id.
        left: the bar went while its button had the focus.
    """

    undo_requested = Signal(str)
    left = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._deleted_id = ""
        metrics = theme.metrics
        self.setObjectName("undo")
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.gap_m, metrics.gap_xs, metrics.gap_xs, metrics.gap_xs)
        self._text = ElidedLabel("quiet", self)
        row.addWidget(self._text, 1)
        self.button = TextButton(self.tr("Undo"), "accent", self)
        self.button.setToolTip(self.tr("Bring the deleted chat back"))
        self.button.clicked.connect(self._on_undo)
        row.addWidget(self.button)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(UNDO_MS)
        self._timer.timeout.connect(self._go)
        self.hide()

    def offer(self, conversation_id: str, title: str) -> None:
        """Say that the chat was deleted, for some seconds."""
        self._deleted_id = conversation_id
        self._text.set_full_text(self.tr("Deleted “{title}”").format(title=title))
        self.show()
        self._timer.start()

    def _go(self) -> None:
        if self.button.hasFocus():
            self.left.emit()
        self.hide()

    def _on_undo(self) -> None:
        self._go()
        self.undo_requested.emit(self._deleted_id)
