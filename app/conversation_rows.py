"""Turns database rows into chats and back; a damaged value never makes a chat unreadable."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import fields

from app.conversation import Exchange, Reply, ReplyStatus

DAMAGED = "A part of this reply was damaged on disk; what could be read is shown."


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
        values |= {"status": ReplyStatus.FAILED, "error_text": DAMAGED}
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
