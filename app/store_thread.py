"""The thread that owns the chat database: one writer, requests by queue, streamed text gathered.

Qt-free; `deliver` hands callbacks to the GUI thread (`app.background.GuiCalls.post`). Writes are
carried out in order. One that fails (disk full, locked) stays at the head of the queue and is
repeated until it succeeds, so no word is lost while the app runs; the user is told once.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from app.conversation import Conversation, StreamedText, joined
from app.conversation_database import open_store
from app.conversation_store import ConversationStore
from app.fault_text import database_reason
from app.language import translate

T = TypeVar("T")
Deliver = Callable[[Callable[[], None]], None]
Write = Callable[[ConversationStore], object]

FLUSH_EVERY_S = 0.5
"""A crash may take what streamed in since: half of the promised second, as disks can be busy."""

RETRY_EVERY_S = 2.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoreOpened:
    """The database is open; `notices` are sentences for the user."""

    on_disk: bool
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoreTrouble:
    """A write failed and is being repeated; `text` is empty when all is well again."""

    text: str


@dataclass(slots=True)
class _Read:
    """A question to the store; writes before it are carried out first."""

    read: Callable[[ConversationStore], Any]
    on_done: Callable[[Any], None]


class StoreThread:
    """Runs the store's work in order; all methods may be called from the GUI thread."""

    def __init__(
        self,
        path: Path,
        deliver: Deliver,
        on_event: Callable[[StoreOpened | StoreTrouble], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        flush_every_s: float = FLUSH_EVERY_S,
        retry_every_s: float = RETRY_EVERY_S,
    ) -> None:
        self._path = path
        self._deliver = deliver
        self._on_event = on_event
        self._clock = clock
        self._flush_every_s = flush_every_s
        self._retry_every_s = retry_every_s
        self._wake = threading.Condition()
        self._work: deque[Write | _Read] = deque()
        self._chunks: dict[str, list[StreamedText]] = {}
        self._drafts: dict[str, Conversation] = {}
        self._flush_at: float | None = None
        self._in_trouble = False
        self._closing = False
        self._done_count = 0
        # A daemon: a disk that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="chat-store", daemon=True)

    def start(self) -> None:
        """Open the database on the thread; StoreOpened follows."""
        self._thread.start()

    def write(self, write: Write) -> None:
        """Carry out a write after all earlier ones; it must bear repetition."""
        with self._wake:
            self._gather_locked()
            self._work.append(write)
            self._wake.notify()

    def read(self, read: Callable[[ConversationStore], T], on_done: Callable[[T], None]) -> None:
        """Ask the store; `on_done` gets the result on the GUI thread."""
        with self._wake:
            self._gather_locked()
            self._work.append(_Read(read, on_done))
            self._wake.notify()

    def append_text(self, reply_id: str, streamed: StreamedText) -> None:
        """Take streamed text; it is written about twice a second."""
        with self._wake:
            self._chunks.setdefault(reply_id, []).append(streamed)
            self._schedule_locked()

    def save_draft(self, conversation: Conversation) -> None:
        """Take the unsent text of a chat; it is written about twice a second."""
        with self._wake:
            self._drafts[conversation.conversation_id] = conversation
            self._schedule_locked()

    def close(self, timeout_s: float) -> bool:
        """Write everything and end the thread; False: not all could be written.

        A slow disk has time as long as it gets something done within each `timeout_s`.
        """
        with self._wake:
            self._gather_locked()
            self._closing = True
            self._wake.notify()
        if self._thread.ident is None:
            # Closed before it was started: what was asked for meanwhile is still written.
            self._thread.start()
        done = -1
        while self._thread.is_alive() and self._done_count != done:
            done = self._done_count
            self._thread.join(timeout_s)
        with self._wake:
            return not self._thread.is_alive() and not self._work

    def _schedule_locked(self) -> None:
        if self._flush_at is None:
            self._flush_at = self._clock() + self._flush_every_s
            self._wake.notify()

    def _gather_locked(self) -> None:
        """Turn gathered text into writes, so that it keeps its place in the order."""
        for reply_id, pieces in self._chunks.items():
            self._work.append(partial(_append_text, reply_id, joined(pieces)))
        for conversation in self._drafts.values():
            self._work.append(partial(_save_draft, conversation))
        self._chunks.clear()
        self._drafts.clear()
        self._flush_at = None

    def _run(self) -> None:
        opened = open_store(self._path, time.time())
        self._tell(StoreOpened(opened.on_disk, opened.notices))
        store = opened.store
        while True:
            work = self._next_work()
            if work is None:
                break
            if isinstance(work, _Read):
                self._carry_out_read(store, work)
            elif not self._carry_out_write(store, work):
                with self._wake:
                    if self._closing:
                        break
                    self._wake.wait_for(lambda: self._closing, self._retry_every_s)
                continue
            with self._wake:
                self._work.popleft()
                self._done_count += 1
        try:
            store.close()
        except sqlite3.Error:
            logger.exception("closing the chat database")

    def _next_work(self) -> Write | _Read | None:
        """The oldest work, which stays queued until it is done; None: closed, and all done."""
        with self._wake:
            while True:
                if self._flush_at is not None and self._clock() >= self._flush_at:
                    self._gather_locked()
                if self._work:
                    return self._work[0]
                if self._closing:
                    return None
                due = self._flush_at
                self._wake.wait(None if due is None else max(0.0, due - self._clock()))

    def _carry_out_write(self, store: ConversationStore, write: Write) -> bool:
        try:
            write(store)
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError, ValueError, OverflowError):
            # Repeating cannot help (its chat was erased meanwhile); later writes must not wait.
            logger.exception("a write to the chat database was refused")
        except sqlite3.Error as error:
            if not self._in_trouble:
                logger.warning("chat database: %s", error)
                self._in_trouble = True
                self._tell(StoreTrouble(_trouble_text(error, self._path)))
            return False
        if self._in_trouble:
            self._in_trouble = False
            self._tell(StoreTrouble(""))
        return True

    def _carry_out_read(self, store: ConversationStore, work: _Read) -> None:
        try:
            result = work.read(store)
        except sqlite3.Error as error:
            logger.warning("reading the chat database: %s", error)
            self._tell(
                StoreTrouble(
                    translate("Store", "The chats could not be read ({reason}). Try again.").format(
                        reason=database_reason(error)
                    )
                )
            )
            return
        self._deliver(partial(work.on_done, result))

    def _tell(self, event: StoreOpened | StoreTrouble) -> None:
        self._deliver(partial(self._on_event, event))


def _append_text(reply_id: str, streamed: StreamedText, store: ConversationStore) -> None:
    store.append_text(reply_id, streamed)


def _save_draft(conversation: Conversation, store: ConversationStore) -> None:
    store.save_draft(conversation)


def _trouble_text(error: sqlite3.Error, path: Path) -> str:
    if "full" in str(error):
        reason, advice = (
            translate("Store", "the disk is full"),
            translate("Store", "Free some space"),
        )
    elif "locked" in str(error):
        reason, advice = (
            translate("Store", "another program holds the database"),
            translate("Store", "Close the other program"),
        )
    else:
        reason, advice = (
            database_reason(error),
            translate("Store", "Check the folder {folder}").format(folder=path.parent),
        )
    return translate(
        "Store",
        "Chats cannot be saved now: {reason}. Nothing is lost while this window "
        "stays open. {advice}; saving is tried again every few seconds.",
    ).format(reason=reason, advice=advice)
