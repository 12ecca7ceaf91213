"""What goes with the next question, above the field in which it is written: files, long pastes."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.chat_view import Attached, Attachment
from app.number_text import percent_text
from app.ui import wording
from app.ui.controls import ElidedLabel, IconButton, TextButton, label, set_role
from app.ui.theme import Theme


class _Chip(QFrame):
    """One file: its name, its size in bytes and tokens, and the ways out.

    Signals:
        removed: the cross was pressed.
        inlined: its text is to stand in the question.
    """

    removed = Signal()
    inlined = Signal()

    def __init__(self, theme: Theme, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        metrics = theme.metrics
        self.setObjectName("chip")
        self._icon = QLabel(self)
        side = metrics.icon
        self._icon.setPixmap(theme.icon("file").pixmap(QSize(side, side)))
        self._name = ElidedLabel("label", self)
        self._name.set_full_text(attachment.name)
        self._size = label("", "quiet", self)
        self.inline_button = TextButton(self.tr("Put into the text"), "link", self)
        self.inline_button.clicked.connect(self.inlined)
        name = self.tr("Remove {name}").format(name=attachment.name)
        self.close_button = IconButton(theme, "close", name, self)
        self.close_button.clicked.connect(self.removed)
        row = QHBoxLayout(self)
        row.setContentsMargins(metrics.gap_s, 0, 0, 0)
        row.setSpacing(metrics.gap_xs)
        row.addWidget(self._icon)
        row.addWidget(self._name)
        row.addWidget(self._size)
        row.addWidget(self.inline_button)
        row.addWidget(self.close_button)
        self.show_attachment(attachment)

    def show_attachment(self, attachment: Attachment) -> None:
        """Show other figures of the same file; nothing that has the keyboard goes."""
        self.attachment = attachment
        self._size.setText(self._size_text())
        set_role(self._size, "role", "quiet" if attachment.fits else "warn")
        self.inline_button.setVisible(attachment.can_inline)
        self.setAccessibleName(f"{attachment.name}, {self._size_text()}")

    @property
    def text(self) -> str:
        """What the chip says."""
        return f"{self._name.full_text()} {self._size.text()}"

    def _size_text(self) -> str:
        size = wording.text_size(self.attachment.size_bytes)
        tokens, counted = self.attachment.tokens, self.attachment.counted
        if tokens is not None:
            return self.tr("{size}, {tokens}").format(size=size, tokens=wording.tokens(tokens))
        if counted is None:
            return self.tr("{size}, tokens not counted yet").format(size=size)
        text = self.tr("{size}, counting tokens: {percent}")
        return text.format(size=size, percent=percent_text(counted))


class AttachmentRow(QWidget):
    """Chips side by side, in as many lines as they need, and below them what does not fit.

    Signals:
        removed(int): the place of the file to take out.
        inlined(int): the place of the file whose text is to stand in the question.
    """

    removed = Signal(int)
    inlined = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.chips: list[_Chip] = []
        self._attached = Attached()
        self.note = label("", "warn", self)
        self.note.setWordWrap(True)
        self.setAccessibleName(self.tr("Files of the question"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._on_theme)
        self.hide()

    @property
    def can_send(self) -> bool:
        """Whether a question can be sent with these files."""
        return self._attached.can_send

    def show_attachments(self, attached: Attached) -> None:
        """Show these files, and what is to be known of all of them."""
        if attached == self._attached:
            return
        before, self._attached = self._attached.files, attached
        self.note.setText(attached.note)
        if [each.name for each in attached.files] != [each.name for each in before]:
            self._build()
            return
        for chip, attachment in zip(self.chips, attached.files, strict=True):
            chip.show_attachment(attachment)
        self._arrange()

    def _build(self) -> None:
        for chip in self.chips:
            chip.hide()
            chip.deleteLater()
        self.chips = [_Chip(self._theme, each, self) for each in self._attached.files]
        for index, chip in enumerate(self.chips):
            chip.removed.connect(lambda index=index: self.removed.emit(index))
            chip.inlined.connect(lambda index=index: self.inlined.emit(index))
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
        height = y + line
        self.note.setVisible(bool(self._attached.note))
        if self._attached.note:
            top = height + self._theme.metrics.gap_xs
            height = top + self.note.heightForWidth(self.width())
            self.note.setGeometry(0, top, self.width(), height - top)
        self.setFixedHeight(height)

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
