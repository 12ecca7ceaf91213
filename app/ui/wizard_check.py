"""The wizard's first page: what this computer offers, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from app.ui.controls import label
from app.ui.theme import Theme
from app.ui.wizard_parts import StateIcon, WizardPageArea, discard, set_text, wrapped
from app.wizard_view import CheckItem, CheckState

_ICONS = {
    CheckState.OK: ("check", "accent"),
    CheckState.WARN: ("alert", "warn"),
    CheckState.FAIL: ("close", "danger"),
}


class _CheckRow(QWidget):
    """One line: icon, what was looked at, what was found, and below it what that means."""

    def __init__(self, theme: Theme, item: CheckItem, meaning: str) -> None:
        super().__init__()
        metrics = theme.metrics
        self.item = item
        grid = QGridLayout(self)
        grid.setContentsMargins(0, metrics.gap_xs, 0, metrics.gap_xs)
        grid.setHorizontalSpacing(metrics.gap_m)
        grid.setVerticalSpacing(0)
        icon = StateIcon(theme, self)
        icon.show_icon(*_ICONS[item.state], meaning)
        grid.addWidget(icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        name = label(item.label, "label", self)
        name.setFixedWidth(metrics.wizard_label_width)
        name.setWordWrap(True)
        grid.addWidget(name, 0, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(wrapped(item.found, "label", self), 0, 2)
        advice = wrapped("", "danger" if item.state is CheckState.FAIL else "warn", self)
        set_text(advice, item.advice)
        grid.addWidget(advice, 1, 2)
        grid.setColumnStretch(2, 1)


class CheckPage(WizardPageArea):
    """Shows the checks; while they run, those of the last time stay."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._rows: list[_CheckRow] = []
        self._running = label(self.tr("Looking at this computer."), "quiet")
        row = QHBoxLayout()
        row.addWidget(self._running)
        self.column.addLayout(row)
        self.column.addStretch(1)

    def show_checks(self, items: Sequence[CheckItem], *, running: bool) -> None:
        """Fill the page."""
        self.show_title(
            self.tr("Check this computer"),
            self.tr(
                "Thinkpane answers on this computer alone. This is what it found, and what it "
                "means for you."
            ),
        )
        if [row.item for row in self._rows] != list(items):
            self._fill(items)
        self._running.setVisible(running)

    def _fill(self, items: Sequence[CheckItem]) -> None:
        for row in self._rows:
            self.column.removeWidget(row)
            discard(row)
        meanings = {
            CheckState.OK: self.tr("Good"),
            CheckState.WARN: self.tr("Mind this"),
            CheckState.FAIL: self.tr("This has to be solved first"),
        }
        self._rows = [_CheckRow(self.theme, item, meanings[item.state]) for item in items]
        for place, row in enumerate(self._rows):
            # Behind title, lead and the space below them.
            self.column.insertWidget(3 + place, row)
