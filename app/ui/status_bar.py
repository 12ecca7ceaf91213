"""What the run is doing, in numbers: device, speeds, context in use, GPU memory."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.chat_view import Status
from app.ui import wording
from app.ui.controls import label
from app.ui.meter import Meter
from app.ui.theme import Theme

WARN_SHARE = 0.7
DANGER_SHARE = 0.9


class StatusBar(QWidget):
    """One line; what is unknown is not shown, and what does not fit goes, the last first."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        metrics = theme.metrics
        self.setObjectName("status")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Status"))
        self.setFixedHeight(metrics.status_height)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(metrics.gap_l, 0, metrics.gap_l, 0)
        self._row.setSpacing(metrics.gap_xl)
        self._device = self._label(self.tr("Device"))
        self._prefill = self._label(self.tr("Prefill speed"))
        self._decode = self._label(self.tr("Decode speed"))
        self._first = self._label(self.tr("Time to first token"))
        self._row.addStretch(1)
        self._context = self._label(self.tr("Context"))
        self.meter = Meter(theme, self.tr("Context in use"), metrics.meter_width, self)
        self._row.removeWidget(self._context)
        pair = QHBoxLayout()
        pair.setSpacing(metrics.gap_s)
        pair.addWidget(self._context)
        pair.addWidget(self.meter)
        self._row.addLayout(pair)
        self._memory = self._label(self.tr("GPU memory"))
        theme.changed.connect(self._on_theme)
        self.show_status(Status())

    def _label(self, name: str) -> QLabel:
        widget = label("", "status", self)
        widget.setAccessibleName(name)
        widget.setFont(self._theme.font("status"))
        self._row.addWidget(widget)
        return widget

    @property
    def texts(self) -> tuple[str, ...]:
        """The entries that have something to say, from left to right."""
        return tuple(part.text() for part in self._parts() if part.text())

    def _parts(self) -> tuple[QLabel, ...]:
        return (
            self._device,
            self._prefill,
            self._decode,
            self._first,
            self._context,
            self._memory,
        )

    def show_status(self, status: Status) -> None:
        """Write the numbers; 0 and None are left out."""
        self._device.setText(status.device)
        self._prefill.setText(self._speed(self.tr("prefill"), status.prefill_tokens_per_s))
        self._decode.setText(self._speed(self.tr("decode"), status.decode_tokens_per_s))
        first = ""
        if status.first_token_s > 0:
            first = self.tr("first token {time}").format(time=wording.latency(status.first_token_s))
        self._first.setText(status.phase or first)
        self._show_context(status)
        memory = ""
        if status.gpu_used_bytes is not None and status.gpu_total_bytes:
            memory = self.tr("GPU memory {used} of {total} GB").format(
                used=wording.gigabytes(status.gpu_used_bytes),
                total=wording.gigabytes(status.gpu_total_bytes),
            )
        self._memory.setText(memory)
        self._fit()

    def _speed(self, name: str, tokens_per_s: float) -> str:
        if tokens_per_s <= 0:
            return ""
        number = f"{tokens_per_s:,.0f}" if tokens_per_s >= 10 else f"{tokens_per_s:.1f}"
        return self.tr("{name} {number} tok/s").format(name=name, number=number)

    def _show_context(self, status: Status) -> None:
        if not status.capacity_tokens:
            self._context.setText("")
            return
        share = status.context_tokens / status.capacity_tokens
        color = "accent"
        if share >= DANGER_SHARE:
            color = "danger"
        elif share >= WARN_SHARE:
            color = "warn"
        self.meter.set_share(share, color)
        self._context.setText(
            self.tr("context {used} of {capacity}").format(
                used=wording.count(status.context_tokens),
                capacity=wording.count(status.capacity_tokens),
            )
        )
        self.meter.setToolTip(self.tr("How much of what the model can see is in use"))

    def _fit(self) -> None:
        """Hide what there is no room for; the context stays longest."""
        metrics = self._theme.metrics
        room = self.width() - 2 * metrics.gap_l
        order = (
            self._context,
            self._decode,
            self._device,
            self._memory,
            self._first,
            self._prefill,
        )
        for part in order:
            needed = part.sizeHint().width() + metrics.gap_xl
            if part is self._context:
                needed += self.meter.width() + metrics.gap_xl
            fits = bool(part.text()) and needed <= room
            part.setVisible(fits)
            if fits:
                room -= needed
        self.meter.setVisible(not self._context.isHidden())

    def _on_theme(self) -> None:
        for part in self._parts():
            part.setFont(self._theme.font("status"))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """See what fits now."""
        super().resizeEvent(event)
        self._fit()
