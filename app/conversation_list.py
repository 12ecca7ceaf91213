"""The chats: which one is shown, the list beside it, drafts, names, trash, search."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol, TypeVar

from app.chat_view import ChatView, Notice
from app.conversation import Conversation, ConversationSummary, Exchange, StreamedText
from app.conversation_archive import ArchivedChat, with_new_ids
from app.conversation_store import ConversationStore
from app.language import translate
from app.temporary_chats import TemporaryChats

T = TypeVar("T")

MAX_TITLE_CHARACTERS = 200


class StorePort(Protocol):
    """What controllers ask of the chat database; implemented by `StoreThread`."""

    def write(self, write: Callable[[ConversationStore], object]) -> None:
        """Carry out a write after all earlier ones."""
        ...

    def read(self, read: Callable[[ConversationStore], T], on_done: Callable[[T], None]) -> None:
        """Ask the database; `on_done` gets the result on the GUI thread."""
        ...

    def append_text(self, reply_id: str, streamed: StreamedText) -> None:
        """Take streamed text."""
        ...

    def save_draft(self, conversation: Conversation) -> None:
        """Take the unsent text of a chat."""
        ...


def clean_text(text: str) -> str:
    """Text without lone surrogates, which neither SQLite nor a tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


class ConversationList:
    """Knows the chats that are open: the shown one and those with a running reply.

    `showing(conversation_id)` is called before an open chat is shown, `shown_changed` after any,
    `removing` before one goes to the trash, so that its reply can be ended. A temporary chat has a
    store of its own in memory; what is written of a chat goes to `store_of` it.
    """

    def __init__(
        self,
        view: ChatView,
        store: StorePort,
        *,
        wall_clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._view = view
        self._store = store
        self._wall_clock = wall_clock
        self._new_id = new_id
        self._temporary: TemporaryChats | None = None
        self._temporary_ids: set[str] = set()
        self._open: dict[str, Conversation] = {}
        self._wanted_id = ""
        self._coming_id = ""
        self._shown_id = ""
        self._search = ""
        self.shown_listeners: list[Callable[[str], None]] = []
        self.shown_changed: Callable[[str], None] = lambda conversation_id: None
        self.showing: Callable[[str], None] = lambda conversation_id: None
        self.settings_shown: Callable[[Conversation], None] = lambda conversation: None
        self.removing: Callable[[str], None] = lambda conversation_id: None
        self.is_busy: Callable[[str], bool] = lambda conversation_id: False

    @property
    def shown(self) -> Conversation:
        """The chat in the window."""
        return self._open[self._shown_id]

    @property
    def search(self) -> str:
        """What is searched for; "" for nothing."""
        return self._search

    @property
    def shown_id(self) -> str:
        """Its id."""
        return self._shown_id

    def store_of(self, conversation_id: str) -> StorePort:
        """Where that chat is kept; for a temporary one a store that never writes a file."""
        if conversation_id in self._temporary_ids and self._temporary is not None:
            return self._temporary
        return self._store

    def get(self, conversation_id: str) -> Conversation | None:
        """An open chat."""
        return self._open.get(conversation_id)

    def put(self, conversation: Conversation) -> None:
        """Replace the state of an open chat."""
        if conversation.conversation_id in self._open:
            self._open[conversation.conversation_id] = conversation

    def touched(self, conversation: Conversation) -> Conversation:
        """The chat with the time of its last change set to now."""
        return replace(conversation, updated_at=self._wall_clock())

    def start(self, conversation_id: str = "", last_id: str = "") -> None:
        """Show the list, and the chat that was asked for, or the one of last time, or the one with
        an unsent draft, or an empty one.
        """
        self._show(self._empty())
        self._coming_id = conversation_id or last_id
        self.refresh()
        if conversation_id:
            self.on_conversation_selected(conversation_id)
        elif last_id:
            self._store.read(
                lambda store: store.load(last_id), partial(self._on_last_loaded, self._shown_id)
            )
        else:
            self._look_for_draft()

    @property
    def coming_id(self) -> str:
        """The chat that the start was to show, until the store has answered."""
        return self._coming_id

    def on_new_chat(self) -> None:
        """Show an empty chat; one that is empty already stays, with its draft."""
        if self.shown.exchanges or self.shown.temporary:
            self._show(self._empty())
            self.refresh()
            self._look_for_draft()

    def on_temporary_chat(self) -> None:
        """Show an empty chat of which nothing is stored; it is gone when the window closes."""
        if self.shown.temporary and not self.shown.exchanges:
            return
        if self._temporary is None:
            self._temporary = TemporaryChats()
        chat = replace(self._empty(), temporary=True)
        self._temporary_ids.add(chat.conversation_id)
        self._show(chat)
        self.refresh()

    def on_conversation_selected(self, conversation_id: str) -> None:
        """Show a chat; a running one is shown as it stands, others come from the store."""
        self._wanted_id = conversation_id
        if conversation_id in self._open:
            if conversation_id != self._shown_id:
                self.showing(conversation_id)
                self._show(self._open[conversation_id])
            return
        self.store_of(conversation_id).read(
            lambda store: store.load(conversation_id), partial(self._on_loaded, conversation_id)
        )

    def on_rename(self, conversation_id: str, title: str) -> None:
        """Give a chat a new name; a blank one changes nothing."""
        title = " ".join(clean_text(title).split())[:MAX_TITLE_CHARACTERS]
        if not title:
            self.refresh()
            return
        open_one = self._open.get(conversation_id)
        if open_one is not None:
            self._open[conversation_id] = replace(open_one, title=title)
        self.store_of(conversation_id).write(lambda store: store.rename(conversation_id, title))
        self.refresh()

    def on_delete(self, conversation_id: str) -> None:
        """Move a chat to the trash; the window offers to take it back."""
        self.removing(conversation_id)
        now = self._wall_clock()
        self.store_of(conversation_id).write(lambda store: store.delete(conversation_id, now))
        if conversation_id == self._wanted_id:
            self._wanted_id = (
                self._shown_id
            )  # one that is on its way from the store is not shown any more
        if conversation_id == self._shown_id:
            self._show(self._empty())
        self._open.pop(conversation_id, None)
        self.refresh()

    def on_undo_delete(self, conversation_id: str) -> None:
        """Take a chat out of the trash and show it."""
        self.store_of(conversation_id).write(lambda store: store.undo_delete(conversation_id))
        self.on_conversation_selected(conversation_id)
        self.refresh()

    def on_erase(self, conversation_ids: Sequence[str]) -> None:
        """Erase chats of the trash for good."""
        ids = tuple(conversation_ids)
        self._store.write(lambda store: store.erase(ids))
        self.refresh()

    def on_pin(self, conversation_id: str, pinned: bool) -> None:
        """Keep a chat above all others, or no longer."""
        open_one = self._open.get(conversation_id)
        if open_one is not None:
            self._open[conversation_id] = replace(open_one, pinned=pinned)
        write = self.store_of(conversation_id).write
        write(lambda store: store.set_pinned(conversation_id, pinned))
        self.refresh()

    def on_duplicate(self, conversation_id: str) -> None:
        """Make a copy of a chat and show it; the copy of a temporary chat is stored."""
        self.read_archive(conversation_id, self._on_archive_to_copy)

    def _on_archive_to_copy(self, chat: ArchivedChat | None) -> None:
        if chat is None or not chat.exchanges:
            return
        title = translate("Chats", "{title} (copy)").format(title=chat.title)
        copy = replace(with_new_ids(chat, self._new_id), title=title, pinned=False)
        copy = replace(copy, draft="", updated_at=self._wall_clock())
        self.add([copy])

    def read_archive(
        self, conversation_id: str, on_done: Callable[[ArchivedChat | None], None]
    ) -> None:
        """Read a whole chat, wherever it is kept."""
        self.store_of(conversation_id).read(lambda store: store.archive(conversation_id), on_done)

    def read_archives(self, on_done: Callable[[list[ArchivedChat]], None]) -> None:
        """Read all stored chats that are not in the trash."""
        self._store.read(lambda store: store.archives(), on_done)

    def add(
        self, chats: Sequence[ArchivedChat], on_added: Callable[[], None] | None = None
    ) -> None:
        """Store chats under the ids that they have; `on_added` is called once they are, else the
        first is shown.
        """
        self._store.write(lambda store: store.add_archives(chats))
        if on_added is not None:
            self._store.read(lambda store: None, lambda _: on_added())
        elif chats:
            self.on_conversation_selected(chats[0].conversation_id)

    def on_search(self, text: str) -> None:
        """List the chats that hold this text."""
        self._search = clean_text(text)
        self.refresh()

    def on_draft_changed(self, text: str) -> None:
        """Keep what is typed."""
        draft = clean_text(text)
        if draft != self.shown.draft:
            self._open[self._shown_id] = replace(self.shown, draft=draft)
            self.store_of(self._shown_id).save_draft(self.shown)

    def on_settings(self, settings: str) -> None:
        """Keep what the shown chat has set for itself."""
        chat_id = self._shown_id
        if settings != self.shown.settings:
            self._open[chat_id] = replace(self.shown, settings=settings)
            self.store_of(chat_id).write(lambda store: store.set_settings(chat_id, settings))

    def show_again(self) -> None:
        """Show the chat and the list to a window that has forgotten them."""
        self.showing(self._shown_id)
        self._show(self._open[self._shown_id])
        self.refresh()

    def refresh(self) -> None:
        """Show the list anew."""
        search = self._search
        self._store.read(
            lambda store: (store.summaries(search), store.trash()),
            partial(self._on_summaries, search),
        )

    def reload_shown(self) -> None:
        """Show the current chat as the store has it, after a change that was made there."""
        conversation_id, before = self._shown_id, self.shown.exchanges
        self.store_of(conversation_id).read(
            lambda store: store.load(conversation_id),
            partial(self._on_reloaded, conversation_id, before),
        )

    def close(self) -> None:
        """Forget the temporary chats."""
        if self._temporary is not None:
            self._temporary.close()

    def _empty(self) -> Conversation:
        now = self._wall_clock()
        return Conversation(self._new_id(), created_at=now, updated_at=now)

    def _show(self, conversation: Conversation) -> None:
        self._coming_id = ""
        self._shown_id = self._wanted_id = conversation.conversation_id
        self._open[conversation.conversation_id] = conversation
        # The one that was left, and those whose replies have ended since they were left.
        for other in [each for each in self._open if each != self._shown_id]:
            if not self.is_busy(other):
                del self._open[other]
        self.settings_shown(conversation)
        self._view.show_conversation(self.shown)
        self.shown_changed(conversation.conversation_id)
        for listener in self.shown_listeners:
            listener(conversation.conversation_id)

    def _on_last_loaded(self, empty_id: str, conversation: Conversation | None) -> None:
        """Come back to the chat of last time; where it is gone, nobody asked for it now."""
        self._coming_id = ""
        if conversation is None:
            self._look_for_draft()
        elif self._is_untouched(empty_id):
            self._show(conversation)
            self.refresh()

    def _on_loaded(self, conversation_id: str, conversation: Conversation | None) -> None:
        self._coming_id = ""
        if conversation_id != self._wanted_id or conversation_id == self._shown_id:
            return  # the user has gone on to another chat meanwhile
        if conversation is None:
            self._view.show_notice(
                Notice("missing", translate("Chat", "This chat is no longer there."), "warn")
            )
            self.refresh()
            return
        self._show(conversation)
        self.refresh()

    def _on_reloaded(
        self,
        conversation_id: str,
        before: tuple[Exchange, ...],
        conversation: Conversation | None,
    ) -> None:
        if conversation is None or conversation_id != self._shown_id:
            return
        if self.shown.exchanges is not before:
            # A quick hand has asked something meanwhile; the store knows of it by now.
            self.reload_shown()
            return
        self._open[conversation_id] = replace(conversation, draft=self.shown.draft)
        self.showing(conversation_id)
        self._show(self._open[conversation_id])
        self.refresh()

    def _look_for_draft(self) -> None:
        """Find the chat that has a draft and no question yet; there is at most one."""
        self._store.read(
            lambda store: store.draft_conversation(),
            partial(self._on_draft_found, self._shown_id),
        )

    def _on_draft_found(self, empty_id: str, conversation: Conversation | None) -> None:
        if conversation is not None and self._is_untouched(empty_id):
            self._show(conversation)

    def _is_untouched(self, empty_id: str) -> bool:
        """Whether the empty chat that was shown when the store was asked is still so."""
        untouched = self._shown_id == empty_id and not (self.shown.exchanges or self.shown.draft)
        return untouched and self._wanted_id == empty_id

    def _on_summaries(
        self, search: str, found: tuple[list[ConversationSummary], list[ConversationSummary]]
    ) -> None:
        if search != self._search:
            return
        summaries, trash = found
        temporary: list[ConversationSummary] = []
        if self._temporary is not None:
            self._temporary.read(lambda store: store.summaries(search), temporary.extend)
        self._view.show_conversations([*temporary, *summaries], self._shown_id)
        self._view.show_trash(trash)
