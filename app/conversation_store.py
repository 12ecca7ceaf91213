"""The chats on disk: SQLite, one writer, nothing lost that was acknowledged.

Qt-free and synchronous; `app.store_thread` owns the one instance, since SQLite before 3.51.3 can
damage a WAL database that two connections write and checkpoint at once. User turns and ended
replies are committed with synchronous FULL; streamed text goes to `reply_chunk` with NORMAL, an
append-only table, so that a long answer is not rewritten once a second. Every write can be repeated
without harm, because the store thread repeats what a full disk refused. Order is by sequence
numbers, never by the clock.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple

from app.attached_file import AttachedFile
from app.conversation import Conversation, ConversationSummary, Exchange, Reply, StreamedText
from app.conversation_archive import ArchivedChat, insert_archives, read_archive, streamed_text
from app.conversation_index import ConversationIndex, is_index_damage
from app.conversation_rows import (
    CHUNK_COLUMNS,
    attachments_of,
    exchange_from_row,
    put_attachments,
    reply_from_row,
    text_of,
    time_of,
    upsert_conversation,
    upsert_exchange,
    upsert_reply,
)
from app.conversation_search import words_of


class ConversationStore:
    """The open database; every method commits before it returns.

    `keeps_temporary`: it lies in memory, and all its chats are temporary ones; any other refuses
    these with ValueError.

    Raises (all methods): sqlite3.Error, for example a full disk; nothing is then half written.
    """

    def __init__(self, connection: sqlite3.Connection, *, keeps_temporary: bool = False) -> None:
        self._db = connection
        self._keeps_temporary = keeps_temporary
        self._index = ConversationIndex(connection)
        self.erased: Callable[[], None] = lambda: None
        """Called after chats were erased for good, so that no copy of them stays elsewhere."""

    @property
    def index(self) -> ConversationIndex:
        """The full-text index."""
        return self._index

    @contextmanager
    def _transaction(self, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction; `durable` also survives a power cut once it is committed."""
        self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException as error:
            # A full disk may already have rolled back.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            if is_index_damage(error):
                # It must not keep chats from being stored: the store thread repeats the write, and
                # finds the index made anew.
                with suppress(sqlite3.Error):
                    self._index.rebuild()
                raise sqlite3.DatabaseError("the search index was damaged") from error
            raise

    def _put(self, db: sqlite3.Connection, conversation: Conversation) -> None:
        if conversation.temporary and not self._keeps_temporary:
            raise ValueError(f"the chat {conversation.conversation_id} is temporary")
        upsert_conversation(db, conversation)

    def summaries(self, search: str = "") -> list[ConversationSummary]:
        """Chats with at least one question: pinned ones first, then by last use. `search` finds
        words in titles, questions, answers and thinking, in any case.
        """
        words = words_of(search)
        found = self._index.find(words) if words else None
        rows = self._db.execute(
            "SELECT id, title, updated_at, pinned FROM conversation c WHERE deleted_at IS NULL "
            "AND EXISTS (SELECT 1 FROM exchange e WHERE e.conversation_id = c.id) "
            "ORDER BY pinned DESC, activity DESC"
        )
        return [
            ConversationSummary(
                row["id"],
                text_of(row["title"]),
                time_of(row["updated_at"]),
                "" if found is None else found[row["id"]],
                pinned=bool(row["pinned"]),
                temporary=self._keeps_temporary,
            )
            for row in rows
            if found is None or row["id"] in found
        ]

    def trash(self) -> list[ConversationSummary]:
        """Chats in the trash, the last deleted first."""
        rows = self._db.execute(
            "SELECT id, title, updated_at, deleted_at FROM conversation "
            "WHERE deleted_at IS NOT NULL ORDER BY deleted_at DESC, activity DESC"
        )
        return [
            ConversationSummary(
                row["id"],
                text_of(row["title"]),
                time_of(row["updated_at"]),
                deleted_at=time_of(row["deleted_at"]),
            )
            for row in rows
        ]

    def load(self, conversation_id: str) -> Conversation | None:
        """A whole chat, also one in the trash; a damaged row shows as such, the rest stays."""
        row = self._db.execute(
            "SELECT * FROM conversation WHERE id = ?", (conversation_id,)
        ).fetchone()
        if row is None:
            return None
        replies: dict[str, list[Reply]] = {}
        for reply_row in self._db.execute(
            "SELECT r.* FROM reply r JOIN exchange e ON e.id = r.exchange_id "
            "WHERE e.conversation_id = ? AND e.branch = '' ORDER BY r.sequence",
            (conversation_id,),
        ):
            replies.setdefault(reply_row["exchange_id"], []).append(reply_from_row(reply_row))
        versions = self._question_versions(conversation_id)
        exchanges = tuple(
            exchange_from_row(
                exchange_row,
                replies.get(exchange_row["id"], []),
                versions.get(exchange_row["id"], ()),
            )
            for exchange_row in self._db.execute(
                "SELECT * FROM exchange WHERE conversation_id = ? AND branch = '' "
                "ORDER BY sequence",
                (conversation_id,),
            )
        )
        return Conversation(
            conversation_id,
            text_of(row["title"]),
            exchanges,
            text_of(row["draft"]),
            time_of(row["created_at"]),
            time_of(row["updated_at"]),
            None if row["deleted_at"] is None else time_of(row["deleted_at"]),
            bool(row["pinned"]),
            text_of(row["settings"]),
            self._keeps_temporary,
        )

    def _question_versions(self, conversation_id: str) -> dict[str, tuple[str, ...]]:
        """Branches of the edited questions, by the id of the exchange; "" is the shown one."""
        found: dict[str, list[str]] = {}
        for row in self._db.execute(
            "SELECT id, branch FROM exchange WHERE conversation_id = ? ORDER BY sequence",
            (conversation_id,),
        ):
            exchange_id, at, branch = row["id"].partition("@")
            found.setdefault(exchange_id, []).append(branch if at else "")
        return {
            exchange_id: tuple(branches)
            for exchange_id, branches in found.items()
            if len(branches) > 1 and "" in branches
        }

    def hidden_versions(self, conversation_id: str, search: str) -> list[tuple[str, int]]:
        """Where words stand in what an edit hides: shown exchanges, and which of its wordings leads
        there.
        """
        versions = self._question_versions(conversation_id)
        return [
            (exchange_id, versions[exchange_id].index(branch))
            for exchange_id, branch in self._index.hidden_in(conversation_id, words_of(search))
            if branch in versions.get(exchange_id, ())
        ]

    def draft_conversation(self) -> Conversation | None:
        """The chat that has a draft, or files for one, and no question yet, if there is one."""
        row = self._db.execute(
            "SELECT id FROM conversation c WHERE deleted_at IS NULL AND (draft != '' OR EXISTS "
            "(SELECT 1 FROM attachment a WHERE a.conversation_id = c.id)) AND NOT EXISTS "
            "(SELECT 1 FROM exchange e WHERE e.conversation_id = c.id) ORDER BY activity DESC"
        ).fetchone()
        return None if row is None else self.load(row["id"])

    def save_conversation(self, conversation: Conversation) -> None:
        """Add the chat, or update its title and times and move it to the front of the list."""
        with self._transaction() as db:
            self._put(db, conversation)

    def save_draft(self, conversation: Conversation) -> None:
        """Keep the unsent text of a chat; the order of the list stays."""
        with self._transaction(durable=False) as db:
            changed = db.execute(
                "UPDATE conversation SET draft = ? WHERE id = ?",
                (conversation.draft, conversation.conversation_id),
            ).rowcount
            if not changed and conversation.draft:
                self._put(db, conversation)

    def save_attachments(self, conversation: Conversation, files: Sequence[AttachedFile]) -> None:
        """Keep what is to go with the next question of a chat, as its draft is kept."""
        with self._transaction(durable=False) as db:
            known = "SELECT 1 FROM conversation WHERE id = ?"
            if files and not db.execute(known, (conversation.conversation_id,)).fetchone():
                self._put(db, conversation)
            put_attachments(db, conversation.conversation_id, files)

    def attachments(self, conversation_id: str) -> list[AttachedFile]:
        """What is to go with the next question of a chat."""
        return attachments_of(self._db, conversation_id)

    def set_settings(self, conversation_id: str, settings: str) -> None:
        """Keep what a chat has set for itself; the order of the list stays."""
        with self._transaction(durable=False) as db:
            db.execute(
                "UPDATE conversation SET settings = ? WHERE id = ?", (settings, conversation_id)
            )

    def rename(self, conversation_id: str, title: str) -> None:
        """Change the title alone."""
        with self._transaction() as db:
            db.execute("UPDATE conversation SET title = ? WHERE id = ?", (title, conversation_id))

    def save_exchange(self, conversation: Conversation, exchange: Exchange) -> None:
        """Add or update a question with its replies; its chat is added or moved to the front."""
        with self._transaction() as db:
            self._put(db, conversation)
            upsert_exchange(db, conversation.conversation_id, exchange)

    def save_reply(self, exchange_id: str, reply: Reply, chosen: int) -> None:
        """Write the final state of a reply; its streamed chunks are no longer needed."""
        with self._transaction() as db:
            upsert_reply(db, exchange_id, reply)
            db.execute("UPDATE exchange SET chosen = ? WHERE id = ?", (chosen, exchange_id))

    def append_text(self, reply_id: str, streamed: StreamedText) -> None:
        """Add streamed text; a power cut may take the last ones, a crash of the app none."""
        columns = ", ".join(CHUNK_COLUMNS)
        marks = ", ".join("?" for _ in CHUNK_COLUMNS)
        with self._transaction(durable=False) as db:
            db.execute(
                # Text of a reply that is not stored itself, as of a temporary chat, stays out too.
                f"INSERT INTO reply_chunk (reply_id, {columns}) SELECT ?, {marks} "
                "WHERE EXISTS (SELECT 1 FROM reply WHERE reply_id = ?)",
                (reply_id, *astuple(streamed), reply_id),
            )

    def set_chosen(self, exchange_id: str, chosen: int) -> None:
        """Remember which version of the reply is shown."""
        with self._transaction() as db:
            db.execute("UPDATE exchange SET chosen = ? WHERE id = ?", (chosen, exchange_id))

    def set_left_out(self, exchange_ids: Sequence[str], left_out: bool = True) -> None:
        """Mark exchanges that the model no longer sees, or sees again."""
        with self._transaction() as db:
            for exchange_id in exchange_ids:
                db.execute("UPDATE exchange SET left_out = ? WHERE id = ?", (left_out, exchange_id))

    def edit_exchange(self, conversation: Conversation, exchange: Exchange, branch: str) -> None:
        """Put `exchange` in place of the one of the same id; that one and all later ones are kept
        under the name `branch`, from where `restore_branch` brings them back.
        """
        with self._transaction() as db:
            if db.execute("SELECT 1 FROM exchange WHERE branch = ?", (branch,)).fetchone():
                return
            _hide_from(db, conversation.conversation_id, exchange.exchange_id, branch)
            self._put(db, conversation)
            upsert_exchange(db, conversation.conversation_id, exchange)

    def restore_branch(
        self, conversation_id: str, exchange_id: str, branch: str, hidden_as: str
    ) -> None:
        """Swap the exchanges from `exchange_id` on, which are kept as `hidden_as` from now on, with
        those kept under `branch`.
        """
        with self._transaction() as db:
            original = f"{exchange_id}@{branch}"
            if not db.execute("SELECT 1 FROM exchange WHERE id = ?", (original,)).fetchone():
                return
            _hide_from(db, conversation_id, exchange_id, hidden_as)
            db.execute("UPDATE exchange SET branch = '' WHERE branch = ?", (branch,))
            db.execute("UPDATE exchange SET id = ? WHERE id = ?", (exchange_id, original))

    def delete(self, conversation_id: str, now: float) -> None:
        """Move a chat to the trash."""
        with self._transaction() as db:
            db.execute(
                "UPDATE conversation SET deleted_at = ? WHERE id = ?", (now, conversation_id)
            )

    def undo_delete(self, conversation_id: str) -> None:
        """Take a chat out of the trash."""
        with self._transaction() as db:
            db.execute("UPDATE conversation SET deleted_at = NULL WHERE id = ?", (conversation_id,))

    def set_pinned(self, conversation_id: str, pinned: bool) -> None:
        """Keep a chat above all others in the list, or no longer."""
        with self._transaction() as db:
            db.execute("UPDATE conversation SET pinned = ? WHERE id = ?", (pinned, conversation_id))

    def archive(self, conversation_id: str) -> ArchivedChat | None:
        """A whole chat with its hidden branches, for a copy or an export."""
        return read_archive(self._db, conversation_id)

    def archives(self) -> list[ArchivedChat]:
        """All chats that are not in the trash, in the order of the list."""
        found = [read_archive(self._db, summary.conversation_id) for summary in self.summaries()]
        return [chat for chat in found if chat is not None]

    def add_archives(self, chats: Sequence[ArchivedChat]) -> None:
        """Add copied or imported chats; one whose id is there already is left as it is."""
        with self._transaction() as db:
            insert_archives(db, chats)

    def erase(self, conversation_ids: Sequence[str]) -> None:
        """Erase these chats for good, where they are in the trash."""
        with self._transaction() as db:
            erased = sum(
                db.execute(
                    "DELETE FROM conversation WHERE id = ? AND deleted_at IS NOT NULL", (each,)
                ).rowcount
                for each in conversation_ids
            )
            if erased:
                self._index.forget_deleted()
        if erased:
            self._leave_no_trace()

    def purge_trash(self, deleted_before: float) -> int:
        """Erase chats that have been in the trash since before that time; returns how many."""
        with self._transaction() as db:
            # secure_delete is on: the freed pages are overwritten with zeros.
            erased = db.execute(
                "DELETE FROM conversation WHERE deleted_at < ?", (deleted_before,)
            ).rowcount
            if erased:
                self._index.forget_deleted()
        if erased:
            self._leave_no_trace()
        return erased

    def _leave_no_trace(self) -> None:
        """Empty the write-ahead log, whose older pages still hold what was erased."""
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.erased()

    def recover_interrupted(self) -> int:
        """Turn replies that were running when the app ended into interrupted ones, with the text
        that had been streamed; returns how many.
        """
        with self._transaction() as db:
            running = db.execute("SELECT reply_id FROM reply WHERE status = 'running'").fetchall()
            for (reply_id,) in running:
                streamed = streamed_text(db, reply_id)
                changes = ", ".join(
                    f"{name} = {name} {'||' if name in ('thinking', 'answer') else '+'} ?"
                    for name in CHUNK_COLUMNS
                )
                db.execute(
                    f"UPDATE reply SET status = 'interrupted', {changes}, "
                    "thinking_closed = thinking_closed OR (answer || ?) != '' "
                    "WHERE reply_id = ?",
                    (*astuple(streamed), streamed.answer, reply_id),
                )
            db.execute("DELETE FROM reply_chunk")
            return len(running)

    def close(self) -> None:
        """Merge the write-ahead log into the database and close it."""
        self._db.close()


def _hide_from(db: sqlite3.Connection, conversation_id: str, exchange_id: str, branch: str) -> None:
    """Put an exchange and all later ones under `branch`; the first gives its id away."""
    row = db.execute("SELECT sequence FROM exchange WHERE id = ?", (exchange_id,)).fetchone()
    if row is None:
        return
    db.execute(
        "UPDATE exchange SET branch = ? "
        "WHERE conversation_id = ? AND branch = '' AND sequence >= ?",
        (branch, conversation_id, row["sequence"]),
    )
    db.execute("UPDATE exchange SET id = ? WHERE id = ?", (f"{exchange_id}@{branch}", exchange_id))
