"""The inputs of the settings panel: slider, switch, number, choice; painted by the theme."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFontMetrics,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QMenu, QSlider, QWidget

from app.ui.composing_guard import ComposingGuard
from app.ui.controls import TextButton, is_escape_override, set_role
from app.ui.theme import Theme

_MOST_DIGITS = len(str(2**63))
"""Of a seed, the longest number."""


class Slider(QSlider):
    """A thin line with a knob; a click jumps there, the wheel is left to the panel."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFixedHeight(theme.metrics.slider_height)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Track, filled part, and the knob."""
        metrics, theme = self._theme.metrics, self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        middle, knob = self.height() / 2, metrics.slider_knob
        track = QRectF(0, middle - metrics.slider_track / 2, self.width(), metrics.slider_track)
        painter.setBrush(theme.color("line"))
        painter.drawRoundedRect(track, metrics.slider_track / 2, metrics.slider_track / 2)
        span = max(1, self.maximum() - self.minimum())
        share = (self.value() - self.minimum()) / span
        x = knob / 2 + share * (self.width() - knob)
        color = theme.color("accent" if self.isEnabled() else "control_line")
        painter.setBrush(color)
        track.setWidth(x)
        painter.drawRoundedRect(track, metrics.slider_track / 2, metrics.slider_track / 2)
        if self.hasFocus():
            painter.setBrush(theme.color("window"))
            painter.setPen(QPen(color, metrics.ring))
            inset = metrics.ring / 2
            painter.drawEllipse(QPointF(x, middle), knob / 2 - inset, knob / 2 - inset)
        else:
            painter.drawEllipse(QPointF(x, middle), knob / 2, knob / 2)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Jump to the place."""
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self._go_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Follow the mouse."""
        if self.isSliderDown():
            self._go_to(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Let go."""
        self.setSliderDown(False)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scrolling the panel must not change a setting."""
        event.ignore()

    def _go_to(self, x: float) -> None:
        knob = self._theme.metrics.slider_knob
        share = (x - knob / 2) / max(1, self.width() - knob)
        span = self.maximum() - self.minimum()
        self.setValue(self.minimum() + round(min(1.0, max(0.0, share)) * span))


class Switch(QAbstractButton):
    """On or off."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setCheckable(True)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """Of the drawing, with room for the focus ring."""
        metrics = self._theme.metrics
        edge = 2 * metrics.ring
        return QSize(metrics.switch_width + edge, metrics.switch_height + edge)

    def paintEvent(self, event: QPaintEvent) -> None:
        """A track and a knob at its side."""
        metrics, theme = self._theme.metrics, self._theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(0, 0, metrics.switch_width, metrics.switch_height)
        track.moveCenter(QRectF(self.rect()).center())
        radius = metrics.switch_height / 2
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color("accent" if self.isChecked() else "control_line"))
        painter.drawRoundedRect(track, radius, radius)
        margin = metrics.switch_margin
        knob = metrics.switch_height - 2 * margin
        x = track.right() - margin - knob if self.isChecked() else track.left() + margin
        painter.setBrush(theme.color("on_accent" if self.isChecked() else "surface"))
        painter.drawEllipse(QRectF(x, track.top() + margin, knob, knob))
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.color("accent"), metrics.border))
            ring = track.adjusted(-margin, -margin, margin, margin)
            painter.drawRoundedRect(ring, radius + margin, radius + margin)
        painter.end()


class NumberEdit(QLineEdit):
    """A number beside its label; arrow keys step, Enter or leaving commits, Esc takes back.

    Signals:
        committed(str): the text to be read as a number.
        stepped(int): +1 or -1 steps.
    """

    committed = Signal(str)
    stepped = Signal(int)

    def __init__(
        self, theme: Theme, name: str, none_label: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._shown = ""
        ComposingGuard(self)
        self.setPlaceholderText(none_label)
        self.setProperty("kind", "value")
        self.setAccessibleName(name)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self._theme = theme
        theme.changed.connect(self._on_theme)
        self._on_theme()
        self.textChanged.connect(self._on_theme)
        self.editingFinished.connect(self._on_finished)

    def show_text(self, text: str) -> None:
        """Show a valid value."""
        self._shown = text
        self.setText(text)
        set_role(self, "invalid", "false")

    def mark_invalid(self) -> None:
        """The text is not a value of this setting."""
        set_role(self, "invalid", "true")

    def event(self, event: QEvent) -> bool:
        """Esc takes the typing back, before it becomes the window's Stop."""
        if is_escape_override(event) and self.text() != self._shown:
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Up and Down step; Esc takes the typing back."""
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}
        step = steps.get(Qt.Key(event.key()))
        if step is not None:
            self.stepped.emit(step)
        elif event.key() == Qt.Key.Key_Escape and self.text() != self._shown:
            self.show_text(self._shown)
        else:
            super().keyPressEvent(event)

    def _on_theme(self) -> None:
        """As wide as a usual number, or as the word for none; a seed is longer, and whole too."""
        metrics = QFontMetrics(self._theme.font("thinking"))
        cursor = self._theme.metrics.ring
        wide = max(
            metrics.horizontalAdvance("0") * self._theme.metrics.value_chars,
            metrics.horizontalAdvance(self.placeholderText()),
            metrics.horizontalAdvance(self.text()[:_MOST_DIGITS]) + cursor,
        )
        self.setFixedWidth(wide + 2 * self._theme.metrics.gap_m)

    def _on_finished(self) -> None:
        if self.text() != self._shown:
            self.committed.emit(self.text())


class ChoiceButton(TextButton):
    """One of a few words, from a menu.

    Signals:
        chosen(str): the value behind the word.
    """

    chosen = Signal(str)

    def __init__(
        self,
        theme: Theme,
        name: str,
        choices: tuple[tuple[str, str], ...],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("", "choice", parent)
        self._theme = theme
        self._choices = choices
        self._value = ""
        self.setAccessibleName(name)
        self.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        self._menu = QMenu(self)
        self.clicked.connect(self._on_open)
        theme.changed.connect(self._on_theme)
        self._on_theme()

    def show_value(self, value: str) -> None:
        """Show the word of that value."""
        self._value = value
        self.setText(dict(self._choices).get(value, value))

    def _on_open(self) -> None:
        self._menu.clear()
        for value, word in self._choices:
            action = self._menu.addAction(word)
            if value == self._value:
                action.setIcon(self._theme.icon("check", "accent"))
            action.triggered.connect(lambda _=False, value=value: self.chosen.emit(value))
        self._menu.popup(self.mapToGlobal(self.rect().bottomLeft()))

    def _on_theme(self) -> None:
        self.setIcon(self._theme.icon("chevron-down"))
