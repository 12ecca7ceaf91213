"""Chats as Markdown, to be read: what is shown of them, with or without the thinking."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from app.conversation import Reply
from app.conversation_archive import ArchivedChat, ArchivedExchange
from app.language import translate


def to_markdown(chats: Sequence[ArchivedChat], *, with_thinking: bool) -> str:
    """The chats below one another; of each the questions as they read now, with the chosen
    replies. Headings of an answer keep their level, so that copying it back changes nothing.
    """
    return "\n---\n\n".join(_chat(chat, with_thinking) for chat in chats)


def _chat(chat: ArchivedChat, with_thinking: bool) -> str:
    title = " ".join(chat.title.split()) or translate("Export", "New chat")
    parts = [f"# {title}"]
    if chat.created_at:
        day = datetime.datetime.fromtimestamp(chat.created_at)
        parts.append(f"*{day:%Y-%m-%d %H:%M}*")
    for exchange in chat.exchanges:
        if not exchange.branch:
            parts += _exchange(exchange, with_thinking)
    return "\n\n".join(parts) + "\n"


def _exchange(exchange: ArchivedExchange, with_thinking: bool) -> list[str]:
    parts = ["## " + translate("Export", "Question"), exchange.question.strip("\n")]
    if not exchange.replies:
        return parts
    reply = exchange.replies[min(max(0, exchange.chosen), len(exchange.replies) - 1)]
    if with_thinking and reply.thinking.strip():
        parts += ["## " + translate("Export", "Thinking"), _quoted(reply.thinking.strip("\n"))]
    parts.append("## " + _heading(reply))
    if reply.answer.strip():
        parts.append(reply.answer.strip("\n"))
    if reply.error_text:
        parts.append(f"*{reply.error_text}*")
    return parts


def _heading(reply: Reply) -> str:
    words = translate("Export", "Answer")
    return f"{words} ({reply.model})" if reply.model else words


def _quoted(text: str) -> str:
    """As a block quote, which cannot run into the answer whatever it holds."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
