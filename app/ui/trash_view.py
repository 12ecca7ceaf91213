"""The trash: deleted chats, when they went, and the ways back and out."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.conversation import ConversationSummary
from app.ui.controls import IconButton, TextButton, label
from app.ui.conversation_row import ID_ROLE, SNIPPET_ROLE, RowPainter
from app.ui.theme import Theme

KEPT_DAYS = 30


class _TrashList(QListWidget):
    """Enter restores, Del asks to erase.

    Signals:
        restored(str), erase_asked(str): conversation id.
    """

    restored = Signal(str)
    erase_asked = Signal(str)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of the trash itself; the rest is Qt's."""
        item = self.currentItem()
        conversation_id = item.data(ID_ROLE) if item else None
        if conversation_id and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.restored.emit(conversation_id)
        elif conversation_id and event.key() == Qt.Key.Key_Delete:
            self.erase_asked.emit(conversation_id)
        else:
            super().keyPressEvent(event)


class TrashView(QWidget):
    """Stands in the place of the list of chats.

    Signals:
        left: back to the chats.
        restore_requested(str): conversation id.
        erase_requested(object): conversation ids, confirmed.
    """

    left = Signal()
    restore_requested = Signal(str)
    erase_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._asked: tuple[str, ...] = ()
        metrics = theme.metrics
        self.back = IconButton(theme, "chevron-left", self.tr("Back to the chats"), self)
        self.back.clicked.connect(self.left)
        title = label(self.tr("Trash"), "strong", self)
        head = QHBoxLayout()
        head.setSpacing(metrics.gap_xs)
        head.addWidget(self.back)
        head.addWidget(title, 1)
        self._note = label("", "quiet", self)
        self._note.setWordWrap(True)
        self._note.setContentsMargins(metrics.gap_xs, 0, metrics.gap_xs, 0)
        self.list = _TrashList(self)
        self.list.setAccessibleName(self.tr("Deleted chats"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.setItemDelegate(RowPainter(theme, self.list))
        self.list.setEditTriggers(QListWidget.EditTrigger.NoEditTriggers)
        self.list.restored.connect(self.restore_requested)
        self.list.erase_asked.connect(self._on_erase_key)
        self.list.itemSelectionChanged.connect(self._on_selection)
        self._build_actions()
        self._build_question()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.gap_s)
        column.addLayout(head)
        column.addWidget(self._note)
        column.addWidget(self.list, 1)
        column.addWidget(self._question)
        column.addWidget(self._actions)
        self.show_trash(())

    def _build_actions(self) -> None:
        self._actions = QWidget(self)
        self.restore = TextButton(self.tr("Restore"), "plain", self._actions)
        self.restore.setToolTip(self.tr("Put the chosen chat back into the list (Enter)"))
        self.restore.clicked.connect(self._on_restore)
        self.erase = TextButton(self.tr("Erase"), "plain", self._actions)
        self.erase.setToolTip(self.tr("Erase the chosen chat for good (Del)"))
        self.erase.clicked.connect(self._on_erase)
        self.empty = TextButton(self.tr("Empty the trash"), "plain", self._actions)
        self.empty.clicked.connect(self._on_empty)
        row = QHBoxLayout()
        row.setSpacing(self._theme.metrics.gap_s)
        row.addWidget(self.restore, 1)
        row.addWidget(self.erase, 1)
        column = QVBoxLayout(self._actions)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self._theme.metrics.gap_s)
        column.addLayout(row)
        column.addWidget(self.empty)

    def _build_question(self) -> None:
        """What is erased is gone, so that it is asked once more, in the place of the buttons."""
        metrics = self._theme.metrics
        self._question = QFrame(self)
        self._question.setObjectName("undo")
        self._question_text = label("", "label", self._question)
        self._question_text.setWordWrap(True)
        self.confirm = TextButton(self.tr("Erase"), "primary", self._question)
        self.confirm.clicked.connect(self._on_confirm)
        self.keep = TextButton(self.tr("Keep"), "plain", self._question)
        self.keep.clicked.connect(self._end_question)
        row = QHBoxLayout()
        row.addWidget(self.confirm, 1)
        row.addWidget(self.keep, 1)
        column = QVBoxLayout(self._question)
        column.setContentsMargins(metrics.gap_m, metrics.gap_s, metrics.gap_m, metrics.gap_m)
        column.addWidget(self._question_text)
        column.addLayout(row)
        self._question.hide()

    @property
    def question_text(self) -> str:
        """What is asked before something is erased; empty while nothing is."""
        return "" if self._question.isHidden() else self._question_text.text()

    @property
    def count(self) -> int:
        """How many chats are in the trash."""
        return self.list.count()

    def take_focus(self) -> None:
        """Give the keyboard to the list, and choose its first chat where none is chosen.

        Of a single one Qt would make the current row, which no arrow key can choose any more.
        """
        if not self._chosen_id():
            self.list.setCurrentRow(0)
        self.list.setFocus()

    def show_trash(self, summaries: Sequence[ConversationSummary]) -> None:
        """Fill it, the last deleted first."""
        chosen = self._chosen_id()
        self.list.clear()
        today = datetime.date.today()
        for summary in summaries:
            item = QListWidgetItem(summary.title or self.tr("New chat"))
            item.setData(ID_ROLE, summary.conversation_id)
            when = self._when(summary.deleted_at or 0.0, today)
            item.setData(SNIPPET_ROLE, when)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{item.text()}, {when}")
            item.setSizeHint(QSize())
            self.list.addItem(item)
            if summary.conversation_id == chosen:
                self.list.setCurrentItem(item)
        self._note.setText(
            self.tr("Deleted chats stay here for {days} days.").format(days=KEPT_DAYS)
            if summaries
            else self.tr("The trash is empty.")
        )
        self.empty.setEnabled(bool(summaries))
        self._end_question()
        self._on_selection()

    def _when(self, deleted_at: float, today: datetime.date) -> str:
        days = max(0, (today - datetime.date.fromtimestamp(deleted_at)).days)
        left = max(0, KEPT_DAYS - days)
        if days == 0:
            return self.tr("deleted today")
        if days == 1:
            return self.tr("deleted yesterday, {left} days left").format(left=left)
        text = self.tr("{days} days ago, {left} days left")
        return text.format(days=days, left=left)

    def _chosen_id(self) -> str:
        item = self.list.currentItem()
        return str(item.data(ID_ROLE)) if item is not None and item.isSelected() else ""

    def _on_selection(self) -> None:
        chosen = bool(self._chosen_id())
        self.restore.setEnabled(chosen)
        self.erase.setEnabled(chosen)

    def _on_restore(self) -> None:
        if self._chosen_id():
            self.restore_requested.emit(self._chosen_id())

    def _on_erase(self) -> None:
        if self._chosen_id():
            self._on_erase_key(self._chosen_id())

    def _on_erase_key(self, conversation_id: str) -> None:
        item = self.list.currentItem()
        text = self.tr("Erase “{title}” for good? This cannot be undone.")
        self._ask((conversation_id,), text.format(title=item.text()))

    def _on_empty(self) -> None:
        ids = tuple(str(self.list.item(row).data(ID_ROLE)) for row in range(self.list.count()))
        text = self.tr("Erase one chat for good? This cannot be undone.")
        if len(ids) != 1:
            text = self.tr("Erase {count} chats for good? This cannot be undone.")
        self._ask(ids, text.format(count=len(ids)))

    def _ask(self, conversation_ids: tuple[str, ...], text: str) -> None:
        self._asked = conversation_ids
        self._question_text.setText(text)
        self._question.show()
        self._actions.hide()
        # The harmless answer is the one that a hasty Space finds.
        self.keep.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_confirm(self) -> None:
        asked = self._asked
        self._end_question()
        self.erase_requested.emit(asked)

    def _end_question(self) -> None:
        self._asked = ()
        if self.keep.hasFocus() or self.confirm.hasFocus():
            self.list.setFocus()
        self._question.hide()
        self._actions.show()
