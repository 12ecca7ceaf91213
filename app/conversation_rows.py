"""Turns database rows into chats and back; a damaged value never makes a chat unreadable."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields

from app.attached_file import AttachedFile
from app.conversation import Conversation, Exchange, Reply, ReplyStatus, StreamedText
from app.language import QT_TRANSLATE_NOOP, translate

REPLY_COLUMNS = ("exchange_id", *(field.name for field in fields(Reply)))
"""Columns of a row of `reply`, in the order of `reply_values` after the first."""

CHUNK_COLUMNS = tuple(field.name for field in fields(StreamedText))
"""Columns of a row of `reply_chunk` after its `reply_id`."""

DAMAGED = QT_TRANSLATE_NOOP(
    "Store", "A part of this reply was damaged on disk; what could be read is shown."
)

LATEST_TIME = 253_402_214_400.0
"""The last day of the year 9999, beyond which no calendar of Python reaches."""


def text_of(value: object) -> str:
    """A text, or "" where something else was found."""
    return value if isinstance(value, str) else ""


def time_of(value: object) -> float:
    """Unix seconds that a calendar can show, or 0 where something else was found."""
    if isinstance(value, int | float) and 0 <= value <= LATEST_TIME:
        return float(value)
    return 0.0


def reply_values(reply: Reply) -> tuple[str | int | float, ...]:
    """The columns of a reply, in the order of the fields of `Reply`."""
    values = (getattr(reply, field.name) for field in fields(Reply))
    return tuple(value.value if isinstance(value, ReplyStatus) else value for value in values)


def reply_from_row(row: sqlite3.Row) -> Reply:
    """A reply; a value of the wrong type becomes empty and the reply says that it was damaged."""
    defaults = Reply("")
    values: dict[str, object] = {}
    damaged = False
    for field in fields(Reply):
        default, value = getattr(defaults, field.name), row[field.name]
        if field.name == "status":
            value, sound = _status_of(value)
        elif isinstance(default, bool):
            value, sound = bool(value), value in (0, 1)
        elif isinstance(default, float):
            sound = isinstance(value, int | float)
        else:
            sound = isinstance(value, type(default))
        values[field.name] = value if sound else default
        damaged = damaged or not sound
    if damaged:
        values |= {"status": ReplyStatus.FAILED, "error_text": translate("Store", DAMAGED)}
    return Reply(**values)  # type: ignore[arg-type]  # each value was checked against its default


def _status_of(value: object) -> tuple[ReplyStatus, bool]:
    try:
        return ReplyStatus(value), True
    except ValueError:
        return ReplyStatus.FAILED, False


def exchange_from_row(
    row: sqlite3.Row, replies: Sequence[Reply], question_versions: tuple[str, ...]
) -> Exchange:
    """An exchange with its replies; a chosen index outside them becomes the last one."""
    chosen = row["chosen"]
    if not isinstance(chosen, int) or not 0 <= chosen < max(1, len(replies)):
        chosen = max(0, len(replies) - 1)
    return Exchange(
        exchange_id=row["id"],
        question=text_of(row["question"]),
        replies=tuple(replies),
        chosen=chosen,
        left_out=bool(row["left_out"]),
        created_at=time_of(row["created_at"]),
        question_versions=question_versions,
    )


def upsert_conversation(db: sqlite3.Connection, conversation: Conversation) -> None:
    """Add the chat, or update it and move it to the front; whether it is pinned stays."""
    db.execute(
        """
        INSERT INTO conversation
          (id, title, draft, created_at, updated_at, pinned, settings, activity)
        VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT IFNULL(MAX(activity), 0) + 1 FROM conversation))
        ON CONFLICT (id) DO UPDATE SET title = excluded.title, draft = excluded.draft,
          updated_at = excluded.updated_at, settings = excluded.settings,
          activity = excluded.activity
        """,
        (
            conversation.conversation_id,
            conversation.title,
            conversation.draft,
            conversation.created_at,
            conversation.updated_at,
            conversation.pinned,
            conversation.settings,
        ),
    )


def put_attachments(
    db: sqlite3.Connection, conversation_id: str, files: Sequence[AttachedFile]
) -> None:
    """Replace what is to go with the next question of a chat, if the chat has a row."""
    db.execute("DELETE FROM attachment WHERE conversation_id = ?", (conversation_id,))
    if db.execute("SELECT 1 FROM conversation WHERE id = ?", (conversation_id,)).fetchone():
        db.executemany(
            "INSERT INTO attachment (conversation_id, place, name, text, pasted) "
            "VALUES (?, ?, ?, ?, ?)",
            [
                (conversation_id, place, file.name, file.text, file.pasted)
                for place, file in enumerate(files)
            ],
        )


def attachments_of(db: sqlite3.Connection, conversation_id: str) -> list[AttachedFile]:
    """What is to go with the next question of a chat."""
    rows = db.execute(
        "SELECT name, text, pasted FROM attachment WHERE conversation_id = ? ORDER BY place",
        (conversation_id,),
    )
    return [AttachedFile(text_of(row[0]), text_of(row[1]), bool(row[2])) for row in rows]


def upsert_exchange(db: sqlite3.Connection, conversation_id: str, exchange: Exchange) -> None:
    """Add the question with its replies, or update all but its text."""
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
        upsert_reply(db, exchange.exchange_id, reply)


def upsert_reply(db: sqlite3.Connection, exchange_id: str, reply: Reply) -> None:
    """Add the reply, or update it; the row then holds what had been streamed."""
    columns = ", ".join(REPLY_COLUMNS)
    marks = ", ".join("?" for _ in REPLY_COLUMNS)
    changes = ", ".join(f"{name} = excluded.{name}" for name in REPLY_COLUMNS[2:])
    db.execute(
        f"INSERT INTO reply ({columns}) VALUES ({marks}) "
        f"ON CONFLICT (reply_id) DO UPDATE SET {changes}",
        (exchange_id, *reply_values(reply)),
    )
    # The row now holds the whole text; chunks left behind would double it after a crash.
    db.execute("DELETE FROM reply_chunk WHERE reply_id = ?", (reply.reply_id,))
