"""A failure inside a step of the wizard: what happened, what was kept, what to do."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QWidget

from app.ui.controls import TextButton, copy_to_clipboard, label
from app.ui.theme import Theme
from app.ui.wizard_parts import StateIcon, WizardPageArea, wrapped
from app.wizard_view import FailurePage


class FailurePageArea(WizardPageArea):
    """Shows a `FailurePage`; the buttons are those of the footer."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        metrics = theme.metrics
        self._details = ""
        icon = StateIcon(theme)
        icon.show_icon("alert", "danger", self.tr("Failed"))
        self.column.removeWidget(self.title)
        head = QHBoxLayout()
        head.setSpacing(metrics.gap_m)
        head.addWidget(icon, 0, Qt.AlignmentFlag.AlignVCenter)
        head.addWidget(self.title, 1)
        self.column.insertLayout(0, head)
        grid = QGridLayout()
        grid.setHorizontalSpacing(metrics.gap_m)
        grid.setVerticalSpacing(metrics.gap_l)
        self.happened = wrapped("", "label")
        self.kept = wrapped("", "label")
        self.advice = wrapped("", "label")
        rows = (
            (self.tr("What happened"), self.happened),
            (self.tr("What was kept"), self.kept),
            (self.tr("What to do"), self.advice),
        )
        for place, (words, text) in enumerate(rows):
            name = label(words, "amount")
            name.setFixedWidth(metrics.wizard_label_width - metrics.gap_xl)
            name.setWordWrap(True)
            grid.addWidget(name, place, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(text, place, 1)
        grid.setColumnStretch(1, 1)
        self.column.addLayout(grid)
        self.copy = TextButton(self.tr("Copy details"), "accent")
        self.copy.clicked.connect(self._on_copy)
        row = QHBoxLayout()
        # The words of a link stand inside its padding and ring: in line with the texts above.
        indent = metrics.wizard_label_width - metrics.gap_xl + metrics.gap_m
        row.setContentsMargins(indent - metrics.gap_xs - metrics.ring, metrics.gap_m, 0, 0)
        row.addWidget(self.copy)
        row.addStretch(1)
        self.column.addLayout(row)
        self.column.addStretch(1)

    def show_failure(self, page: FailurePage) -> None:
        """Fill the page."""
        self.show_title(page.title, "")
        self.happened.setText(page.happened)
        self.kept.setText(page.kept)
        self.advice.setText(page.advice)
        self._details = page.details
        self.copy.setVisible(bool(page.details))

    def _on_copy(self) -> None:
        copy_to_clipboard(self._details)
        self.copy.confirm(self.tr("Copied"))
