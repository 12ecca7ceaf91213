"""The chats' part of the window: what the list wants, asked for with all that it needs."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.chat_view import ExportFormat
from app.conversation import Conversation
from app.conversation_search import words_of
from app.ui.chat_dialogs import ask_what_to_import, ask_where_to_export
from app.ui.conversation_list import ConversationList
from app.ui.intentions import Intentions
from app.ui.search_marks import SearchMarks

_PASSED_ON = (
    "rename_requested delete_requested undo_delete_requested search_changed erase_requested "
    "pin_requested duplicate_requested conversation_selected new_chat_requested "
    "temporary_chat_requested"
)
_LEAVES_CHAT = (
    "undo_delete_requested duplicate_requested conversation_selected new_chat_requested "
    "temporary_chat_requested import_chosen"
)


class ChatSide(QObject):
    """Connects the list with the window's intentions.

    `leaving()` is called before another chat is shown: what is typed belongs to the one that is
    left.
    """

    def __init__(
        self,
        window: Intentions,
        chats: ConversationList,
        marks: SearchMarks,
        leaving: Callable[[], None],
    ) -> None:
        super().__init__(chats)
        self._window = window
        self._chats = chats
        self._marks = marks
        for name in _LEAVES_CHAT.split():
            getattr(chats, name).connect(leaving)
        for name in _PASSED_ON.split():
            getattr(chats, name).connect(getattr(window, name))
        chats.search_changed.connect(self._on_search)
        chats.next_place_requested.connect(lambda: marks.step(1))
        chats.export_chosen.connect(self._on_export)
        chats.import_chosen.connect(self._on_import)

    def on_shown(self, conversation: Conversation) -> None:
        """A chat was opened; while something is searched for, go to where it stands there."""
        self._marks.show_words(words_of(self._chats.search.text()))
        if conversation.exchanges:
            self._marks.jump()

    def _on_search(self, text: str) -> None:
        self._marks.show_words(words_of(text))

    def _on_export(self, conversation_id: str, kind: ExportFormat) -> None:
        name = self._chats.title_of(conversation_id) or self.tr("All chats")
        path = ask_where_to_export(self._window, name, kind)
        if path:
            self._window.export_requested.emit(conversation_id, kind, path)

    def _on_import(self) -> None:
        path = ask_what_to_import(self._window)
        if path:
            self._window.import_requested.emit(path)
