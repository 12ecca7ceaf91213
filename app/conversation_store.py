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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, fields

from app.conversation import (
    Conversation,
    ConversationSummary,
    Exchange,
    Reply,
    StreamedText,
    joined,
)
from app.conversation_rows import (
    exchange_from_row,
    reply_from_row,
    reply_values,
    text_of,
    time_of,
)

APPLICATION_ID = 0x54505443
"""Written into the file's header ("TPTC"), so that a foreign database is never taken for ours."""

SCHEMA_VERSION = 2

SCHEMA = """
CREATE TABLE conversation (
  id TEXT PRIMARY KEY, title TEXT NOT NULL, draft TEXT NOT NULL DEFAULT '',
  created_at REAL NOT NULL, updated_at REAL NOT NULL, deleted_at REAL, activity INTEGER NOT NULL
);
CREATE TABLE exchange (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  question TEXT NOT NULL, chosen INTEGER NOT NULL, left_out INTEGER NOT NULL,
  created_at REAL NOT NULL, branch TEXT NOT NULL DEFAULT ''
);
CREATE INDEX exchange_of_conversation ON exchange(conversation_id, branch, sequence);
CREATE TABLE reply (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, reply_id TEXT NOT NULL UNIQUE,
  exchange_id TEXT NOT NULL REFERENCES exchange(id) ON DELETE CASCADE ON UPDATE CASCADE,
  thinking TEXT NOT NULL, answer TEXT NOT NULL, status TEXT NOT NULL, finish_reason TEXT NOT NULL,
  error_text TEXT NOT NULL, model TEXT NOT NULL, thinking_enabled INTEGER NOT NULL,
  thinking_closed INTEGER NOT NULL, thinking_s REAL NOT NULL, answer_s REAL NOT NULL,
  thinking_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
  seed INTEGER NOT NULL, prefill_tokens_per_s REAL NOT NULL, decode_tokens_per_s REAL NOT NULL
);
CREATE INDEX reply_of_exchange ON reply(exchange_id, sequence);
CREATE TABLE reply_chunk (
  sequence INTEGER PRIMARY KEY, reply_id TEXT NOT NULL,
  thinking TEXT NOT NULL, answer TEXT NOT NULL, thinking_tokens INTEGER NOT NULL,
  answer_tokens INTEGER NOT NULL, thinking_s REAL NOT NULL, answer_s REAL NOT NULL
);
"""

_CHUNK_COLUMNS = tuple(field.name for field in fields(StreamedText))
_REPLY_COLUMNS = ("exchange_id", *(field.name for field in fields(Reply)))


