"""The tables of the chat database, and the steps that bring an older one up to date."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

Migration = Callable[[sqlite3.Connection], None]

APPLICATION_ID = 0x54505443
"""Written into the file's header ("TPTC"), so that a foreign database is never taken for ours."""

SCHEMA_VERSION = 4

_TABLES = """
CREATE TABLE conversation (
  id TEXT PRIMARY KEY, title TEXT NOT NULL, draft TEXT NOT NULL DEFAULT '',
  created_at REAL NOT NULL, updated_at REAL NOT NULL, deleted_at REAL, activity INTEGER NOT NULL,
  pinned INTEGER NOT NULL DEFAULT 0, settings TEXT NOT NULL DEFAULT ''
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

_ATTACHMENTS = """
CREATE TABLE IF NOT EXISTS attachment (
  conversation_id TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  place INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, pasted INTEGER NOT NULL,
  PRIMARY KEY (conversation_id, place)
)
"""
SCHEMA = f"{_TABLES}{_ATTACHMENTS};"


def _add_columns(db: sqlite3.Connection, table: str, **columns: str) -> None:
    """Add what is missing; a column that is there already is left alone."""
    there = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    for name, kind in columns.items():
        if name not in there:
            db.execute(f"ALTER TABLE {table} ADD COLUMN {name} {kind}")


def _count_streamed_text(db: sqlite3.Connection) -> None:
    """2: streamed text carries its tokens and seconds, so that an interrupted reply shows them."""
    whole, real = "INTEGER NOT NULL DEFAULT 0", "REAL NOT NULL DEFAULT 0"
    _add_columns(
        db,
        "reply_chunk",
        thinking_tokens=whole,
        answer_tokens=whole,
        thinking_s=real,
        answer_s=real,
    )


def _pin_and_set(db: sqlite3.Connection) -> None:
    """3: a chat can be pinned and has settings of its own. The search index is no part of the
    schema: `app.conversation_index` builds it from the rows wherever it is missing.
    """
    _add_columns(
        db,
        "conversation",
        pinned="INTEGER NOT NULL DEFAULT 0",
        settings="TEXT NOT NULL DEFAULT ''",
    )


def _keep_attachments(db: sqlite3.Connection) -> None:
    """4: what is to go with the next question is kept as its draft is."""
    db.execute(_ATTACHMENTS)


MIGRATIONS: dict[int, Migration] = {
    1: _count_streamed_text,
    2: _pin_and_set,
    3: _keep_attachments,
}
"""From a schema version to the next one: `MIGRATIONS[1]` turns version 1 into version 2."""
