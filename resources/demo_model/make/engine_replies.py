"""Replies of the project's own engine to conversations, several at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.api import (
    Channel,
    ChatMessage,
    Delta,
    Engine,
    Failed,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
    Role,
    SamplingParams,
    ThinkingParams,
)
from engine.open_engine import open_engine
from resources.demo_model.make.conversations import Conversation
from resources.demo_model.make.problem import plain
from resources.demo_model.make.scores import MAX_NEW_TOKENS

MODEL_FOLDER = Path(__file__).resolve().parent.parent
_SLOT_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class EngineReply:
    """Both channels of a finished reply."""

    thinking: str
    answer: str
    ended: bool
    stats: GenerationStats


def load_engine(device: str, slots: int) -> Engine:
    """The demo model, loaded; at most 16 replies at a time are of use."""
    engine = open_engine(MODEL_FOLDER, device, slots * _SLOT_TOKENS, slots)
    for _ in engine.load(GenerationControl()):
        pass
    return engine


def messages_of(conversation: Conversation) -> tuple[ChatMessage, ...]:
    """The conversation as the engine takes it."""
    messages = [ChatMessage(Role.SYSTEM, conversation.system)] if conversation.system else []
    for question, answer in conversation.history:
        messages.append(ChatMessage(Role.USER, question))
        messages.append(ChatMessage(Role.ASSISTANT, plain(answer)))
    return (*messages, ChatMessage(Role.USER, conversation.problem.question))


def replies(
    engine: Engine,
    conversations: Sequence[Conversation],
    *,
    thinks: bool,
    temperature: float = 0.0,
    seed: int = 1,
) -> Iterator[tuple[Conversation, EngineReply]]:
    """A reply to each conversation, in the order in which they are finished.

    Raises:
        EngineError: a request failed.
    """
    sampling = SamplingParams(temperature=temperature, top_k=20, top_p=0.95, seed=seed)
    for index, conversation in enumerate(conversations):
        request = GenerationRequest(
            str(index),
            messages_of(conversation),
            sampling,
            ThinkingParams(enabled=thinks),
            MAX_NEW_TOKENS,
        )
        engine.submit(request, GenerationControl())
    texts = [{Channel.THINKING: "", Channel.ANSWER: ""} for _ in conversations]
    left = len(conversations)
    while left:
        for event in engine.step():
            if isinstance(event, Failed):
                raise event.error
            if isinstance(event, Delta):
                texts[int(event.request_id)][event.channel] += event.text
            elif isinstance(event, Finished):
                left -= 1
                at = int(event.request_id)
                ended = event.reason is FinishReason.END
                thinking, answer = texts[at][Channel.THINKING], texts[at][Channel.ANSWER]
                yield conversations[at], EngineReply(thinking, answer, ended, event.stats)