class ConversationStore:
    """The open database; every method commits before it returns.

    Raises (all methods): sqlite3.Error, for example a full disk; nothing is then half written.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    @contextmanager
    def _transaction(self, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction; `durable` also survives a power cut once it is committed."""
        self._db.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
            self._db.execute("COMMIT")
        except BaseException:
            # A full disk may already have rolled back.
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def summaries(self, search: str = "") -> list[ConversationSummary]:
        """Chats with at least one question, most recently used first; `search` finds text in
        titles, questions and answers, without regard to case in ASCII.
        """
        pattern = "%" + "".join(f"\\{c}" if c in "%_\\" else c for c in search.strip()) + "%"
        rows = self._db.execute(
            """
            SELECT c.id, c.title, c.updated_at,
              (SELECT e.question FROM exchange e WHERE e.conversation_id = c.id AND e.branch = ''
                 AND e.question LIKE :p ESCAPE '\\' ORDER BY e.sequence DESC LIMIT 1) AS question,
              (SELECT r.answer FROM reply r JOIN exchange e ON e.id = r.exchange_id
                 WHERE :searching AND e.conversation_id = c.id AND e.branch = ''
                 AND r.answer LIKE :p ESCAPE '\\' ORDER BY r.sequence DESC LIMIT 1) AS answer
            FROM conversation c WHERE c.deleted_at IS NULL
              AND EXISTS (SELECT 1 FROM exchange e WHERE e.conversation_id = c.id)
              AND (c.title LIKE :p ESCAPE '\\' OR question IS NOT NULL OR answer IS NOT NULL)
            ORDER BY c.activity DESC
            """,
            {"p": pattern, "searching": bool(search.strip())},
        )
        found = search.strip()
        return [
            ConversationSummary(
                row["id"], text_of(row["title"]), time_of(row["updated_at"]), _snippet(row, found)
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
            row["deleted_at"],
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

    def draft_conversation(self) -> Conversation | None:
        """The chat that has a draft and no question yet, if there is one."""
        row = self._db.execute(
            "SELECT id FROM conversation c WHERE deleted_at IS NULL AND draft != '' AND NOT EXISTS "
            "(SELECT 1 FROM exchange e WHERE e.conversation_id = c.id) ORDER BY activity DESC"
        ).fetchone()
        return None if row is None else self.load(row["id"])

    def save_conversation(self, conversation: Conversation) -> None:
        """Add the chat, or update its title and times and move it to the front of the list."""
        with self._transaction() as db:
            _upsert_conversation(db, conversation)

    def save_draft(self, conversation: Conversation) -> None:
        """Keep the unsent text of a chat; the order of the list stays."""
        with self._transaction(durable=False) as db:
            changed = db.execute(
                "UPDATE conversation SET draft = ? WHERE id = ?",
                (conversation.draft, conversation.conversation_id),
            ).rowcount
            if not changed and conversation.draft:
                _upsert_conversation(db, conversation)

    def rename(self, conversation_id: str, title: str) -> None:
        """Change the title alone."""
        with self._transaction() as db:
            db.execute("UPDATE conversation SET title = ? WHERE id = ?", (title, conversation_id))

    def save_exchange(self, conversation: Conversation, exchange: Exchange) -> None:
        """Add or update a question with its replies; its chat is added or moved to the front."""
        with self._transaction() as db:
            _upsert_conversation(db, conversation)
            _upsert_exchange(db, conversation.conversation_id, exchange)

    def save_reply(self, exchange_id: str, reply: Reply, chosen: int) -> None:
        """Write the final state of a reply; its streamed chunks are no longer needed."""
        with self._transaction() as db:
            _upsert_reply(db, exchange_id, reply)
            db.execute("UPDATE exchange SET chosen = ? WHERE id = ?", (chosen, exchange_id))

    def append_text(self, reply_id: str, streamed: StreamedText) -> None:
        """Add streamed text; a power cut may take the last ones, a crash of the app none."""
        columns = ", ".join(_CHUNK_COLUMNS)
        marks = ", ".join("?" for _ in _CHUNK_COLUMNS)
        with self._transaction(durable=False) as db:
            db.execute(
                f"INSERT INTO reply_chunk (reply_id, {columns}) VALUES (?, {marks})",
                (reply_id, *astuple(streamed)),
            )

    def set_chosen(self, exchange_id: str, chosen: int) -> None:
        """Remember which version of the reply is shown."""
        with self._transaction() as db:
            db.execute("UPDATE exchange SET chosen = ? WHERE id = ?", (chosen, exchange_id))

    def set_left_out(self, exchange_ids: Sequence[str]) -> None:
        """Mark exchanges that the model no longer sees."""
        with self._transaction() as db:
            for exchange_id in exchange_ids:
                db.execute("UPDATE exchange SET left_out = 1 WHERE id = ?", (exchange_id,))

    def edit_exchange(self, conversation: Conversation, exchange: Exchange, branch: str) -> None:
        """Put `exchange` in place of the one of the same id; that one and all later ones are kept
        under the name `branch`, from where `restore_branch` brings them back.
        """
        with self._transaction() as db:
            if db.execute("SELECT 1 FROM exchange WHERE branch = ?", (branch,)).fetchone():
                return
            _hide_from(db, conversation.conversation_id, exchange.exchange_id, branch)
            _upsert_conversation(db, conversation)
            _upsert_exchange(db, conversation.conversation_id, exchange)

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

    def purge_trash(self, deleted_before: float) -> int:
        """Erase chats that have been in the trash since before that time; returns how many."""
        with self._transaction() as db:
            # secure_delete is on: the freed pages are overwritten with zeros.
            return db.execute(
                "DELETE FROM conversation WHERE deleted_at < ?", (deleted_before,)
            ).rowcount

    def recover_interrupted(self) -> int:
        """Turn replies that were running when the app ended into interrupted ones, with the text
        that had been streamed; returns how many.
        """
        with self._transaction() as db:
            running = db.execute("SELECT reply_id FROM reply WHERE status = 'running'").fetchall()
            columns = ", ".join(_CHUNK_COLUMNS)
            for (reply_id,) in running:
                chunks = db.execute(
                    f"SELECT {columns} FROM reply_chunk WHERE reply_id = ? ORDER BY sequence",
                    (reply_id,),
                ).fetchall()
                streamed = joined(StreamedText(*chunk) for chunk in chunks)
                changes = ", ".join(
                    f"{name} = {name} {'||' if name in ('thinking', 'answer') else '+'} ?"
                    for name in _CHUNK_COLUMNS
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


def _snippet(row: sqlite3.Row, search: str) -> str:
    """The place of the match; the title alone stands for a chat that was not searched for."""
    if not search:
        return ""
    for text in (text_of(row["question"]), text_of(row["answer"])):
        at = text.lower().find(search.lower()) if text else -1
        if text and at >= 0:
            start = max(0, at - 30)
            return ("…" if start else "") + " ".join(text[start : start + 120].split())
    return ""


def _upsert_conversation(db: sqlite3.Connection, conversation: Conversation) -> None:
    db.execute(
        """
        INSERT INTO conversation (id, title, draft, created_at, updated_at, activity)
        VALUES (?, ?, ?, ?, ?, (SELECT IFNULL(MAX(activity), 0) + 1 FROM conversation))
        ON CONFLICT (id) DO UPDATE SET title = excluded.title, draft = excluded.draft,
          updated_at = excluded.updated_at, activity = excluded.activity
        """,
        (
            conversation.conversation_id,
            conversation.title,
            conversation.draft,
            conversation.created_at,
            conversation.updated_at,
        ),
    )


def _upsert_exchange(db: sqlite3.Connection, conversation_id: str, exchange: Exchange) -> None:
    db.execute(
        """
        INSERT INTO exchange (id, conversation_id, question, chosen, left_out, created_at)
        VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET chosen = excluded.chosen, left_out = excluded.left_out
        """,
        (
            exchange.exchange_id,
            conversation_id,
            exchange.question,
            exchange.chosen,
            exchange.left_out,
            exchange.created_at,
        ),
    )
    for reply in exchange.replies:
        _upsert_reply(db, exchange.exchange_id, reply)


def _upsert_reply(db: sqlite3.Connection, exchange_id: str, reply: Reply) -> None:
    columns = ", ".join(_REPLY_COLUMNS)
    marks = ", ".join("?" for _ in _REPLY_COLUMNS)
    changes = ", ".join(f"{name} = excluded.{name}" for name in _REPLY_COLUMNS[2:])
    db.execute(
        f"INSERT INTO reply ({columns}) VALUES ({marks}) "
        f"ON CONFLICT (reply_id) DO UPDATE SET {changes}",
        (exchange_id, *reply_values(reply)),
    )
    # The row now holds the whole text; chunks left behind would double it after a crash.
    db.execute("DELETE FROM reply_chunk WHERE reply_id = ?", (reply.reply_id,))


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
