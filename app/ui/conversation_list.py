"""The chats on the left: new, search, by date, rename in place, delete with undo."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from app.conversation import ConversationSummary
from app.ui.controls import ElidedLabel, TextButton, label
from app.ui.theme import Theme

SEARCH_MS = 200
UNDO_MS = 10_000
_ID = Qt.ItemDataRole.UserRole
_SNIPPET = Qt.ItemDataRole.UserRole + 1

Index = QModelIndex | QPersistentModelIndex


class _RowPainter(QStyledItemDelegate):
    """Paints groups and chats; edits a title in place."""

    renamed = Signal(str, str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        metrics = self._theme.metrics
        if index.data(_ID) is None:
            return QSize(0, metrics.list_group_height)
        grown = self._theme.line_height("thinking") + 2 * metrics.gap_s
        height = max(metrics.list_row_height, grown)
        snippet = metrics.list_snippet_height if index.data(_SNIPPET) else 0
        return QSize(0, height + snippet)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        metrics, theme = self._theme.metrics, self._theme
        area: QRect = option.rect
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        inner = area.adjusted(metrics.gap_m - metrics.ring, 0, -metrics.gap_s, 0)
        if index.data(_ID) is None:
            painter.setPen(theme.color("quiet"))
            painter.setFont(theme.font("group"))
            inner.setBottom(area.bottom() - metrics.gap_xs)
            flags = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom
            painter.drawText(inner, flags, str(index.data()))
            painter.restore()
            return
        self._paint_background(painter, option)
        painter.setPen(theme.color("text"))
        painter.setFont(theme.font("thinking"))
        snippet = str(index.data(_SNIPPET) or "")
        title_area = QRect(inner)
        if snippet:
            title_area.setHeight(inner.height() - metrics.list_snippet_height)
        self._draw_line(painter, title_area, str(index.data()))
        if snippet:
            painter.setPen(theme.color("quiet"))
            painter.setFont(theme.font("group"))
            inner.setTop(title_area.bottom() - metrics.gap_xs)
            inner.setHeight(metrics.list_snippet_height)
            self._draw_line(painter, inner, snippet)
        painter.restore()

    def _paint_background(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        metrics, theme = self._theme.metrics, self._theme
        state = QStyle.StateFlag
        row: QRect = option.rect.adjusted(0, metrics.border, 0, -metrics.border)
        radius = metrics.radius_control
        painter.setPen(Qt.PenStyle.NoPen)
        if option.state & state.State_Selected:
            painter.setBrush(theme.color("user"))
            painter.drawRoundedRect(row, radius, radius)
        elif option.state & state.State_MouseOver:
            painter.setBrush(theme.color("hover"))
            painter.drawRoundedRect(row, radius, radius)
        if option.state & state.State_HasFocus and option.state & state.State_KeyboardFocusChange:
            pen = painter.pen()
            pen.setStyle(Qt.PenStyle.SolidLine)
            pen.setColor(theme.color("accent"))
            pen.setWidth(metrics.ring)
            painter.setPen(pen)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            edge = metrics.border
            painter.drawRoundedRect(row.adjusted(edge, edge, -edge, -edge), radius, radius)

    def _draw_line(self, painter: QPainter, area: QRect, text: str) -> None:
        line = text.replace("\n", " ")
        shown = painter.fontMetrics().elidedText(line, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setObjectName("rename")
        editor.setAccessibleName(self.tr("Title of the chat"))
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        if isinstance(editor, QLineEdit):
            editor.setText(str(index.data()))
            editor.selectAll()

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        if isinstance(editor, QLineEdit):
            title = editor.text().strip()
            if title and title != index.data():
                model.setData(index, title)
                self.renamed.emit(str(index.data(_ID)), title)


class ChatList(QListWidget):
    """Rows of chats and groups; Enter opens, F2 renames, Del deletes.

    Signals:
        opened(str), delete_requested(str): conversation id.
    """

    opened = Signal(str)
    delete_requested = Signal(str)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Keys of the list itself; the rest is Qt's."""
        item = self.currentItem()
        conversation_id = item.data(_ID) if item else None
        if conversation_id and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(conversation_id)
        elif conversation_id and event.key() == Qt.Key.Key_Delete:
            self.delete_requested.emit(conversation_id)
        else:
            super().keyPressEvent(event)


