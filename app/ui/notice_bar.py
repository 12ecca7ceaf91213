"""Sentences above the composer, each with what can be done about it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.chat_view import Notice
from app.language import translate
from app.ui.button_flow import ButtonFlow
from app.ui.controls import IconButton, TextButton, label, without_mnemonic
from app.ui.theme import Theme

MAX_NOTICES = 3
MOST_PERCENT_FOR_BUTTONS = 55
_ICONS = {"warn": ("alert", "warn"), "error": ("alert", "danger")}


class _NoticeRow(QFrame):
    """One notice; where there is little room its buttons go below its words."""

    action_requested = Signal(str)
    closed = Signal(str)

    def __init__(self, theme: Theme, notice: Notice, parent: QWidget) -> None:
        super().__init__(parent)
        self.notice = notice
        self._theme = theme
        metrics = theme.metrics
        self.setObjectName("notice")
        self.setProperty("kind", notice.kind)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(metrics.gap_m, metrics.gap_s, metrics.gap_s, metrics.gap_s)
        self._grid.setSpacing(metrics.gap_s)
        self._grid.setColumnStretch(1, 1)
        self._icon = QLabel(self)
        self._grid.addWidget(self._icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        self.text = label(notice.text, "label", self)
        self.text.setWordWrap(True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._grid.addWidget(self.text, 0, 1)
        self.buttons = []
        for action, words in notice.actions:
            button = TextButton(without_mnemonic(translate("Actions", words)), "accent", self)
            button.clicked.connect(
                lambda _=False, action=action: self.action_requested.emit(action)
            )
            self.buttons.append(button)
        self._flow = ButtonFlow(self.buttons, metrics.gap_xs, self)
        self._flow.setVisible(bool(self.buttons))
        self._beside = False
        self._place_buttons()
        close = IconButton(theme, "close", self.tr("Dismiss"), self)
        close.clicked.connect(self._on_close)
        self._grid.addWidget(close, 0, 3, Qt.AlignmentFlag.AlignTop)
        theme.changed.connect(self._on_theme)
        self._on_theme()
        if notice.timeout_s is not None:
            QTimer.singleShot(round(notice.timeout_s * 1000), self, self._on_close)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the buttons beside the words or below them."""
        super().resizeEvent(event)
        needed = self._flow.sizeHint().width()
        beside = 100 * needed <= MOST_PERCENT_FOR_BUTTONS * event.size().width()
        if beside is not self._beside:
            self._beside = beside
            self._place_buttons()

    def _place_buttons(self) -> None:
        self._grid.removeWidget(self._flow)
        if self._beside:
            middle = Qt.AlignmentFlag.AlignVCenter
            self._grid.addWidget(self._flow, 0, 2, middle)
        else:
            self._grid.addWidget(self._flow, 1, 0, 1, 4)
        self._flow.setMinimumWidth(self._flow.sizeHint().width() if self._beside else 0)

    def _on_theme(self) -> None:
        name, color = _ICONS.get(self.notice.kind, ("", ""))
        if name:
            side = self._theme.metrics.icon
            self._icon.setPixmap(self._theme.icon(name, color).pixmap(QSize(side, side)))
        self._icon.setVisible(bool(name))

    def _on_close(self) -> None:
        self.closed.emit(self.notice.key)


class NoticeBar(QWidget):
    """Up to three notices, newest last; one of the same key replaces the older.

    Signals:
        action_requested(str): the id of the action that was chosen.
    """

    action_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: list[_NoticeRow] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(theme.metrics.gap_s)
        self.hide()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What is shown, top to bottom."""
        return tuple(row.notice for row in self._rows)

    def action_button(self, key: str, index: int) -> TextButton:
        """A button of the notice of that key. Raises StopIteration if it is not shown."""
        return next(row for row in self._rows if row.notice.key == key).buttons[index]

    def show_notice(self, notice: Notice) -> None:
        """Add or replace; the oldest goes when there are too many."""
        self.hide_notice(notice.key)
        row = _NoticeRow(self._theme, notice, self)
        row.action_requested.connect(self._on_action)
        row.closed.connect(self.hide_notice)
        self._rows.append(row)
        self._column.addWidget(row)
        if len(self._rows) > MAX_NOTICES:
            self.hide_notice(self._rows[0].notice.key)
        self.show()

    def hide_notice(self, key: str) -> None:
        """Take the notice of that key away, if it is there."""
        for row in [row for row in self._rows if row.notice.key == key]:
            self._rows.remove(row)
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self.setVisible(bool(self._rows))

    def _on_action(self, action: str) -> None:
        sender = self.sender()
        if isinstance(sender, _NoticeRow):
            self.hide_notice(sender.notice.key)
        self.action_requested.emit(action)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Words wrap anew."""
        super().resizeEvent(event)
        self.updateGeometry()
