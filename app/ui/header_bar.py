"""The line at the top: panels' buttons, the app's name, the model, and the promise."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.ui.controls import ElidedLabel, IconButton, label
from app.ui.model_picker import ModelPicker
from app.ui.theme import Theme


class HeaderBar(QWidget):
    """Places the parts; the picker's and the buttons' signals are used directly."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._is_temporary = False
        metrics = theme.metrics
        self.setObjectName("header")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(metrics.header_height)
        self.list_button = IconButton(
            theme, "panel-left", self.tr("Show or hide the chats (Ctrl+B)"), self
        )
        self.settings_button = IconButton(
            theme, "settings", self.tr("Show or hide the settings (Ctrl+,)"), self
        )
        self.picker = ModelPicker(theme, self)
        self._brand = label(self.tr("Thinkpane"), "brand", self)
        self._temporary = ElidedLabel("strong", self)
        self._temporary.set_full_text(
            self.tr("Temporary chat: nothing of it is stored"), self.tr("Temporary chat")
        )
        self._promise = ElidedLabel("quiet", self)
        self._promise.set_full_text(self.tr("Local. Nothing leaves this computer."))
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.gap_m, 0, metrics.gap_m, 0)
        row.setSpacing(metrics.gap_m)
        row.addWidget(self.list_button)
        row.addWidget(self._brand)
        row.addSpacing(metrics.gap_xs)
        row.addWidget(self.picker, 0)
        row.addStretch(1)
        row.addWidget(self._temporary)
        row.addWidget(self._promise)
        row.addWidget(self.settings_button)
        self.set_temporary(False)

    @property
    def temporary_text(self) -> str:
        """The mark of a chat that is not stored; empty for any other."""
        return "" if self._temporary.isHidden() else self._temporary.full_text()

    def set_temporary(self, temporary: bool) -> None:
        """Whether the shown chat is one that is not stored; its mark takes the promise's place."""
        self._is_temporary = temporary
        self._temporary.setVisible(temporary)
        self._show_promise(self.width())

    def _show_promise(self, width: int) -> None:
        wide = width >= self._theme.metrics.overlay_below
        self._promise.setVisible(wide and not self._is_temporary)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The promise and the name give way to the model in a narrow window."""
        super().resizeEvent(event)
        width = event.size().width()
        self._show_promise(width)
        self._brand.setVisible(width >= self._theme.metrics.fold_below)
