"""Changes an answer, or the thinking before it, in the place of the answer."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextLayout, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from app.ui.button_flow import ButtonFlow
from app.ui.controls import TextButton, label, wrap_mode_for
from app.ui.inline_editor import InlineEditor
from app.ui.theme import Theme
from engine.api import Channel


class _Form(QWidget):
    """Title, hint, text field and three buttons."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        metrics = theme.metrics
        self.title = label("", "strong", self)
        self.title.setMinimumHeight(metrics.pane_header_height)
        self.hint = label("", "quiet", self)
        self.hint.setWordWrap(True)
        self.edit = InlineEditor(self)
        self.edit.setObjectName("field")
        self.main = TextButton("", "primary", self)
        self.other = TextButton("", "plain", self)
        self.cancel = TextButton(self.tr("Cancel"), "plain", self)
        column = QVBoxLayout(self)
        left = metrics.gap_l + metrics.gap_xs
        column.setContentsMargins(left, metrics.gap_m, metrics.gap_l, metrics.gap_m)
        column.setSpacing(metrics.gap_s)
        column.addWidget(self.title)
        column.addWidget(self.hint)
        column.addWidget(self.edit, 1)
        buttons = (self.cancel, self.other, self.main)
        self.flow = ButtonFlow(buttons, metrics.gap_s, self, at_right=True)
        column.addWidget(self.flow)

    def show_words(self, title: str, hint: str, main: str, other: str) -> None:
        """Say what is changed, and what the buttons do."""
        self.title.setText(title)
        self.edit.setAccessibleName(title)
        self.hint.setText(hint)
        self.main.setText(main)
        self.main.setToolTip(self.tr("{action} (Ctrl+Enter)").format(action=main))
        self.other.setText(other)
        self.flow.place()


class ReplyEditor(QWidget):
    """Opened by `begin`; closes itself. Its owner gives it a place while it is open.

    Its parts are made when they are needed first: most replies are never changed.

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
        self._busy = False
        self._form: _Form | None = None
        self.hide()

    def _made(self) -> _Form:
        if self._form is None:
            form = self._form = _Form(self._theme, self)
            form.edit.accepted.connect(self._on_main)
            form.edit.rejected.connect(self.close_editor)
            form.main.clicked.connect(self._on_main)
            form.other.clicked.connect(self._on_other)
            form.cancel.clicked.connect(self.close_editor)
            column = QVBoxLayout(self)
            column.setContentsMargins(0, 0, 0, 0)
            column.addWidget(form)
            self.set_busy(self._busy)
        return self._form

    def set_busy(self, busy: bool) -> None:
        """While a reply runs nothing can be changed; what is being typed stays."""
        self._busy = busy
        if self._form is not None:
            for button in (self._form.main, self._form.other):
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
        return self._made().edit

    def button(self, name: str) -> TextButton:
        """The button "main", "other" or "cancel"."""
        form = self._made()
        return {"main": form.main, "other": form.other, "cancel": form.cancel}[name]

    @property
    def channel(self) -> Channel:
        """What is being changed."""
        return self._channel

    def begin(self, channel: Channel, text: str, *, focus: bool = True) -> None:
        """Open with that text in it; with `focus` it gets the keyboard."""
        self._channel = channel
        form = self._made()
        if channel is Channel.ANSWER:
            form.show_words(
                self.tr("Edit the answer"),
                self.tr("The old answer is kept as a version. The model sees the new one."),
                self.tr("Save"),
                self.tr("Continue from here"),
            )
        else:
            form.show_words(
                self.tr("Edit the thinking"),
                self.tr("The old reply is kept as a version. The model goes on from your text."),
                self.tr("Answer from here"),
                self.tr("Continue thinking"),
            )
        form.edit.setWordWrapMode(wrap_mode_for(text))
        form.edit.setFont(self._theme.font("text"))
        form.edit.setPlainText(text)
        form.edit.moveCursor(form.edit.textCursor().MoveOperation.End)
        self.show()
        if focus:
            form.edit.setFocus()
        self.opened_changed.emit()

    def close_editor(self) -> None:
        """Give up what was typed."""
        if self.is_open:
            self.hide()
            self.opened_changed.emit()

    def height_for(self, width: int) -> int:
        """Height that the text wants at that width, within the limits of a comfortable field."""
        metrics, form = self._theme.metrics, self._made()
        inner = width - 2 * metrics.gap_l - metrics.gap_xs
        # Qt refuses to make the field lower, and would push the buttons out of the card instead.
        least_text = form.edit.minimumSizeHint().height()
        line = max(self._theme.line_height("text"), form.edit.fontMetrics().lineSpacing())
        text = max(least_text, self._lines(inner) * line + 2 * metrics.gap_s)
        title = max(metrics.pane_header_height, form.title.sizeHint().height())
        head = title + form.hint.heightForWidth(inner)
        foot = form.flow.heightForWidth(inner) + 2 * metrics.gap_m + 3 * metrics.gap_s
        most, least = 2 * metrics.exchange_min_height, metrics.exchange_min_height
        return min(most, max(least, head + text + foot))

    def _lines(self, width: int) -> int:
        """How many lines the text takes in a field of that width, up to what can be shown."""
        metrics, edit = self._theme.metrics, self._made().edit
        enough = 2 * metrics.exchange_min_height // self._theme.line_height("text")
        room = width - 2 * (metrics.ring + metrics.gap_s + edit.document().documentMargin())
        # No letter is narrower than a pixel: what comes after these is not on the lines shown.
        most_letters = enough * max(1, width)
        option = QTextOption()
        option.setWrapMode(edit.wordWrapMode())
        lines = 0
        for paragraph in edit.toPlainText().split("\n", enough)[:enough]:
            layout = QTextLayout(paragraph[:most_letters], edit.font())
            layout.setTextOption(option)
            layout.beginLayout()
            while lines < enough and (line := layout.createLine()).isValid():
                line.setLineWidth(room)
                lines += 1
            layout.endLayout()
        return lines

    def _on_main(self) -> None:
        self._accept(thinking_closed=True, goes_on=self._channel is Channel.THINKING)

    def _on_other(self) -> None:
        self._accept(thinking_closed=self._channel is Channel.ANSWER, goes_on=True)

    def _accept(self, *, thinking_closed: bool, goes_on: bool) -> None:
        text = self.edit.toPlainText()
        blank = self._channel is Channel.ANSWER and not text.strip()
        if blank or self._busy:
            return
        self.close_editor()
        self.accepted.emit(self._channel, text, thinking_closed, goes_on)
