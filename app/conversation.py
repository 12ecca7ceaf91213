"""What a chat is: pure data, no Qt, no files. Everything is frozen; changes make new objects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum


class ReplyStatus(Enum):
    """Where a reply stands."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """The app ended while the reply was running; what had been stored is shown."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer with its thinking; counts and seconds as they are shown in the headers."""

    reply_id: str
    thinking: str = ""
    answer: str = ""
    status: ReplyStatus = ReplyStatus.RUNNING
    finish_reason: str = ""
    """Value of engine.api.FinishReason, or "" while running."""
    error_text: str = ""
    model: str = ""
    thinking_enabled: bool = True
    thinking_closed: bool = False
    thinking_s: float = 0.0
    answer_s: float = 0.0
    thinking_tokens: int = 0
    answer_tokens: int = 0
    prompt_tokens: int = 0
    seed: int = 0
    """NO_SEED for one whose every token was the likeliest."""
    prefill_tokens_per_s: float = 0.0
    decode_tokens_per_s: float = 0.0


NO_SEED = -1

EDITED = "edited"
"""The finish reason of a reply that the user has changed."""

CONTEXT_FULL = "context_full"
MAX_NEW_TOKENS = "max_new_tokens"


def context_tokens_of(reply: Reply) -> int:
    """Tokens of the context when the reply ended, its prompt included; 0 where not known."""
    if not reply.prompt_tokens:
        return 0
    return reply.prompt_tokens + reply.thinking_tokens + reply.answer_tokens


def has_room(reply: Reply, capacity_tokens: int) -> bool:
    """Whether the context has room for more of a reply (capacity 0: not known yet)."""
    if reply.finish_reason == CONTEXT_FULL:
        return False
    return not capacity_tokens or context_tokens_of(reply) < capacity_tokens - 1


def can_continue(reply: Reply) -> bool:
    """Whether a reply was cut, so that it can go on, in its thinking too."""
    match reply.status:
        case ReplyStatus.STOPPED | ReplyStatus.INTERRUPTED | ReplyStatus.FAILED:
            return True
        case ReplyStatus.DONE:
            return reply.finish_reason == MAX_NEW_TOKENS
        case ReplyStatus.RUNNING:
            return False


@dataclass(frozen=True, slots=True)
class StreamedText:
    """What arrived of a reply since the last piece: text, tokens and seconds of each pane."""

    thinking: str = ""
    answer: str = ""
    thinking_tokens: int = 0
    answer_tokens: int = 0
    thinking_s: float = 0.0
    answer_s: float = 0.0


def joined(pieces: Iterable[StreamedText]) -> StreamedText:
    """All pieces as one, in their order."""
    parts = list(pieces)
    return StreamedText(
        "".join(part.thinking for part in parts),
        "".join(part.answer for part in parts),
        sum(part.thinking_tokens for part in parts),
        sum(part.answer_tokens for part in parts),
        sum(part.thinking_s for part in parts),
        sum(part.answer_s for part in parts),
    )


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question with its replies (regenerate adds one; `chosen` is shown).

    `left_out` marks what the model no longer sees because the context was too small.
    `question_versions` names the wordings of an edited question in the order of asking: "" for the
    one that is shown, else the branch under which the store keeps it and what followed.
    """

    exchange_id: str
    question: str
    replies: tuple[Reply, ...] = ()
    chosen: int = 0
    left_out: bool = False
    created_at: float = 0.0
    question_versions: tuple[str, ...] = ()

    @property
    def reply(self) -> Reply | None:
        """The reply that is shown."""
        return self.replies[self.chosen] if self.replies else None

    def with_reply(self, reply: Reply) -> Exchange:
        """Replace the reply of the same id, or add it; it becomes the chosen one."""
        for index, old in enumerate(self.replies):
            if old.reply_id == reply.reply_id:
                replies = (*self.replies[:index], reply, *self.replies[index + 1 :])
                return replace(self, replies=replies, chosen=index)
        return replace(self, replies=(*self.replies, reply), chosen=len(self.replies))


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat: exchanges in order, its draft; times are Unix seconds.

    `settings` is what the chat has set for itself, as JSON text; "" where that is nothing. A
    temporary chat is never stored.
    """

    conversation_id: str
    title: str = ""
    exchanges: tuple[Exchange, ...] = ()
    draft: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    deleted_at: float | None = None
    pinned: bool = False
    settings: str = ""
    temporary: bool = False

    def exchange(self, exchange_id: str) -> Exchange | None:
        """The exchange of this id."""
        return next((e for e in self.exchanges if e.exchange_id == exchange_id), None)

    def with_exchange(self, exchange: Exchange) -> Conversation:
        """Replace the exchange of the same id."""
        exchanges = tuple(
            exchange if e.exchange_id == exchange.exchange_id else e for e in self.exchanges
        )
        return replace(self, exchanges=exchanges)


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A line of the conversation list; `snippet` is a line around what was searched for."""

    conversation_id: str
    title: str
    updated_at: float
    snippet: str = ""
    pinned: bool = False
    temporary: bool = False
    deleted_at: float | None = None
