"""What can be done with a chat of the list, and with all of them, as menus."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QMenu, QWidget

from app.chat_view import ExportFormat
from app.conversation import ConversationSummary
from app.ui.theme import Theme


class ExportMenu(QMenu):
    """An entry for each form in which chats leave the app.

    Signals:
        chosen(object): ExportFormat.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, title: str, parent: QWidget) -> None:
        super().__init__(title, parent)
        self.setIcon(theme.icon("upload"))
        for words, kind in (
            (self.tr("Markdown with thinking…"), ExportFormat.MARKDOWN_WITH_THINKING),
            (self.tr("Markdown without thinking…"), ExportFormat.MARKDOWN),
            (self.tr("JSON, to be imported again…"), ExportFormat.JSON),
        ):
            action = self.addAction(words)
            action.triggered.connect(lambda _=False, kind=kind: self.chosen.emit(kind))


class ConversationMenu(QMenu):
    """The menu of one chat; made anew each time it is asked for.

    Signals:
        rename_chosen, delete_chosen: of this chat, done by the list.
        pin_requested(str, bool), duplicate_requested(str): as of app.chat_view.
        export_chosen(str, object): conversation id, ExportFormat.
    """

    rename_chosen = Signal()
    delete_chosen = Signal()
    pin_requested = Signal(str, bool)
    duplicate_requested = Signal(str)
    export_chosen = Signal(str, object)

    def __init__(self, theme: Theme, chat: ConversationSummary, parent: QWidget) -> None:
        super().__init__(parent)
        chat_id = chat.conversation_id
        rename = self.addAction(theme.icon("pencil"), self.tr("Rename"))
        rename.triggered.connect(self.rename_chosen)
        if not chat.temporary:
            words = self.tr("Unpin") if chat.pinned else self.tr("Pin to the top")
            pin = self.addAction(theme.icon("pin"), words)
            pin.triggered.connect(lambda: self.pin_requested.emit(chat_id, not chat.pinned))
        words = self.tr("Keep a copy") if chat.temporary else self.tr("Duplicate")
        duplicate = self.addAction(theme.icon("copy"), words)
        duplicate.triggered.connect(lambda: self.duplicate_requested.emit(chat_id))
        exports = ExportMenu(theme, self.tr("Export"), self)
        exports.chosen.connect(lambda kind: self.export_chosen.emit(chat_id, kind))
        self.addMenu(exports)
        self.addSeparator()
        delete = self.addAction(theme.icon("trash"), self.tr("Delete"))
        delete.triggered.connect(self.delete_chosen)

    def open_at(self, place: QPoint) -> None:
        """Show it until something is chosen."""
        self.exec(place)
        self.deleteLater()
