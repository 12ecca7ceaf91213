"""The settings on the right, made from `app.settings.FIELDS`."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.setting_warnings import warnings
from app.settings import (
    FIELDS,
    SECTIONS,
    Settings,
    default_of,
    with_section_defaults,
    with_value,
)
from app.ui.controls import TextButton, label, set_role
from app.ui.preset_bar import PresetBar
from app.ui.search_field import SearchField
from app.ui.setting_row import SettingRow, translated
from app.ui.theme import Theme

BESIDE_COMPOSER = frozenset({"thinking_enabled"})
"""Settings whose only switch stands beside the composer."""


class SettingsPanel(QScrollArea):
    """Shows the settings and asks for other ones.

    Signals:
        settings_changed(object): the new Settings.
        keys_requested: the list of keys is wanted.
    """

    settings_changed = Signal(object)
    keys_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._settings = Settings()
        self._can_think = True
        self.rows: dict[str, SettingRow] = {}
        self._resets: dict[str, TextButton] = {}
        self._headings: dict[str, QWidget] = {}
        self.setObjectName("settingsPanel")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(self.tr("Settings"))
        metrics = theme.metrics
        body = QWidget()
        body.setObjectName("settingsBody")
        self.setWidget(body)
        self._column = QVBoxLayout(body)
        self._column.setContentsMargins(metrics.gap_l, metrics.gap_m, metrics.gap_l, metrics.gap_l)
        self._column.setSpacing(metrics.gap_s)
        self._column.addWidget(label(self.tr("Settings"), "brand", body))
        self.search = SearchField(self.tr("Search settings"), body)
        self.search.textChanged.connect(self._on_search)
        self._column.addWidget(self.search)
        self._nothing = label("", "quiet", body)
        self._nothing.setWordWrap(True)
        self._nothing.hide()
        self._column.addWidget(self._nothing)
        self._memory = label("", "quiet", body)
        self._memory.setWordWrap(True)
        self._memory.hide()
        self.presets = PresetBar(theme, body)
        self._column.addWidget(self.presets)
        for section in SECTIONS:
            self._add_section(section, body)
        self._column.addSpacing(metrics.gap_s)
        self.keys = TextButton(self.tr("All keys (F1)"), "link", body)
        self.keys.clicked.connect(self.keys_requested)
        self._column.addWidget(self.keys, 0, Qt.AlignmentFlag.AlignLeft)
        self._column.addStretch(1)
        self.show_settings(self._settings)

    def _add_section(self, section: str, body: QWidget) -> None:
        metrics = self._theme.metrics
        heading = QWidget(body)
        self._headings[section] = heading
        head = QHBoxLayout(heading)
        head.setContentsMargins(0, metrics.gap_s, 0, 0)
        head.addWidget(label(translated(section), "group", heading), 1)
        reset = TextButton(self.tr("Reset"), "link", heading)
        reset.setAccessibleName(self.tr("Reset {section}").format(section=translated(section)))
        reset.setToolTip(self.tr("Back to the advised values"))
        reset.clicked.connect(lambda: self._reset(section))
        policy = reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        reset.setSizePolicy(policy)
        self._resets[section] = reset
        head.addWidget(reset)
        self._column.addWidget(heading)
        for field in FIELDS:
            if field.section != section or field.name in BESIDE_COMPOSER:
                continue
            row = SettingRow(self._theme, field, body)
            row.value_chosen.connect(self._on_value)
            self.rows[field.name] = row
            self._column.addWidget(row)
            if field.name == "context_tokens":
                self._column.addWidget(self._memory)

    @property
    def settings(self) -> Settings:
        """What is shown."""
        return self._settings

    @property
    def memory_text(self) -> str:
        """The sentence on the memory that the model needs."""
        return self._memory.text()

    def show_settings(self, settings: Settings) -> None:
        """Show those values and the cautions that go with them."""
        self._settings = settings
        cautions = warnings(settings, can_think=self._can_think)
        for name, row in self.rows.items():
            row.show_value(getattr(settings, name))
            row.show_warning(cautions.get(name, ""))
        for section, reset in self._resets.items():
            reset.setVisible(
                any(
                    getattr(settings, field.name) != default_of(settings, field.name)
                    for field in FIELDS
                    if field.section == section and field.name not in BESIDE_COMPOSER
                )
            )

    def minimumSizeHint(self) -> QSize:
        """Wide enough for every row: what stands at their right ends is the values."""
        rows = self._column.minimumSize().width()
        bar = self.verticalScrollBar().sizeHint().width()
        border = self.width() - self.contentsRect().width()
        return QSize(rows + bar + border, super().minimumSizeHint().height())

    def begin_search(self) -> None:
        """Give the keyboard to the search."""
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _on_search(self, text: str) -> None:
        """Show the settings that have every word in their name, help or section."""
        words = text.casefold().split()
        found = {name for name, row in self.rows.items() if row.speaks_of(words)}
        for name, row in self.rows.items():
            row.setVisible(name in found)
        for section, heading in self._headings.items():
            heading.setVisible(any(self.rows[name].field.section == section for name in found))
        self.presets.setVisible(not words)
        self._memory.setVisible(bool(self._memory.text()) and "context_tokens" in found)
        self._nothing.setText(self.tr("No setting contains “{text}”.").format(text=text.strip()))
        self._nothing.setVisible(not found)

    def set_can_think(self, can_think: bool) -> None:
        """Whether the model can think at all; settings of the thinking are disabled otherwise."""
        self._can_think = can_think
        self.rows["thinking_budget_tokens"].setEnabled(can_think)
        self.show_settings(self._settings)

    def show_memory_plan(self, text: str, fits: bool) -> None:
        """Show what the model needs on this device; in the danger colour if it is too much."""
        self._memory.setText(text)
        set_role(self._memory, "role", "quiet" if fits else "danger")
        self._memory.setVisible(bool(text) and not self.rows["context_tokens"].isHidden())

    def reveal(self, name: str, *, focus: bool = True) -> None:
        """Scroll to that setting, and give it the keyboard. Raises KeyError if it is not here."""
        row = self.rows[name]
        self.search.clear()
        # The panel may just have been opened; its rows have their places once it was laid out.
        QTimer.singleShot(0, row, lambda: self.ensureWidgetVisible(row))
        if focus:
            row.input.setFocus(Qt.FocusReason.OtherFocusReason)

    def flush(self) -> None:
        """Hand over what is still being typed."""
        for row in self.rows.values():
            row.flush()

    def place(self) -> tuple[int, str]:
        """How far it is scrolled, and the setting that has the focus ("" for none)."""
        focused = (name for name, row in self.rows.items() if row.isAncestorOf(self.focusWidget()))
        return self.verticalScrollBar().value(), next(focused, "")

    def restore_place(self, place: tuple[int, str]) -> None:
        """Go back to a place that `place` told."""
        scroll, name = place
        if name:
            self.rows[name].input.setFocus()
        # The bar has its range once the panel was laid out.
        QTimer.singleShot(0, self, lambda: self.verticalScrollBar().setValue(scroll))

    def _on_value(self, name: str, value: object) -> None:
        if getattr(self._settings, name) == value:
            return
        self._change(with_value(self._settings, name, value))

    def _reset(self, section: str) -> None:
        enabled = self._settings.thinking_enabled
        settings = with_section_defaults(self._settings, section)
        self._change(with_value(settings, "thinking_enabled", enabled))

    def _change(self, settings: Settings) -> None:
        self.show_settings(settings)
        self.settings_changed.emit(settings)
