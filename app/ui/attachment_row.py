"""The files that go with the next question, above the field in which it is written."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.chat_view import Attachment
from app.ui import wording
from app.ui.controls import ElidedLabel, IconButton, label
from app.ui.theme import Theme


class _Chip(QFrame):
    """One file: its name, how many tokens it takes, and the way out.

    Signals:
        removed: the cross was pressed.
    """

    removed = Signal()

    def __init__(self, theme: Theme, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        self.attachment = attachment
        metrics = theme.metrics
        self.setObjectName("chip")
        self._icon = QLabel(self)
        side = metrics.icon
        self._icon.setPixmap(theme.icon("file").pixmap(QSize(side, side)))
        self._name = ElidedLabel("label", self)
        self._name.set_full_text(attachment.name)
        self._size = label(self._size_text(), "quiet" if attachment.fits else "warn", self)
        if not attachment.fits:
            self._size.setToolTip(
                self.tr("With the chat so far this is more than the model can see")
            )
        name = self.tr("Remove {name}").format(name=attachment.name)
        self.close_button = IconButton(theme, "close", name, self)
        self.close_button.clicked.connect(self.removed)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.gap_s, 0, 0, 0)
        row.setSpacing(metrics.gap_xs)
        row.addWidget(self._icon)
        row.addWidget(self._name)
        row.addWidget(self._size)
        row.addWidget(self.close_button)
        self.setAccessibleName(f"{attachment.name}, {self._size_text()}")

    @property
    def text(self) -> str:
        """What the chip says."""
        return f"{self._name.full_text()} {self._size.text()}"

    def _size_text(self) -> str:
        if self.attachment.tokens is None:
            text = self.tr("{count} characters, tokens not counted yet")
            return text.format(count=wording.count(self.attachment.characters))
        return wording.tokens(self.attachment.tokens)


class AttachmentRow(QWidget):
    """Chips side by side, in as many lines as they need; nothing where there are no files.

    Signals:
        removed(int): the place of the file to take out.
    """

    removed = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.chips: list[_Chip] = []
        self._attachments: tuple[Attachment, ...] = ()
        self.setAccessibleName(self.tr("Files of the question"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme)
        self.hide()

    def show_attachments(self, attachments: Sequence[Attachment]) -> None:
        """Show these files."""
        if tuple(attachments) == self._attachments:
            return
        self._attachments = tuple(attachments)
        self._build()

    def _build(self) -> None:
        for chip in self.chips:
            chip.hide()
            chip.deleteLater()
        self.chips = [_Chip(self._theme, each, self) for each in self._attachments]
        for index, chip in enumerate(self.chips):
            chip.removed.connect(lambda index=index: self.removed.emit(index))
            chip.show()
        self.setVisible(bool(self.chips))
        self._arrange()

    def _arrange(self) -> None:
        gap = self._theme.metrics.gap_s
        x = y = line = 0
        for chip in self.chips:
            size = chip.sizeHint()
            width = min(size.width(), max(1, self.width()))
            if x and x + width > self.width():
                x, y, line = 0, y + line + gap, 0
            chip.setGeometry(x, y, width, size.height())
            x += width + gap
            line = max(line, size.height())
        self.setFixedHeight(y + line)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Break the lines anew."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._arrange()

    def _on_theme(self) -> None:
        self._build()

    def focus_last(self) -> bool:
        """Keep the keyboard here while there are files left; false where there are none."""
        if not self.chips:
            return False
        self.chips[-1].close_button.setFocus(Qt.FocusReason.OtherFocusReason)
        return True
