"""A whole chat as data: every version, branch and number of it, for copies, export and import."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from app.conversation import Reply, ReplyStatus, StreamedText, joined
from app.conversation_rows import (
    CHUNK_COLUMNS,
    REPLY_COLUMNS,
    reply_from_row,
    reply_values,
    text_of,
    time_of,
)


@dataclass(frozen=True, slots=True)
class ArchivedExchange:
    """A question with all its replies.

    `branch` is "" where it is shown; an edited question and what followed it share a branch, and
    the first of these has the id of the question that replaced it, "@" and the branch.
    """

    exchange_id: str
    question: str
    replies: tuple[Reply, ...] = ()
    chosen: int = 0
    left_out: bool = False
    created_at: float = 0.0
    branch: str = ""


@dataclass(frozen=True, slots=True)
class ArchivedChat:
    """A chat with all its exchanges, hidden ones too, in their order; times are Unix seconds."""

    conversation_id: str
    title: str = ""
    draft: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    pinned: bool = False
    settings: str = ""
    exchanges: tuple[ArchivedExchange, ...] = ()


def with_new_ids(chat: ArchivedChat, new_id: Callable[[], str]) -> ArchivedChat:
    """The same chat under ids that no other chat has; a reply that was running is interrupted."""
    names: dict[str, str] = {"": ""}

    def renamed(name: str) -> str:
        if name not in names:
            names[name] = new_id()
        return names[name]

    exchanges = []
    for exchange in chat.exchanges:
        base, at, branch = exchange.exchange_id.partition("@")
        replies = tuple(
            replace(
                reply,
                reply_id=new_id(),
                status=ReplyStatus.INTERRUPTED
                if reply.status is ReplyStatus.RUNNING
                else reply.status,
            )
            for reply in exchange.replies
        )
        exchanges.append(
            replace(
                exchange,
                exchange_id=renamed(base) + at + (renamed(branch) if at else ""),
                branch=renamed(exchange.branch),
                replies=replies,
            )
        )
    return replace(chat, conversation_id=new_id(), exchanges=tuple(exchanges))


def read_archive(db: sqlite3.Connection, conversation_id: str) -> ArchivedChat | None:
    """The whole chat as the database has it."""
    row = db.execute("SELECT * FROM conversation WHERE id = ?", (conversation_id,)).fetchone()
    if row is None:
        return None
    replies: dict[str, list[Reply]] = {}
    for reply_row in db.execute(
        "SELECT r.* FROM reply r JOIN exchange e ON e.id = r.exchange_id "
        "WHERE e.conversation_id = ? ORDER BY r.sequence",
        (conversation_id,),
    ):
        reply = reply_from_row(reply_row)
        if reply.status is ReplyStatus.RUNNING:
            reply = with_streamed(reply, streamed_text(db, reply.reply_id))
        replies.setdefault(reply_row["exchange_id"], []).append(reply)
    exchanges = tuple(
        ArchivedExchange(
            exchange_id=row["id"],
            question=text_of(row["question"]),
            replies=tuple(replies.get(row["id"], ())),
            chosen=row["chosen"] if isinstance(row["chosen"], int) else 0,
            left_out=bool(row["left_out"]),
            created_at=time_of(row["created_at"]),
            branch=text_of(row["branch"]),
        )
        for row in db.execute(
            "SELECT * FROM exchange WHERE conversation_id = ? ORDER BY sequence", (conversation_id,)
        )
    )
    return ArchivedChat(
        conversation_id,
        text_of(row["title"]),
        text_of(row["draft"]),
        time_of(row["created_at"]),
        time_of(row["updated_at"]),
        bool(row["pinned"]),
        text_of(row["settings"]),
        exchanges,
    )


def streamed_text(db: sqlite3.Connection, reply_id: str) -> StreamedText:
    """What has been streamed of a running reply since its row was written."""
    columns = ", ".join(CHUNK_COLUMNS)
    chunks = db.execute(
        f"SELECT {columns} FROM reply_chunk WHERE reply_id = ? ORDER BY sequence", (reply_id,)
    )
    return joined(StreamedText(*chunk) for chunk in chunks)


def with_streamed(reply: Reply, streamed: StreamedText) -> Reply:
    """The reply with what has been streamed of it; text in the answer means thinking is over."""
    answer = reply.answer + streamed.answer
    return replace(
        reply,
        thinking=reply.thinking + streamed.thinking,
        answer=answer,
        thinking_closed=reply.thinking_closed or bool(answer),
        thinking_tokens=reply.thinking_tokens + streamed.thinking_tokens,
        answer_tokens=reply.answer_tokens + streamed.answer_tokens,
        thinking_s=reply.thinking_s + streamed.thinking_s,
        answer_s=reply.answer_s + streamed.answer_s,
    )


def insert_archives(db: sqlite3.Connection, chats: Sequence[ArchivedChat]) -> None:
    """Add chats, the first of them in front; one whose id is there already is left as it is."""
    columns = ", ".join(REPLY_COLUMNS)
    marks = ", ".join("?" for _ in REPLY_COLUMNS)
    for chat in reversed(chats):
        known = db.execute("SELECT 1 FROM conversation WHERE id = ?", (chat.conversation_id,))
        if known.fetchone():
            continue
        db.execute(
            "INSERT INTO conversation (id, title, draft, created_at, updated_at, pinned, settings, "
            "activity) VALUES (?, ?, ?, ?, ?, ?, ?, "
            "(SELECT IFNULL(MAX(activity), 0) + 1 FROM conversation))",
            (
                chat.conversation_id,
                chat.title,
                chat.draft,
                chat.created_at,
                chat.updated_at,
                chat.pinned,
                chat.settings,
            ),
        )
        for exchange in chat.exchanges:
            db.execute(
                "INSERT INTO exchange (id, conversation_id, question, chosen, left_out, "
                "created_at, branch) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    exchange.exchange_id,
                    chat.conversation_id,
                    exchange.question,
                    exchange.chosen,
                    exchange.left_out,
                    exchange.created_at,
                    exchange.branch,
                ),
            )
            db.executemany(
                f"INSERT INTO reply ({columns}) VALUES ({marks})",
                [(exchange.exchange_id, *reply_values(reply)) for reply in exchange.replies],
            )
