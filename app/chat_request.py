"""What the model is sent for an exchange of a chat; pure functions."""

from __future__ import annotations

from app.conversation import Conversation, Exchange, Reply, context_tokens_of
from app.settings import Settings, sampling_params, thinking_params
from engine.api import (
    ChatMessage,
    GenerationRequest,
    ReplyPrefix,
    Role,
    ThinkingParams,
)


def messages_for(
    conversation: Conversation, exchange_id: str, system_prompt: str
) -> tuple[ChatMessage, ...]:
    """System prompt, earlier exchanges that are not left out, and the question of the exchange.

    A question whose reply has no answer yet stands alone, so that the model still knows it.
    """
    messages = [ChatMessage(Role.SYSTEM, system_prompt)] if system_prompt.strip() else []
    for exchange in conversation.exchanges:
        if exchange.exchange_id == exchange_id:
            messages.append(ChatMessage(Role.USER, exchange.question))
            return tuple(messages)
        if exchange.left_out:
            continue
        messages.append(ChatMessage(Role.USER, exchange.question))
        reply = exchange.reply
        if reply is not None and reply.answer:
            messages.append(ChatMessage(Role.ASSISTANT, reply.answer, reply.thinking))
    raise KeyError(f"the chat has no exchange {exchange_id}")


def request_for(
    request_id: str,
    conversation: Conversation,
    exchange_id: str,
    base: Reply,
    settings: Settings,
) -> GenerationRequest:
    """The request for a new reply, or for the rest of `base` where it already holds text."""
    # In the mode in which the reply began, whatever the switch says now.
    thinking = ThinkingParams(base.thinking_enabled, thinking_params(settings).budget_tokens)
    prefix = None
    if base.thinking or base.answer:
        closed = base.thinking_closed or bool(base.answer)
        prefix = ReplyPrefix(base.thinking, closed, base.answer)
    return GenerationRequest(
        request_id=request_id,
        messages=messages_for(conversation, exchange_id, settings.system_prompt),
        sampling=sampling_params(settings),
        thinking=thinking,
        max_new_tokens=settings.max_new_tokens,
        prefix=prefix,
    )


def oldest_exchanges(conversation: Conversation, exchange_id: str) -> list[Exchange]:
    """The exchanges before this one that the model still sees, oldest first."""
    earlier: list[Exchange] = []
    for exchange in conversation.exchanges:
        if exchange.exchange_id == exchange_id:
            break
        if not exchange.left_out:
            earlier.append(exchange)
    return earlier


def context_of(conversation: Conversation) -> int:
    """Tokens that the chat's last ended reply left in the context, its prompt included."""
    replies = [exchange.reply for exchange in conversation.exchanges]
    last = next((r for r in reversed(replies) if r is not None and r.prompt_tokens), None)
    return 0 if last is None else context_tokens_of(last)
