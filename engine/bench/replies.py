"""Replies of a loaded engine, timed from outside: what a user of the engine would see."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from engine.api import (
    ChatMessage,
    Delta,
    Engine,
    Failed,
    Finished,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
    PrefillProgress,
    Role,
    SamplingParams,
)
from engine.bench.result import BenchError

SAMPLING = SamplingParams(temperature=0.6, top_k=20, top_p=0.95)
"""As the model card recommends for thinking."""

ENOUGH_TOKENS = 64
"""Fewer decoded tokens than this (or than asked for) say nothing about speed."""

_TRIES = 8
_WORDS = ("river", "stone", "a", "light", "of", "under", "seven", "the", "walks", "green", "and")


class WaitingEngine(Engine, Protocol):
    """An engine that tells how long it has waited for its device."""

    @property
    def device_wait_s(self) -> float:
        """Seconds waited so far."""
        ...


@dataclass(frozen=True, slots=True)
class TimedReply:
    """One reply.

    Attributes:
        first_token_s: From handing the request in until its first token was handled.
        decode_s: From there until the last token was handled.
        host_s: What of `decode_s` the engine did not wait for its device.
    """

    stats: GenerationStats
    first_token_s: float
    decode_s: float
    host_s: float
    text_characters: int

    @property
    def decoded_tokens(self) -> int:
        """Tokens after the first."""
        return self.stats.generated_tokens - 1


def prompt_of(engine: Engine, tokens: int, salt: str) -> tuple[ChatMessage, ...]:
    """One message, different for each `salt` from its first word on, that renders to `tokens` ids.

    Some tokenizers cannot hit every number; then it is as many as can be without going over.
    """
    words = _endless_words(salt)
    text = f"{salt} " + " ".join(next(words) for _ in range(tokens))

    def messages(length: int) -> tuple[ChatMessage, ...]:
        return (ChatMessage(Role.USER, text[:length]),)

    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if engine.count_tokens(messages(middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return messages(low)


def _endless_words(salt: str) -> Iterator[str]:
    chooser = random.Random(salt)
    while True:
        yield chooser.choice(_WORDS)


def timed_reply(
    engine: WaitingEngine,
    messages: tuple[ChatMessage, ...],
    new_tokens: int,
    seed: int = 1,
) -> TimedReply:
    """Have a message answered, sampled, with its text, and time it.

    Raises:
        EngineError: the engine failed.
    """
    request = GenerationRequest(
        request_id=f"bench-{seed}",
        messages=messages,
        sampling=replace(SAMPLING, seed=seed),
        max_new_tokens=new_tokens,
    )
    clock = time.perf_counter
    started_s = clock()
    engine.submit(request, GenerationControl())
    first_s = waited_s = host_s = 0.0
    characters = 0
    while True:
        before_s, waited_s = clock(), engine.device_wait_s
        events = engine.step()
        now_s = clock()
        if first_s:
            host_s += now_s - before_s - (engine.device_wait_s - waited_s)
        for event in events:
            match event:
                case PrefillProgress(done_tokens=done, total_tokens=total) if done == total:
                    first_s = now_s
                case Delta(text=text):
                    characters += len(text)
                case Failed(error=error):
                    raise error
                case Finished(stats=stats):
                    return TimedReply(
                        stats, first_s - started_s, now_s - first_s, host_s, characters
                    )
                case _:
                    pass


def long_reply(
    engine: WaitingEngine, messages: tuple[ChatMessage, ...], new_tokens: int, seed: int
) -> TimedReply:
    """A reply that is long enough to be timed; a model may end one early, then another is drawn.

    Raises:
        BenchError: the model ends every reply at once.
    """
    enough = min(new_tokens - 1, ENOUGH_TOKENS)
    for attempt in range(_TRIES):
        reply = timed_reply(engine, messages, new_tokens, seed=seed + 1000 * attempt)
        if reply.decoded_tokens >= enough:
            return reply
    message = f"the model ended {_TRIES} replies before their token {enough}"
    raise BenchError(message)