def _falling_times(summaries: Sequence[ConversationSummary]) -> list[float]:
    """When each was used, never earlier than one below it: a clock that was set back is wrong."""
    times: list[float] = []
    latest = 0.0
    for summary in reversed(summaries):
        latest = max(latest, summary.updated_at)
        times.append(latest)
    return times[::-1]


class ConversationList(QWidget):
    """New chat, search, the list, and the undo bar.

    Signals: as of app.chat_view.
    """

    new_chat_requested = Signal()
    conversation_selected = Signal(str)
    rename_requested = Signal(str, str)
    delete_requested = Signal(str)
    undo_delete_requested = Signal(str)
    search_changed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._deleted_id = ""
        self._content: tuple[tuple[ConversationSummary, ...], datetime.date] | None = None
        self._rows: dict[str, int] = {}
        self._newest: tuple[Sequence[ConversationSummary], str | None] | None = None
        self.setObjectName("listPanel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        metrics = theme.metrics
        self.new_chat = TextButton(self.tr("New chat"), "primary", self)
        self.new_chat.setToolTip(self.tr("Begin a new chat (Ctrl+N)"))
        self.new_chat.clicked.connect(self.new_chat_requested)
        self.search = QLineEdit(self)
        self.search.setPlaceholderText(self.tr("Search chats"))
        self.search.setAccessibleName(self.tr("Search chats"))
        self.search.setToolTip(self.tr("Search titles and text (Ctrl+F)"))
        self.search.setClearButtonEnabled(False)
        self.list = ChatList(self)
        self.list.setAccessibleName(self.tr("Chats"))
        self.list.setMouseTracking(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        self.list.setEditTriggers(
            QListWidget.EditTrigger.EditKeyPressed | QListWidget.EditTrigger.DoubleClicked
        )
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        painter = _RowPainter(theme, self.list)
        self.list.setItemDelegate(painter)
        self._empty = label("", "quiet", self)
        self._empty.setWordWrap(True)
        self._empty.setContentsMargins(metrics.gap_xs, metrics.gap_s, metrics.gap_xs, 0)
        self._build_undo_bar()
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.gap_s, metrics.gap_m, metrics.gap_s, metrics.gap_s)
        column.setSpacing(metrics.gap_s)
        for widget in (self.new_chat, self.search):
            row = QHBoxLayout()
            row.setContentsMargins(metrics.gap_xs, 0, metrics.gap_xs, 0)
            row.addWidget(widget)
            column.addLayout(row)
        column.addWidget(self._empty)
        column.addWidget(self.list, 1)
        column.addWidget(self._undo_bar)
        self._search_timer = self._single_shot(SEARCH_MS, self._on_search)
        self._undo_timer = self._single_shot(UNDO_MS, self._hide_undo_bar)
        self.search.textChanged.connect(self._search_timer.start)
        self.list.itemClicked.connect(self._on_item)
        self.list.opened.connect(self.conversation_selected)
        self.list.delete_requested.connect(self._on_delete_key)
        self.list.customContextMenuRequested.connect(self._on_menu)
        painter.renamed.connect(self.rename_requested)
        # Queued: the list still counts as being edited when the editor says that it closes.
        painter.closeEditor.connect(self._on_editor_closed, Qt.ConnectionType.QueuedConnection)
        theme.changed.connect(self._on_theme)

    def _single_shot(self, interval_ms: int, slot: object) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(interval_ms)
        timer.timeout.connect(slot)
        return timer

    def _build_undo_bar(self) -> None:
        metrics = self._theme.metrics
        self._undo_bar = QFrame(self)
        self._undo_bar.setObjectName("undo")
        row = QHBoxLayout(self._undo_bar)
        row.setContentsMargins(metrics.gap_m, metrics.gap_xs, metrics.gap_xs, metrics.gap_xs)
        self._undo_text = ElidedLabel("quiet", self._undo_bar)
        row.addWidget(self._undo_text, 1)
        self.undo = TextButton(self.tr("Undo"), "accent", self._undo_bar)
        self.undo.setToolTip(self.tr("Bring the deleted chat back"))
        self.undo.clicked.connect(self._on_undo)
        row.addWidget(self.undo)
        self._undo_bar.hide()

    @property
    def undo_bar(self) -> QFrame:
        """Shown for a while after a chat was deleted."""
        return self._undo_bar

    @property
    def empty_text(self) -> str:
        """What stands in place of an empty list."""
        return "" if self._empty.isHidden() else self._empty.text()

    def show_conversations(
        self, summaries: Sequence[ConversationSummary], selected_id: str | None
    ) -> None:
        """Fill the list in the given order, under Today, Yesterday and Earlier.

        While a title is being edited the list stays as it is, and is filled when that is done.
        """
        if self.list.state() is QListWidget.State.EditingState:
            self._newest = (summaries, selected_id)
            return
        scroll = self.list.verticalScrollBar().value()
        today = datetime.date.today()
        content = (tuple(summaries), today)
        if content != self._content:
            self._content = content
            self._fill(summaries, today)
        row = self._rows.get(selected_id or "", -1)
        if row != self.list.currentRow():
            self.list.setCurrentRow(row)
        self.list.verticalScrollBar().setValue(scroll)
        searched = self.search.text().strip()
        self._empty.setText(
            self.tr("No chat contains “{text}”.").format(text=searched)
            if searched
            else self.tr("Your chats will be listed here.")
        )
        self._empty.setVisible(not summaries)

    def _fill(self, summaries: Sequence[ConversationSummary], today: datetime.date) -> None:
        self.list.clear()
        self._rows.clear()
        group = ""
        for summary, updated_at in zip(summaries, _falling_times(summaries), strict=True):
            name = self._group_of(updated_at, today)
            if name != group:
                group = name
                header = QListWidgetItem(name)
                header.setFlags(Qt.ItemFlag.NoItemFlags)
                self.list.addItem(header)
            item = QListWidgetItem(summary.title or self.tr("New chat"))
            item.setData(_ID, summary.conversation_id)
            item.setData(_SNIPPET, summary.snippet)
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

    def _group_of(self, updated_at: float, today: datetime.date) -> str:
        days = (today - datetime.date.fromtimestamp(updated_at)).days
        if days <= 0:
            return self.tr("Today")
        return self.tr("Yesterday") if days == 1 else self.tr("Earlier")

    def rename_current(self) -> None:
        """Edit the title of the chosen chat."""
        item = self.list.currentItem()
        if item is not None and item.data(_ID):
            self.list.editItem(item)

    def delete(self, conversation_id: str) -> None:
        """Ask for the chat to be deleted, and offer to undo it."""
        title = next(
            (
                self.list.item(row).text()
                for row in range(self.list.count())
                if self.list.item(row).data(_ID) == conversation_id
            ),
            "",
        )
        self._deleted_id = conversation_id
        self._undo_text.set_full_text(self.tr("Deleted “{title}”").format(title=title))
        self._undo_bar.show()
        self._undo_timer.start()
        self.delete_requested.emit(conversation_id)

    def _on_delete_key(self, conversation_id: str) -> None:
        """Who deletes by key takes it back by key: the next one is for "Undo"."""
        self.delete(conversation_id)
        self.undo.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _hide_undo_bar(self) -> None:
        if self.undo.hasFocus():
            self.list.setFocus()
        self._undo_bar.hide()

    def _on_undo(self) -> None:
        self._hide_undo_bar()
        self.undo_delete_requested.emit(self._deleted_id)

    def _on_item(self, item: QListWidgetItem) -> None:
        conversation_id = item.data(_ID)
        if conversation_id:
            self.conversation_selected.emit(conversation_id)

    def _on_search(self) -> None:
        self.search_changed.emit(self.search.text().strip())

    def _on_menu(self, place: QPoint) -> None:
        item = self.list.itemAt(place)
        if item is None or not item.data(_ID):
            return
        menu = QMenu(self)
        rename = menu.addAction(self._theme.icon("pencil"), self.tr("Rename"))
        rename.triggered.connect(lambda: self.list.editItem(item))
        delete = menu.addAction(self._theme.icon("trash"), self.tr("Delete"))
        delete.triggered.connect(lambda: self.delete(str(item.data(_ID))))
        menu.exec(self.list.viewport().mapToGlobal(place))
        menu.deleteLater()

    def _on_theme(self) -> None:
        self.list.doItemsLayout()
