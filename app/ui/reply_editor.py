"""Changes an answer, or the thinking before it, in the place of the answer."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from app.ui.button_flow import ButtonFlow
from app.ui.controls import TextButton, label, wrap_mode_for
from app.ui.inline_editor import InlineEditor
from app.ui.theme import Theme
from engine.api import Channel


class ReplyEditor(QWidget):
    """Opened by `begin`; closes itself. Its owner gives it a place while it is open.

    Signals:
        accepted(object, str, bool, bool): channel, text, whether the thinking is closed there, and
            whether the model goes on from there.
        opened_changed: it was opened or closed.
    """

    accepted = Signal(object, str, bool, bool)
    opened_changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._channel = Channel.ANSWER
        self._reply_id = ""
        metrics = theme.metrics
        self._title = label("", "strong", self)
        self._title.setFixedHeight(metrics.pane_header_height)
        self._hint = label("", "quiet", self)
        self._hint.setWordWrap(True)
        self._edit = InlineEditor(self)
        self._edit.setObjectName("field")
        self._edit.accepted.connect(self._on_main)
        self._edit.rejected.connect(self.close_editor)
        self._main = TextButton("", "primary", self)
        self._main.clicked.connect(self._on_main)
        self._other = TextButton("", "plain", self)
        self._other.clicked.connect(self._on_other)
        self._cancel = TextButton(self.tr("Cancel"), "plain", self)
        self._cancel.clicked.connect(self.close_editor)
        column = QVBoxLayout(self)
        left = metrics.gap_l + metrics.gap_xs
        column.setContentsMargins(left, metrics.gap_m, metrics.gap_l, metrics.gap_m)
        column.setSpacing(metrics.gap_s)
        column.addWidget(self._title)
        column.addWidget(self._hint)
        column.addWidget(self._edit, 1)
        buttons = (self._cancel, self._other, self._main)
        self._flow = ButtonFlow(buttons, metrics.gap_s, self, at_right=True)
        column.addWidget(self._flow)
        self._show_channel(Channel.ANSWER)
        self.hide()

    def set_busy(self, busy: bool) -> None:
        """While a reply runs nothing can be changed; what is being typed stays."""
        for button in (self._main, self._other):
            button.setEnabled(not busy)

    def follow(self, reply_id: str) -> None:
        """Know which reply is shown: another version of it is another text."""
        if reply_id != self._reply_id:
            self._reply_id = reply_id
            self.close_editor()

    @property
    def is_open(self) -> bool:
        """Whether something is being changed."""
        return not self.isHidden()

    @property
    def edit(self) -> QPlainTextEdit:
        """The text field."""
        return self._edit

    def button(self, name: str) -> TextButton:
        """The button "main", "other" or "cancel"."""
        return {"main": self._main, "other": self._other, "cancel": self._cancel}[name]

    @property
    def channel(self) -> Channel:
        """What is being changed."""
        return self._channel

    def begin(self, channel: Channel, text: str, *, focus: bool = True) -> None:
        """Open with that text in it; with `focus` it gets the keyboard."""
        self._show_channel(channel)
        self._edit.setWordWrapMode(wrap_mode_for(text))
        self._edit.setFont(self._theme.font("text"))
        self._edit.setPlainText(text)
        self._edit.moveCursor(self._edit.textCursor().MoveOperation.End)
        self.show()
        if focus:
            self._edit.setFocus()
        self.opened_changed.emit()

    def _show_channel(self, channel: Channel) -> None:
        self._channel = channel
        if channel is Channel.ANSWER:
            self._show_words(
                self.tr("Edit the answer"),
                self.tr("The old answer is kept as a version. The model sees the new one."),
                self.tr("Save"),
                self.tr("Continue from here"),
            )
        else:
            self._show_words(
                self.tr("Edit the thinking"),
                self.tr("The old reply is kept as a version. The model goes on from your text."),
                self.tr("Answer from here"),
                self.tr("Continue thinking"),
            )

    def _show_words(self, title: str, hint: str, main: str, other: str) -> None:
        self._title.setText(title)
        self._edit.setAccessibleName(title)
        self._hint.setText(hint)
        self._main.setText(main)
        self._main.setToolTip(self.tr("{action} (Ctrl+Enter)").format(action=main))
        self._other.setText(other)
        self._flow.place()

    def close_editor(self) -> None:
        """Give up what was typed."""
        if self.is_open:
            self.hide()
            self.opened_changed.emit()

    def height_for(self, width: int) -> int:
        """Height that the text wants at that width, within the limits of a comfortable field."""
        metrics = self._theme.metrics
        lines = max(1, self._edit.toPlainText().count("\n") + 1)
        text = lines * self._theme.line_height("text")
        head = self._title.sizeHint().height() + self._hint.heightForWidth(width)
        inner = width - 2 * metrics.gap_l - metrics.gap_xs
        foot = self._flow.heightForWidth(inner) + 2 * metrics.gap_m + 3 * metrics.gap_s
        most, least = 2 * metrics.exchange_min_height, metrics.exchange_min_height
        return min(most, max(least, head + text + foot))

    def _on_main(self) -> None:
        self._accept(thinking_closed=True, goes_on=self._channel is Channel.THINKING)

    def _on_other(self) -> None:
        self._accept(thinking_closed=self._channel is Channel.ANSWER, goes_on=True)

    def _accept(self, *, thinking_closed: bool, goes_on: bool) -> None:
        text = self._edit.toPlainText()
        blank = self._channel is Channel.ANSWER and not text.strip()
        if blank or not self._main.isEnabled():
            return
        self.close_editor()
        self.accepted.emit(self._channel, text, thinking_closed, goes_on)
