"""The list of keys (F1), made from `app.ui.shortcuts`."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.language import translate
from app.ui.controls import TextButton, label
from app.ui.shortcuts import KEYS, written
from app.ui.theme import Theme
from app.ui.window_place import centred_inside


class KeyList(QWidget):
    """A window of its own above the main one; Esc or F1 closes it."""

    def __init__(self, theme: Theme, over: QWidget) -> None:
        super().__init__(over, Qt.WindowType.Dialog)
        metrics = theme.metrics
        self.setObjectName("window")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Keys"))
        body = QWidget()
        body.setObjectName("settingsBody")
        grid = QGridLayout(body)
        grid.setContentsMargins(metrics.gap_xl, metrics.gap_l, metrics.gap_xl, metrics.gap_l)
        grid.setHorizontalSpacing(metrics.gap_xl)
        grid.setVerticalSpacing(metrics.gap_s)
        grid.setColumnStretch(1, 1)
        self._fill(grid, metrics.gap_l)
        self.area = QScrollArea(self)
        self.area.setObjectName("transcript")
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setWidgetResizable(True)
        self.area.setWidget(body)
        self.area.setAccessibleName(self.windowTitle())
        close = TextButton(self.tr("Close"), "plain", self)
        close.clicked.connect(self.close)
        foot = QHBoxLayout()
        foot.setContentsMargins(metrics.gap_xl, metrics.gap_m, metrics.gap_xl, metrics.gap_m)
        foot.addStretch(1)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.area, 1)
        column.addLayout(foot)
        for keys in ("Escape", "F1"):
            QShortcut(QKeySequence(keys), self).activated.connect(self.close)
        theme.dress(self)
        wanted = body.sizeHint().height() + foot.sizeHint().height()
        size = QSize(metrics.wizard_min_width, min(wanted, over.height()))
        room = over.screen().availableGeometry()
        self.setGeometry(centred_inside(size, over.geometry(), room))
        self.area.setFocus()  # the arrow keys scroll

    def _fill(self, grid: QGridLayout, gap: int) -> None:
        """One line for each meaning; all keys of an action stand in it."""
        place, row = "", 0
        for key in KEYS:
            if key.place != place:
                place = key.place
                heading = label(translate("Shortcuts", place), "group")
                heading.setContentsMargins(0, gap if row else 0, 0, 0)
                grid.addWidget(heading, row, 0, 1, 2)
                row += 1
            grid.addWidget(label("  ".join(map(written, key.keys)), "strong"), row, 0)
            meaning = label(translate("Shortcuts", key.meaning), "label")
            meaning.setWordWrap(True)
            grid.addWidget(meaning, row, 1)
            row += 1
