"""What the run is doing, in numbers: device, speeds, context in use, GPU memory."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from app.chat_view import Status
from app.number_text import percent_text
from app.ui import wording
from app.ui.controls import label, plain_tooltip
from app.ui.meter import Meter
from app.ui.theme import Theme

WARN_SHARE = 0.7
DANGER_SHARE = 0.9

_FIGURES = str.maketrans("0123456789", "8" * 10)
_WIDEST_SPEED = 88_888
_WIDEST_LATENCY_S = 0.888
_TENTHS_BYTES = 800_000_000


class StatusBar(QWidget):
    """One line; what is unknown is not shown, and what does not fit goes, the last first.

    Nothing on it moves while numbers count: every entry has the room of its widest number, from
    the moment that a model is loaded.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._status = Status()
        metrics = theme.metrics
        self.setObjectName("status")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(self.tr("Status"))
        self._set_height()
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(metrics.gap_l, 0, metrics.gap_l, 0)
        self._row.setSpacing(metrics.gap_xl)
        self._widest: dict[QLabel, str] = {}
        self._advances: dict[str, int] = {}
        self._device = self._label(self.tr("Device"))
        self._prefill = self._label(self.tr("Prefill speed"))
        self._decode = self._label(self.tr("Decode speed"))
        self._first = self._label(self.tr("Time to first token"))
        self._phase = self._label(self.tr("Phase"))
        self._row.addStretch(1)
        self._context = self._label(self.tr("Context"))
        self._context.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
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
        self._widest[widget] = ""
        return widget

    @property
    def texts(self) -> tuple[str, ...]:
        """The entries that have something to say, from left to right."""
        return tuple(part.text() for part in self._widest if part.text())

    def show_status(self, status: Status) -> None:
        """Write the numbers; 0 and None are left out."""
        loaded = bool(status.capacity_tokens)
        self._status = status
        self._write(self._device, status.device)
        prefill, decode = self.tr("prefill"), self.tr("decode")
        self._write(self._prefill, self._speed(prefill, status.prefill_tokens_per_s))
        self._write(self._decode, self._speed(decode, status.decode_tokens_per_s))
        self._write(self._first, self._latency(status.first_token_s))
        self._write(self._phase, status.phase)
        self._widest[self._prefill] = self._speed(prefill, _WIDEST_SPEED) if loaded else ""
        self._widest[self._decode] = self._speed(decode, _WIDEST_SPEED) if loaded else ""
        self._widest[self._first] = self._latency(_WIDEST_LATENCY_S) if loaded else ""
        self._show_context(status)
        self._show_memory(status)
        self._fit()

    def _write(self, part: QLabel, text: str) -> None:
        # QLabel lays out its line anew at each setText, also of the text that it has.
        if part.text() != text:
            part.setText(text)

    def _latency(self, seconds: float) -> str:
        if seconds <= 0:
            return ""
        return self.tr("first token {time}").format(time=wording.latency(seconds))

    def _speed(self, name: str, tokens_per_s: float) -> str:
        if tokens_per_s <= 0:
            return ""
        number = f"{tokens_per_s:,.0f}" if tokens_per_s >= 10 else f"{tokens_per_s:.1f}"
        return self.tr("{name} {number} tok/s").format(name=name, number=number)

    def _show_context(self, status: Status) -> None:
        capacity = status.capacity_tokens
        if not capacity:
            self._context.setText("")
            self._widest[self._context] = ""
            return
        share = status.context_tokens / capacity
        color = "accent"
        if share >= DANGER_SHARE:
            color = "danger"
        elif share >= WARN_SHARE:
            color = "warn"
        self.meter.set_share(share, color)
        self._write(self._context, self._of_capacity(status.context_tokens))
        self._widest[self._context] = self._of_capacity(capacity)
        sentence = self._what_comes(share)
        for part in (self.meter, self._context):
            part.setToolTip(plain_tooltip(sentence))
        self.meter.setAccessibleDescription(sentence)

    def _of_capacity(self, tokens: int) -> str:
        return self.tr("context {used} of {capacity}").format(
            used=wording.count(tokens), capacity=wording.count(self._status.capacity_tokens)
        )

    def _what_comes(self, share: float) -> str:
        """How full the context is, and what will happen; more urgent the fuller it is."""
        percent = percent_text(min(1.0, share))
        if share >= 1:
            text = self.tr(
                "What the model can see is full. For a new question the oldest exchanges must be "
                "left out; they stay in the chat."
            )
        elif share >= DANGER_SHARE:
            text = self.tr(
                "{percent} of what the model can see is in use. Soon a reply will break off, and "
                "for a new question the oldest exchanges must be left out."
            )
        elif share >= WARN_SHARE:
            text = self.tr(
                "{percent} of what the model can see is in use. When it is full, a reply breaks "
                "off, and for a new question the oldest exchanges must be left out."
            )
        else:
            text = self.tr("{percent} of what the model can see is in use.")
        return text.format(percent=percent)

    def _show_memory(self, status: Status) -> None:
        used, total, others = (
            status.gpu_used_bytes,
            status.gpu_total_bytes,
            status.gpu_others_bytes,
        )
        if used is None or not total:
            self._memory.setText("")
            self._widest[self._memory] = ""
            return
        self._write(self._memory, self._memory_text(used, total, others))
        # A whole number is written without its tenths: 12, but 11.8.
        widest = total - total % 10**9 + _TENTHS_BYTES
        self._widest[self._memory] = self._memory_text(
            widest, total, None if others is None else widest
        )
        if others is not None:
            sentence = self.tr(
                "Thinkpane holds {own} GB and other programs {others} GB; {free} GB are free."
            ).format(
                own=wording.gigabytes(max(0, used - others)),
                others=wording.gigabytes(others),
                free=wording.gigabytes(max(0, total - used)),
            )
            self._memory.setToolTip(plain_tooltip(sentence))
            self._memory.setAccessibleDescription(sentence)

    def _memory_text(self, used: int, total: int, others: int | None) -> str:
        text = self.tr("GPU memory {used} of {total} GB").format(
            used=wording.gigabytes(used), total=wording.gigabytes(total)
        )
        if others is None:
            return text
        return self.tr("{memory}, {others} by others").format(
            memory=text, others=wording.gigabytes(others)
        )

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
            self._phase,
        )
        for part in order:
            own = self._width_of(part)
            needed = own + metrics.gap_xl
            if part is self._context:
                needed += self.meter.width() + metrics.gap_xl
            fits = own > 0 and needed <= room
            # Fixed: a label's own wish keeps to an earlier, larger font.
            part.setFixedWidth(own if fits else 0)
            part.setVisible(fits)
            if fits:
                room -= needed
        self.meter.setVisible(not self._context.isHidden())

    def _width_of(self, part: QLabel) -> int:
        """Room of the widest text that is to be expected, or of a still wider one that is there."""
        texts = (part.text(), self._widest[part])
        return max((self._advance(text) for text in texts if text), default=0)

    def _advance(self, text: str) -> int:
        # With eights for all figures, and one font for all parts: measured once, not at each event.
        key = text.translate(_FIGURES)
        if key not in self._advances:
            # Not the part's own font: a style sheet leaves that one change behind.
            font = QFontMetrics(self._theme.font("status"))
            self._advances[key] = font.horizontalAdvance(key) + 1
        return self._advances[key]

    def _set_height(self) -> None:
        usual = self._theme.metrics.status_height
        self.setFixedHeight(self._theme.height_for_words(usual, "status"))

    def _on_theme(self) -> None:
        self._advances.clear()
        self._set_height()
        for part in self._widest:
            part.setFont(self._theme.font("status"))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """See what fits now."""
        super().resizeEvent(event)
        self._fit()
