"""Where temporary chats live: a database in memory, in the place of the one on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from app.conversation import Conversation, StreamedText
from app.conversation_database import memory_store
from app.conversation_store import ConversationStore

T = TypeVar("T")


class TemporaryChats:
    """Does for temporary chats what `StoreThread` does for the others, at once and without a file.

    Satisfies `app.conversation_list.StorePort`. All of it is gone with the process.
    """

    def __init__(self) -> None:
        self._store = memory_store(keeps_temporary=True)

    def write(self, write: Callable[[ConversationStore], object]) -> None:
        """Carry out a write."""
        write(self._store)

    def read(self, read: Callable[[ConversationStore], T], on_done: Callable[[T], None]) -> None:
        """Ask; `on_done` is called before this returns."""
        on_done(read(self._store))

    def append_text(self, reply_id: str, streamed: StreamedText) -> None:
        """Nothing: the running reply holds its text, and no crash is to be survived."""

    def save_draft(self, conversation: Conversation) -> None:
        """Keep the unsent text of a chat."""
        self._store.save_draft(conversation)

    def close(self) -> None:
        """Forget all of it."""
        self._store.close()
