"""The chats on the left: new, search, by date, rename in place, delete with undo, the trash."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.conversation import ConversationSummary
from app.conversation_search import words_of
from app.ui.controls import IconButton, TextButton, label
from app.ui.conversation_menu import ConversationMenu, ExportMenu
from app.ui.conversation_row import ID_ROLE, SNIPPET_ROLE, TEMPORARY_ROLE, RowPainter
from app.ui.search_field import SearchField
from app.ui.theme import Theme
from app.ui.trash_view import TrashView
from app.ui.undo_bar import UndoBar

SEARCH_MS = 200


class ChatList(QListWidget):
    """Rows of chats and groups; Enter opens, F2 renames, Del deletes, the menu key opens a menu.

    Signals:
        opened(str), delete_requested(str): conversation id.
        menu_requested(object, QPoint): the row's item, and where the menu is to be.
    """

    opened = Signal(str)
    delete_requested = Signal(str)
    menu_requested = Signal(object, QPoint)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of the list itself; the rest is Qt's."""
        if self.state() is QListWidget.State.EditingState:
            event.accept()  # the Enter that ends a title is not meant for the chat
            return
        item = self.currentItem()
        conversation_id = item.data(ID_ROLE) if item else None
        if conversation_id and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(conversation_id)
        elif conversation_id and event.key() == Qt.Key.Key_Delete:
            self.delete_requested.emit(conversation_id)
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Of the row under the pointer, or of the chosen one where a key asked for it."""
        by_key = event.reason() is QContextMenuEvent.Reason.Keyboard
        item = self.currentItem() if by_key else self.itemAt(event.pos())
        if item is None or not item.data(ID_ROLE):
            return
        place = self.visualItemRect(item).bottomLeft() if by_key else event.pos()
        self.menu_requested.emit(item, self.viewport().mapToGlobal(place))


def _falling_times(summaries: Sequence[ConversationSummary]) -> list[float]:
    """When each was used, never earlier than one below it: a clock that was set back is wrong."""
    times: list[float] = []
    latest = 0.0
    for summary in reversed(summaries):
        latest = max(latest, summary.updated_at)
        times.append(latest)
    return times[::-1]


class ConversationList(QWidget):
    """New chat, search, the list, the undo bar, and the trash in the list's place.

    Signals: as of app.chat_view; `export_chosen(str, object)` (conversation id or "" for all,
    ExportFormat) and `import_chosen` still need a path.
    """

    new_chat_requested = Signal()
    conversation_selected = Signal(str)
    rename_requested = Signal(str, str)
    delete_requested = Signal(str)
    undo_delete_requested = Signal(str)
    erase_requested = Signal(object)
    pin_requested = Signal(str, bool)
    duplicate_requested = Signal(str)
    temporary_chat_requested = Signal()
    search_changed = Signal(str)
    next_place_requested = Signal()
    export_chosen = Signal(str, object)
    import_chosen = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._content: tuple[object, ...] | None = None
        self._opens_first = False
        self._rows: dict[str, int] = {}
        self._chats: dict[str, ConversationSummary] = {}
        self._newest: tuple[Sequence[ConversationSummary], str | None] | None = None
        self.setObjectName("listPanel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        metrics = theme.metrics
        self._build_top()
        self._build_list()
        self.undo_bar = UndoBar(theme, self)
        self.undo_bar.undo_requested.connect(self.undo_delete_requested)
        self.undo_bar.left.connect(self.list.setFocus)
        self.trash = TrashView(theme, self)
        self.trash.left.connect(self.show_chats)
        self.trash.restore_requested.connect(self.undo_delete_requested)
        self.trash.erase_requested.connect(self.erase_requested)
        self._build_bottom()
        chats = QWidget(self)
        column = QVBoxLayout(chats)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(metrics.gap_s)
        column.addWidget(self._top)
        column.addWidget(self._empty)
        column.addWidget(self.list, 1)
        column.addWidget(self.undo_bar)
        column.addWidget(self._bottom)
        self._pages = QStackedWidget(self)
        self._pages.addWidget(chats)
        self._pages.addWidget(self.trash)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(metrics.gap_s, metrics.gap_m, metrics.gap_s, metrics.gap_s)
        outer.addWidget(self._pages)
        self._search_timer = QTimer(self)
        self._search_timer.setSingleShot(True)
        self._search_timer.setInterval(SEARCH_MS)
        self._search_timer.timeout.connect(self._on_search)
        self.search.textChanged.connect(self._search_timer.start)
        self.search.returnPressed.connect(self._on_search_key)
        theme.changed.connect(self._on_theme)

    def _build_top(self) -> None:
        metrics = self._theme.metrics
        self._top = QWidget(self)
        self.new_chat = TextButton(self.tr("New chat"), "primary", self._top)
        self.new_chat.setToolTip(self.tr("Begin a new chat (Ctrl+N)"))
        self.new_chat.clicked.connect(self.new_chat_requested)
        self.temporary = IconButton(
            self._theme,
            "temporary",
            self.tr("Temporary chat: nothing of it is stored (Ctrl+Shift+N)"),
            self._top,
        )
        self.temporary.clicked.connect(self.temporary_chat_requested)
        self.search = SearchField(self.tr("Search chats"), self._top)
        self.search.setToolTip(self.tr("Search titles and text (Ctrl+F)"))
        self.search.setClearButtonEnabled(False)
        row = QHBoxLayout()
        row.setSpacing(metrics.gap_xs)
        row.addWidget(self.new_chat, 1)
        row.addWidget(self.temporary)
        column = QVBoxLayout(self._top)
        column.setContentsMargins(metrics.gap_xs, 0, metrics.gap_xs, 0)
        column.setSpacing(metrics.gap_s)
        column.addLayout(row)
        column.addWidget(self.search)

    def _build_list(self) -> None:
        metrics = self._theme.metrics
        self.list = ChatList(self)
        self.list.setAccessibleName(self.tr("Chats"))
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.setEditTriggers(
            QListWidget.EditTrigger.EditKeyPressed | QListWidget.EditTrigger.DoubleClicked
        )
        self._painter = RowPainter(self._theme, self.list)
        self.list.setItemDelegate(self._painter)
        self.list.itemClicked.connect(self._on_item)
        self.list.opened.connect(self.conversation_selected)
        self.list.delete_requested.connect(self._on_delete_key)
        self.list.menu_requested.connect(self._on_menu)
        self._painter.renamed.connect(self.rename_requested)
        # Queued: the list still counts as being edited when the editor says that it closes.
        self._painter.closeEditor.connect(
            self._on_editor_closed, Qt.ConnectionType.QueuedConnection
        )
        self._empty = label("", "quiet", self)
        self._empty.setWordWrap(True)
        # Below the titles' left edge; the margins of a label are the style sheet's.
        self._empty.setIndent(metrics.gap_m - metrics.ring)

    def _build_bottom(self) -> None:
        self._bottom = QWidget(self)
        self.trash_button = TextButton(self.tr("Trash"), "link", self._bottom)
        self.trash_button.setToolTip(self.tr("Show deleted chats"))
        self.trash_button.clicked.connect(self.show_trash_page)
        self.more = IconButton(self._theme, "more", self.tr("Import or export chats"), self._bottom)
        self.more.clicked.connect(self._on_more)
        row = QHBoxLayout(self._bottom)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.trash_button)
        row.addStretch(1)
        # Aligned: the icon's fixed height would else be the most that the words get.
        row.addWidget(self.more, 0, Qt.AlignmentFlag.AlignVCenter)

    @property
    def undo(self) -> TextButton:
        """Brings the chat back that was just deleted."""
        return self.undo_bar.button

    @property
    def empty_text(self) -> str:
        """What stands in place of an empty list."""
        return "" if self._empty.isHidden() else self._empty.text()

    def show_conversations(
        self, summaries: Sequence[ConversationSummary], selected_id: str | None
    ) -> None:
        """Fill the list in the given order: temporary and pinned ones first, the others by date.

        While a title is being edited the list stays as it is, and is filled when that is done.
        """
        if self.list.state() is QListWidget.State.EditingState:
            self._newest = (summaries, selected_id)
            return
        scroll = self.list.verticalScrollBar().value()
        today = datetime.date.today()
        searched = self.search.text().strip()
        self._painter.words = words_of(searched)
        if self._opens_first and summaries:
            first_id = summaries[0].conversation_id
            if first_id == selected_id:
                self.next_place_requested.emit()
            else:
                self.conversation_selected.emit(first_id)
        self._opens_first = False
        content = (tuple(summaries), today, self._painter.words)
        if content != self._content:
            self._content = content
            self._fill(summaries, today)
        row = self._rows.get(selected_id or "", -1)
        if row != self.list.currentRow():
            self.list.setCurrentRow(row)
        self.list.verticalScrollBar().setValue(scroll)
        self._empty.setText(
            self.tr("No chat contains “{text}”.").format(text=searched)
            if searched
            else self.tr("Your chats will be listed here.")
        )
        self._empty.setVisible(not summaries)

    def show_trash(self, summaries: Sequence[ConversationSummary]) -> None:
        """Fill the trash, the last deleted first."""
        self.trash.show_trash(summaries)
        words = self.tr("Trash ({count})") if summaries else self.tr("Trash")
        self.trash_button.setText(words.format(count=len(summaries)))

    def show_trash_page(self) -> None:
        """Show the trash in the place of the chats."""
        self._pages.setCurrentWidget(self.trash)
        self.trash.take_focus()

    def show_chats(self) -> None:
        """Show the chats in the place of the trash."""
        self._pages.setCurrentIndex(0)
        self.list.setFocus()

    def _fill(self, summaries: Sequence[ConversationSummary], today: datetime.date) -> None:
        self.list.clear()
        self._rows.clear()
        self._chats = {summary.conversation_id: summary for summary in summaries}
        group = ""
        by_date = [each for each in summaries if not each.pinned]
        times = dict(zip(map(id, by_date), _falling_times(by_date), strict=True))
        for summary in summaries:
            name = self._group_of(summary, times.get(id(summary), 0.0), today)
            if name != group:
                group = name
                header = QListWidgetItem(name)
                header.setFlags(Qt.ItemFlag.NoItemFlags)
                self.list.addItem(header)
            item = QListWidgetItem(summary.title or self.tr("New chat"))
            item.setData(ID_ROLE, summary.conversation_id)
            snippet = "" if summary.snippet == summary.title else summary.snippet
            item.setData(SNIPPET_ROLE, snippet)
            item.setData(TEMPORARY_ROLE, summary.temporary)
            spoken = [item.text(), name, snippet]
            item.setData(Qt.ItemDataRole.AccessibleTextRole, ", ".join(filter(None, spoken)))
            item.setFlags(
                Qt.ItemFlag.ItemIsEnabled
                | Qt.ItemFlag.ItemIsSelectable
                | Qt.ItemFlag.ItemIsEditable
            )
            self._rows[summary.conversation_id] = self.list.count()
            self.list.addItem(item)

    def _on_editor_closed(self) -> None:
        if self._newest is not None:
            (summaries, selected_id), self._newest = self._newest, None
            self.show_conversations(summaries, selected_id)

    def _group_of(
        self, summary: ConversationSummary, updated_at: float, today: datetime.date
    ) -> str:
        if summary.temporary:
            return self.tr("Temporary, not stored")
        if summary.pinned:
            return self.tr("Pinned")
        days = (today - datetime.date.fromtimestamp(updated_at)).days
        for most, name in (
            (0, self.tr("Today")),
            (1, self.tr("Yesterday")),
            (7, self.tr("Last 7 days")),
            (30, self.tr("Last 30 days")),
        ):
            if days <= most:
                return name
        return self.tr("Earlier")

    def title_of(self, conversation_id: str) -> str:
        """The title in the list; "" for a chat that is not in it."""
        chat = self._chats.get(conversation_id)
        return "" if chat is None else chat.title

    def rename_current(self) -> None:
        """Edit the title of the chosen chat."""
        item = self.list.currentItem()
        if item is not None and item.data(ID_ROLE):
            self.list.editItem(item)

    def delete(self, conversation_id: str) -> None:
        """Ask for the chat to be deleted, and offer to undo it."""
        row = self._rows.get(conversation_id)
        self.undo_bar.offer(conversation_id, self.list.item(row).text() if row is not None else "")
        self.delete_requested.emit(conversation_id)

    def _on_delete_key(self, conversation_id: str) -> None:
        """Who deletes by key takes it back by key: the next one is for "Undo"."""
        self.delete(conversation_id)
        self.undo.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _on_item(self, item: QListWidgetItem) -> None:
        conversation_id = item.data(ID_ROLE)
        if conversation_id:
            self.conversation_selected.emit(conversation_id)

    def _on_search_key(self) -> None:
        """Enter opens the first chat that is found; in an open one it goes to the next place."""
        self._opens_first = bool(self.search.text().strip())
        self._search_timer.stop()
        self._on_search()

    def _on_search(self) -> None:
        self.search_changed.emit(self.search.text().strip())

    def menu_of(self, item: QListWidgetItem) -> ConversationMenu:
        """The menu of the chat in that row."""
        conversation_id = str(item.data(ID_ROLE))
        menu = ConversationMenu(self._theme, self._chats[conversation_id], self)
        menu.rename_chosen.connect(lambda: self.list.editItem(item))
        menu.delete_chosen.connect(lambda: self.delete(conversation_id))
        menu.pin_requested.connect(self.pin_requested)
        menu.duplicate_requested.connect(self.duplicate_requested)
        menu.export_chosen.connect(self.export_chosen)
        return menu

    def _on_menu(self, item: QListWidgetItem, place: QPoint) -> None:
        self.menu_of(item).open_at(place)

    def menu_of_all(self) -> QMenu:
        """What can be done with all chats."""
        menu = QMenu(self)
        take_in = menu.addAction(self._theme.icon("download"), self.tr("Import chats…"))
        take_in.triggered.connect(self.import_chosen)
        exports = ExportMenu(self._theme, self.tr("Export all chats"), menu)
        exports.chosen.connect(lambda kind: self.export_chosen.emit("", kind))
        menu.addMenu(exports)
        return menu

    def _on_more(self) -> None:
        menu = self.menu_of_all()
        menu.exec(self.place_for(menu))
        menu.deleteLater()

    def place_for(self, menu: QMenu) -> QPoint:
        """Above the button, which stands at the lower edge of the window."""
        above = self.more.rect().topLeft() - QPoint(0, menu.sizeHint().height())
        return self.more.mapToGlobal(above)

    def _on_theme(self) -> None:
        self.list.doItemsLayout()
