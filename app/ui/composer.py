"""Where the question is written: grows to eight lines, Enter sends, drafts are told."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFontMetricsF,
    QInputMethodEvent,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QPlainTextEdit,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.chat_view import Attached
from app.pasted_text import clean_paste
from app.ui.attachment_row import AttachmentRow
from app.ui.composing_guard import ComposingGuard
from app.ui.controls import IconButton, TextButton, set_role, wrap_mode_for
from app.ui.theme import Theme

LONG_PASTE_CHARS = 30_000
"""A longer paste goes along as a file does: in one paragraph each key would take over 10 ms."""

MAX_CHARS = 100_000
"""Where pastes have made the field so full, a key takes 50 ms; the next goes along as a file."""

DRAFT_MS = 300


def files_of(source: QMimeData) -> list[str]:
    """Paths of the local files that are dragged or copied; none where it is anything else."""
    return [url.toLocalFile() for url in source.urls() if url.isLocalFile()]


class ComposerEdit(QPlainTextEdit):
    """Plain text; says when Enter was meant to send.

    Signals:
        send_pressed: Enter without Shift, and not to confirm an input method.
        long_text_pasted(str): a paste that is too long to be edited here; it is not put in.
        paste_undone: Undo, right after a long text was pasted.
        focus_changed(bool): for the frame's ring.
        files_dropped(object): paths of files that were dropped or pasted here.
    """

    send_pressed = Signal()
    long_text_pasted = Signal(str)
    paste_undone = Signal()
    focus_changed = Signal(bool)
    files_dropped = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._composing = False
        self._pasted_last = False
        ComposingGuard(self)
        self.textChanged.connect(self._on_changed)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(wrap_mode_for(""))
        self.document().setDocumentMargin(0)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter sends, Shift+Enter breaks the line, an Enter of the input method does neither."""
        if self._pasted_last and event.matches(QKeySequence.StandardKey.Undo):
            self._pasted_last = False
            self.paste_undone.emit()
            return
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
            return
        if self._composing:
            event.accept()
            return
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            # Qt would put a line separator, which is not the newline that the model knows.
            self.textCursor().insertBlock()
            self.ensureCursorVisible()
            return
        self.send_pressed.emit()

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        """Remember whether a word is being composed."""
        super().inputMethodEvent(event)
        self._composing = bool(event.preeditString())

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        """Only text, and files, which go with the question."""
        return source.hasText() or bool(files_of(source))

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste as plain text; what is long is told instead, and so are files."""
        files = files_of(source)
        if files:
            self.files_dropped.emit(files)
            return
        text = source.text()
        full = self.document().characterCount() + len(text) > MAX_CHARS
        if len(text) > LONG_PASTE_CHARS or full:
            self.long_text_pasted.emit(text)
            self._pasted_last = True
            return
        self.insert(clean_paste(text))

    def insert(self, text: str) -> None:
        """Write where the cursor stands, as one step of Undo."""
        self.setWordWrapMode(wrap_mode_for(self.toPlainText() + text))
        self.textCursor().insertText(text)
        self.ensureCursorVisible()

    def _on_changed(self) -> None:
        self._pasted_last = False

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Tell the frame."""
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Tell the frame; what was being composed is gone."""
        super().focusOutEvent(event)
        self._composing = False
        self.focus_changed.emit(False)


class Composer(QFrame):
    """Text, thinking switch, Send; while a reply runs Stop takes Send's place.

    Signals:
        submitted(str): the question, without space around it; the field is empty again.
        stop_requested: the Stop button.
        draft_changed(str): some time after the text changed, and at once by `flush_draft`.
        thinking_toggled(bool): the switch.
        kept_back: Enter while a reply runs that was not stopped; the text stays.
        files_dropped(object), long_text_pasted(str), paste_undone, attachment_removed(int),
        attachment_inlined(int), send_held_back: as of app.chat_view.
        attach_chosen: the button that asks for files.
    """

    submitted = Signal(str)
    stop_requested = Signal()
    draft_changed = Signal(str)
    thinking_toggled = Signal(bool)
    kept_back = Signal()
    files_dropped = Signal(object)
    long_text_pasted = Signal(str)
    paste_undone = Signal()
    attachment_removed = Signal(int)
    attachment_inlined = Signal(int)
    send_held_back = Signal()
    attach_chosen = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._busy = False
        self._stopping = False
        self._chat_id = ""
        self._can_think = True
        self._thinking_enabled = True
        self.setObjectName("composer")
        self.edit = ComposerEdit(self)
        self.edit.setAccessibleName(self.tr("Question"))
        self.edit.send_pressed.connect(self.submit)
        self.edit.long_text_pasted.connect(self.long_text_pasted)
        self.edit.paste_undone.connect(self.paste_undone)
        self.edit.focus_changed.connect(self._on_focus)
        self.edit.files_dropped.connect(self.files_dropped)
        self.edit.textChanged.connect(self._on_text)
        self.edit.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.thinking = TextButton("", "pill", self)
        self.thinking.setCheckable(True)
        self.thinking.clicked.connect(self.thinking_toggled)
        self.send = TextButton(self.tr("Send"), "primary", self)
        self.send.setToolTip(self.tr("Send the question (Enter)"))
        self.send.clicked.connect(self.submit)
        self.stop = TextButton(self.tr("Stop"), "plain", self)
        self.stop.setToolTip(self.tr("Stop the answer (Esc)"))
        self.stop.clicked.connect(self.stop_requested)
        self.attach = IconButton(
            theme, "paperclip", self.tr("Attach text files (or drop them here)"), self
        )
        self.attach.clicked.connect(self.attach_chosen)
        self.attachments = AttachmentRow(theme, self)
        self.attachments.removed.connect(self._on_removed)
        self.attachments.inlined.connect(self.attachment_inlined)
        self._draft_timer = QTimer(self)
        self._draft_timer.setSingleShot(True)
        self._draft_timer.setInterval(DRAFT_MS)
        self._draft_timer.timeout.connect(self._on_draft)
        self._lay_out()
        theme.changed.connect(self._on_theme)
        self._on_theme()
        self.set_thinking(True)
        self.set_busy(False)
        self.setFocusProxy(self.edit)

    def _lay_out(self) -> None:
        metrics = self._theme.metrics
        side = self._side = QHBoxLayout()
        side.setSpacing(metrics.gap_s)
        side.addWidget(self.attach, 0, Qt.AlignmentFlag.AlignVCenter)
        side.addWidget(self.thinking, 0, Qt.AlignmentFlag.AlignVCenter)
        # In one place of one size, so that nothing moves when one takes the other's.
        self._buttons = QStackedWidget(self)
        self._buttons.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        longest = TextButton(self.tr("Stopping"), "plain", self)  # never shown, only measured
        for button in (self.send, self.stop, longest):
            self._buttons.addWidget(button)
        side.addStretch(1)
        side.addWidget(self._buttons, 0)
        column = QVBoxLayout()
        column.addStretch(1)
        column.addLayout(side)
        row = self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        row.setSpacing(metrics.gap_m)
        row.addWidget(self.edit, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addLayout(column, 0)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(metrics.gap_m, metrics.gap_s, metrics.gap_m, metrics.gap_s)
        whole.setSpacing(metrics.gap_s)
        whole.addWidget(self.attachments)
        whole.addLayout(row)

    def _stack(self) -> None:
        """Put the controls below the field where they would take more than half of its width."""
        below = self.width() < 2 * self._side.sizeHint().width()
        self._show_hint(controls_below=below)
        way = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
        if way is self._row.direction():
            return
        metrics = self._theme.metrics
        self._row.setDirection(way)
        self._row.setSpacing(metrics.gap_s if below else metrics.gap_m)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The controls stand where they have room."""
        super().resizeEvent(event)
        self._stack()

    @property
    def text(self) -> str:
        """What is written."""
        return self.edit.toPlainText()

    def _show_hint(self, *, controls_below: bool) -> None:
        """All of the hint where it has room on the one line that there is."""
        metrics = self._theme.metrics
        whole = self.tr("Ask anything. Enter sends, Shift+Enter breaks the line.")
        beside = 0 if controls_below else self._side.sizeHint().width() + metrics.gap_m
        room = self.width() - beside - 2 * (metrics.gap_m + metrics.gap_s)
        fits = QFontMetricsF(self._theme.font("text")).horizontalAdvance(whole) <= room
        self.edit.setPlaceholderText(whole if fits else self.tr("Ask anything"))

    def set_text(self, text: str) -> None:
        """Put a text in, such as a draft; it is not told as a changed draft."""
        self.edit.setWordWrapMode(wrap_mode_for(text))
        self.edit.setPlainText(text[:MAX_CHARS])
        self.edit.moveCursor(self.edit.textCursor().MoveOperation.End)
        self._draft_timer.stop()

    def take_suggestion(self, text: str) -> None:
        """Put a suggested question in, to be changed or sent."""
        self.set_text(text)
        self.setFocus()

    def show_draft(self, chat_id: str, draft: str) -> None:
        """Put the draft of a chat in; words that were typed just now and not told yet stay."""
        typed = self.text if self._draft_timer.isActive() else ""
        same, self._chat_id = chat_id == self._chat_id, chat_id
        if not typed:
            self.set_text(draft)
        elif draft and not same:
            self.edit.setPlainText(f"{draft}\n{typed}")
            self.edit.moveCursor(self.edit.textCursor().MoveOperation.End)

    def set_busy(self, busy: bool) -> None:
        """A running reply shows Stop; what is typed meanwhile stays."""
        self._busy = busy
        self._buttons.setCurrentWidget(self.stop if busy else self.send)
        self._update_send()

    def set_stopping(self, stopping: bool) -> None:
        """Stop was asked for and is not done yet; a new question need not wait for that."""
        self._stopping = stopping
        self.stop.setEnabled(not stopping)
        self.stop.setText(self.tr("Stopping") if stopping else self.tr("Stop"))

    def set_thinking(self, enabled: bool) -> None:
        """Follow the setting."""
        self._thinking_enabled = enabled
        self._show_thinking()

    def set_can_think(self, can_think: bool) -> None:
        """Whether the model can think at all; the switch says so where it cannot."""
        self._can_think = can_think
        self._show_thinking()

    def _show_thinking(self) -> None:
        enabled = self._thinking_enabled and self._can_think
        self.thinking.setEnabled(self._can_think)
        self.thinking.setChecked(enabled)
        if not self._can_think:
            self.thinking.setText(self.tr("Does not think"))
            self.thinking.setToolTip(
                self.tr("This model answers at once. Choose another one to see its thinking.")
            )
            return
        self.thinking.setText(self.tr("Thinking on") if enabled else self.tr("Thinking off"))
        self.thinking.setToolTip(self.tr("Whether the model thinks before it answers"))

    def submit(self) -> None:
        """Send what is written, if anything is; while a reply runs it stays here."""
        text = self.text.strip()
        if not text and not self.attachments.chips:
            return
        if self._busy and not self._stopping:
            self.kept_back.emit()
            return
        if not self.attachments.can_send:
            self.send_held_back.emit()
            return
        self.edit.clear()
        self._draft_timer.stop()
        self.submitted.emit(text)

    def show_attachments(self, attached: Attached) -> None:
        """Show the files that go with the question."""
        self.attachments.show_attachments(attached)
        self._update_send()
        # Now, not with the next events: a frame in between had the note over the question.
        for widget in (self, self.parentWidget()):
            if widget is not None and (layout := widget.layout()) is not None:
                layout.activate()

    def insert_text(self, text: str) -> None:
        """Write where the cursor stands, and let the keyboard go on there."""
        self.edit.insert(text)
        self.edit.setFocus()

    def _on_removed(self, index: int) -> None:
        self.attachment_removed.emit(index)
        if not self.attachments.focus_last():
            self.edit.setFocus()

    def flush_draft(self) -> None:
        """Tell a changed draft now, before the chat is left."""
        if self._draft_timer.isActive():
            self._draft_timer.stop()
            self._on_draft()

    def _on_draft(self) -> None:
        self.draft_changed.emit(self.text)

    def _on_text(self) -> None:
        self._draft_timer.start()
        # The layout tells no new size when a text goes whose scroll bar had just come.
        self._fit()
        self._update_send()

    def _update_send(self) -> None:
        empty = self.edit.document().isEmpty() and not self.attachments.chips
        self.send.setEnabled(not empty)

    def _on_focus(self, focused: bool) -> None:
        set_role(self, "focused", "true" if focused else "false")

    def _fit(self) -> None:
        """As high as the text, from one line to eight."""
        metrics = self._theme.metrics
        line = QFontMetricsF(self.edit.font()).lineSpacing()
        lines = min(metrics.composer_max_lines, max(1, round(self.edit.document().size().height())))
        scrolls = self.edit.document().size().height() > metrics.composer_max_lines
        policy = Qt.ScrollBarPolicy
        self.edit.setVerticalScrollBarPolicy(
            policy.ScrollBarAsNeeded if scrolls else policy.ScrollBarAlwaysOff
        )
        self.edit.setFixedHeight(round(line * lines) + metrics.gap_xs)

    def _on_theme(self) -> None:
        self.edit.setFont(self._theme.font("text"))
        # The hint has the viewport's font, which a style sheet leaves one change behind.
        self.edit.viewport().setFont(self._theme.font("text"))
        palette = self.edit.palette()
        palette.setColor(palette.ColorRole.PlaceholderText, self._theme.color("quiet"))
        self.edit.setPalette(palette)
        self._fit()
        self._stack()
