"""The wizard's pages of download and check: a row for each file, all together, speed, time left."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.ui.controls import ElidedLabel, TextButton, label
from app.ui.theme import Theme
from app.ui.wizard_parts import WizardPageArea, discard, set_text, wide_meter, wrapped
from app.wizard_view import DownloadPage, FileRow


class _FileRow(QWidget):
    """Name, bar, amount."""

    def __init__(self, theme: Theme, role: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        metrics = theme.metrics
        row = QHBoxLayout(self)
        row.setContentsMargins(0, metrics.gap_s, 0, metrics.gap_s)
        row.setSpacing(metrics.gap_m)
        self.name = ElidedLabel(role, self)
        self.name.setFixedWidth(metrics.wizard_label_width)
        self.meter = wide_meter(theme, self.tr("Progress"))
        self.amount = label("", "amount", self)
        self.amount.setMinimumWidth(metrics.wizard_amount_width)
        self.amount.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.name)
        row.addWidget(self.meter, 1)
        row.addWidget(self.amount)

    def show_row(self, row: FileRow) -> None:
        """Fill the row."""
        self.name.set_full_text(row.label)
        self.meter.setAccessibleName(row.label)
        self.meter.set_share(row.share)
        self.amount.setText(row.amount)


class TransferPage(WizardPageArea):
    """Shows a `DownloadPage`.

    Signals:
        demo_requested(): use the demo model meanwhile.
    """

    demo_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        metrics = theme.metrics
        self.rows: list[_FileRow] = []
        self._files = QVBoxLayout()
        self._files.setSpacing(0)
        self.column.addLayout(self._files)
        self.total = _FileRow(theme, "label")
        self.column.addWidget(self.total)
        self.column.addSpacing(metrics.gap_s)
        self.speed = wrapped("", "label")
        self.waiting = wrapped("", "warn")
        self.disk = wrapped("", "quiet")
        for widget in (self.speed, self.waiting, self.disk):
            self.column.addWidget(widget)
        self.column.addSpacing(metrics.gap_l)
        self.offer = self._make_offer()
        self.column.addWidget(self.offer)
        self.column.addStretch(1)

    def _make_offer(self) -> QFrame:
        metrics = self.theme.metrics
        offer = QFrame()
        offer.setObjectName("offer")
        row = QHBoxLayout(offer)
        row.setContentsMargins(metrics.gap_l, metrics.gap_m, metrics.gap_l, metrics.gap_m)
        text = wrapped(
            self.tr("Meanwhile the built-in demo model can already think and answer small tasks."),
            "label",
        )
        self.try_demo = TextButton(self.tr("Try it now"), "accent")
        self.try_demo.clicked.connect(self._on_try_demo)
        row.addWidget(text, 1)
        row.addWidget(self.try_demo)
        return offer

    def show_transfer(self, page: DownloadPage) -> None:
        """Fill the page."""
        self.show_title(page.title, page.detail)
        while len(self.rows) < len(page.rows):
            row = _FileRow(self.theme, "label")
            self._files.addWidget(row)
            self.rows.append(row)
        while len(self.rows) > len(page.rows):
            last = self.rows.pop()
            self._files.removeWidget(last)
            discard(last)
        for widget, shown in zip(self.rows, page.rows, strict=True):
            widget.show_row(shown)
        self.total.show_row(page.total)
        set_text(self.speed, page.speed_text)
        set_text(self.waiting, page.waiting_text)
        set_text(self.disk, page.disk_text)
        self.offer.setVisible(page.offers_demo)

    def _on_try_demo(self) -> None:
        self.demo_requested.emit()
