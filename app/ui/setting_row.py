"""One setting: label, input, slider where it helps, and a sentence when something is odd."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.language import translate
from app.setting_field import BadSetting, SettingField, Value
from app.settings import SETTINGS_CONTEXT, checked
from app.ui.composing_guard import ComposingGuard
from app.ui.controls import label, plain_tooltip
from app.ui.setting_inputs import ChoiceButton, NumberEdit, Slider, Switch
from app.ui.theme import Theme

TEXT_MS = 500
SLIDER_STEPS = 1_000
LONG_RANGE = 200
_CURVE = 3.0


def translated(text: str) -> str:
    """A label, help or choice of `app.settings` in the user's language."""
    return translate(SETTINGS_CONTEXT, text)


class SettingRow(QWidget):
    """Shows a value and asks for another.

    Signals:
        value_chosen(str, object): name of the setting, and a value that it can take.
    """

    value_chosen = Signal(str, object)

    def __init__(self, theme: Theme, field: SettingField, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.field = field
        self._value: Value = field.default
        self._name = translated(field.label)
        self.slider: Slider | None = None
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.input = self._build_input()
        self.input.setToolTip(plain_tooltip(translated(field.help)))
        self.input.setAccessibleDescription(translated(field.help))
        self._message = label("", "warn", self)
        self._message.setWordWrap(True)
        self._message.hide()
        self._column.addWidget(self._message)
        self._warning = ""

    def _build_input(self) -> QWidget:
        field, theme = self.field, self._theme
        if field.kind == "text":
            return self._build_text()
        row = QHBoxLayout()
        row.setSpacing(theme.metrics.gap_s)
        caption = label(self._name, "label", self)
        caption.setWordWrap(True)
        caption.setToolTip(plain_tooltip(translated(field.help)))
        row.addWidget(caption, 1)
        made: QWidget
        if field.kind == "bool":
            switch = Switch(theme, self._name, self)
            switch.clicked.connect(self._choose)
            made = switch
        elif field.kind == "choice":
            choices = tuple((value, translated(word)) for value, word in field.choices)
            button = ChoiceButton(theme, self._name, choices, self)
            button.chosen.connect(self._choose)
            made = button
        else:
            none_label = translated(field.none_label) if field.none_label else ""
            number = NumberEdit(theme, self._name, none_label, self)
            number.committed.connect(self._on_committed)
            number.stepped.connect(self._on_stepped)
            made = number
        row.addWidget(made, 0, Qt.AlignmentFlag.AlignRight)
        self._column.addLayout(row)
        if field.kind in ("float", "int") and field.high - field.low <= SLIDER_STEPS:
            self._build_slider()
        return made

    def _build_slider(self) -> None:
        name = self.tr("{name}, slider").format(name=self._name)
        self.slider = Slider(self._theme, name, self)
        self.slider.setToolTip(plain_tooltip(translated(self.field.help)))
        self.slider.setRange(0, SLIDER_STEPS)
        self.slider.setSingleStep(SLIDER_STEPS // 50)
        self.slider.valueChanged.connect(self._on_slider)
        self._column.addWidget(self.slider)

    def _build_text(self) -> QWidget:
        edit = QPlainTextEdit(self)
        ComposingGuard(edit)
        edit.setObjectName("field")
        edit.setAccessibleName(self._name)
        edit.setPlaceholderText(self.tr("None"))
        edit.setTabChangesFocus(True)
        edit.setFixedHeight(self._theme.metrics.prompt_box_height)
        self._text_timer = QTimer(self)
        self._text_timer.setSingleShot(True)
        self._text_timer.setInterval(TEXT_MS)
        self._text_timer.timeout.connect(self._on_text)
        edit.textChanged.connect(self._text_timer.start)
        self._column.addWidget(edit)
        return edit

    @property
    def message(self) -> str:
        """The sentence below the input; empty when all is well."""
        return "" if self._message.isHidden() else self._message.text()

    def speaks_of(self, words: Sequence[str]) -> bool:
        """Whether name, help, section or choices have all these words (in casefold)."""
        field = self.field
        said = (field.label, field.help, field.section, *(word for _, word in field.choices))
        text = " ".join((field.name, *said, *map(translated, said))).casefold()
        return all(word in text for word in words)

    def show_value(self, value: Value) -> None:
        """Show that value, without asking for it."""
        self._value = value
        if isinstance(self.input, Switch):
            self.input.setChecked(bool(value))
        elif isinstance(self.input, ChoiceButton):
            self.input.show_value(str(value))
        elif isinstance(self.input, NumberEdit):
            self.input.show_text(self._written(value))
        elif isinstance(self.input, QPlainTextEdit) and self.input.toPlainText() != str(value):
            self.input.setPlainText(str(value))
            self._text_timer.stop()
        if self.slider is not None and isinstance(value, int | float):
            self.slider.blockSignals(True)
            self.slider.setValue(self._to_slider(float(value)))
            self.slider.blockSignals(False)
            self.slider.update()
        self._show_message(self._warning, "warn")

    def show_warning(self, text: str) -> None:
        """Show a caution below the input, or none."""
        self._warning = translated(text) if text else ""
        self._show_message(self._warning, "warn")

    def flush(self) -> None:
        """Hand over a text that is still waiting for a pause in the typing."""
        if self.field.kind == "text" and self._text_timer.isActive():
            self._text_timer.stop()
            self._on_text()

    def _show_message(self, text: str, role: str) -> None:
        self._message.setProperty("role", role)
        self._message.setText(text)
        self._message.setVisible(bool(text))

    def _written(self, value: Value) -> str:
        if value is None:
            return ""
        # A seed is a name, not an amount: no separators, so that it can be copied.
        if self.field.name == "seed":
            return str(value)
        return f"{value:,.{self.field.decimals}f}" if isinstance(value, int | float) else str(value)

    def _choose(self, value: object) -> None:
        try:
            accepted = checked(self.field.name, value)
        except BadSetting as error:
            if isinstance(self.input, NumberEdit):
                self.input.mark_invalid()
            self._show_message(
                self.tr("Expected {expected}.").format(expected=error.expected), "warn"
            )
            return
        self.show_value(accepted)
        self.value_chosen.emit(self.field.name, accepted)

    def _on_committed(self, text: str) -> None:
        text = text.replace(",", "").replace(" ", "").strip()
        if not text and self.field.kind == "optional_int":
            self._choose(None)
            return
        value: object = text
        try:
            value = float(text) if self.field.kind == "float" else int(text)
        except ValueError:
            value = text
        self._choose(value)

    def _on_stepped(self, steps: int) -> None:
        field = self.field
        current = self._value if isinstance(self._value, int | float) else field.low
        value = min(field.high, max(field.low, current + steps * field.step))
        self._choose(round(value, field.decimals) if field.kind == "float" else int(value))

    def _curve(self) -> float:
        """Long ranges are bent, so that small values have room on the slider too."""
        field = self.field
        return _CURVE if (field.high - field.low) / field.step > LONG_RANGE else 1.0

    def _to_slider(self, value: float) -> int:
        share = (value - self.field.low) / (self.field.high - self.field.low)
        return round(math.pow(max(0.0, share), 1 / self._curve()) * SLIDER_STEPS)

    def _on_slider(self, place: int) -> None:
        field = self.field
        share = math.pow(place / SLIDER_STEPS, self._curve())
        raw = field.low + share * (field.high - field.low)
        value = min(field.high, max(field.low, round(raw / field.step) * field.step))
        self._choose(round(value, field.decimals) if field.kind == "float" else int(value))

    def _on_text(self) -> None:
        if isinstance(self.input, QPlainTextEdit):
            self._choose(self.input.toPlainText())
