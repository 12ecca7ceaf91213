"""An engine that replays a script: no model, the same events; for GUI tests and screenshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from engine.api import (
    Capability,
    Channel,
    ChatMessage,
    Delta,
    Detail,
    EngineInfo,
    Event,
    Failed,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
    LoadProgress,
    MemoryPlan,
    PrefillProgress,
    TokenAlternative,
    TokenInfo,
)
from engine.errors import EngineError, LoadCancelled, PromptTooLong

_CHARACTERS_PER_TOKEN = 4
"""Message text is counted as one token per this many characters, a usual value for English."""

_PREFILL_CHUNKS = 4


@dataclass(frozen=True)
class ScriptedReply:
    """What one request is answered with.

    `pieces` are (channel, text), each standing for one token. `error` ends the reply with Failed
    after `error_after` pieces; a child of EngineError only. `crash` is raised out of `step`
    instead, as a bug of an engine would be.
    """

    pieces: tuple[tuple[Channel, str], ...]
    reason: FinishReason = FinishReason.END
    error: EngineError | None = None
    crash: Exception | None = None
    error_after: int = 0


def reply_of_texts(thinking: str, answer: str) -> ScriptedReply:
    """A reply that streams `thinking`, then `answer`, a word or so at a time."""
    pieces = [(Channel.THINKING, word) for word in _words(thinking)]
    pieces += [(Channel.ANSWER, word) for word in _words(answer)]
    return ScriptedReply(tuple(pieces))


def _words(text: str) -> list[str]:
    """`text` cut before each run of blanks; joined again it is the same text."""
    words: list[str] = []
    for position, character in enumerate(text):
        starts_word = character.isspace() and position > 0 and not text[position - 1].isspace()
        if not words or starts_word:
            words.append("")
        words[-1] += character
    return words


@dataclass
class _Running:
    """One request that is being replayed."""

    request: GenerationRequest
    control: GenerationControl
    reply: ScriptedReply
    seed: int
    prompt_tokens: int
    submitted_s: float
    prefill_done: int = 0
    prefilled_s: float = 0.0
    first_token_s: float = 0.0
    answer_s: float | None = None
    position: int = 0
    token_ids: list[int] = field(default_factory=list)
    thinking_tokens: int = 0
    thinking_ended_by: str = ""


class ScriptedEngine:
    """An `Engine` whose replies are given beforehand, one per request, then again from the start.

    Each `step` of a running reply yields one chunk of prefill or one piece, and waits so that
    `tokens_per_s` are delivered (0: no waiting). `load_error` makes `load` raise after half of its
    progress. `sleep` and `clock` can be replaced, so that a test need not wait.
    """

    def __init__(
        self,
        replies: Sequence[ScriptedReply],
        tokens_per_s: float = 0.0,
        *,
        info: EngineInfo | None = None,
        load_error: EngineError | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if not replies:
            raise ValueError("a scripted engine needs at least one reply")
        self._replies = tuple(replies)
        self._next_reply = 0
        self._interval_s = 1.0 / tokens_per_s if tokens_per_s > 0 else 0.0
        self._info = info or scripted_info()
        self._load_error = load_error
        self._sleep = sleep
        self._clock = clock
        self._running: list[_Running] = []
        self._failed_at_submit: list[Event] = []
        self.requests: list[GenerationRequest] = []
        """Every request that was submitted, for tests to look at."""
        self.closed = False
        """Whether `close` was called."""

    def load(self, control: GenerationControl) -> Iterator[Event]:
        """Yield five steps of LoadProgress; raise `load_error`, if given, after the third."""
        total = self._info.memory.weights_bytes
        for quarter in range(5):
            if self._load_error is not None and quarter == 3:
                raise self._load_error
            if control.cancelled:
                raise LoadCancelled
            yield LoadProgress("weights", total * quarter // 4, total)
            self._sleep(self._interval_s)

    def submit(self, request: GenerationRequest, control: GenerationControl) -> None:
        """Queue the next reply of the script for this request."""
        self.requests.append(request)
        reply = self._replies[self._next_reply % len(self._replies)]
        self._next_reply += 1
        tokens = self.count_tokens(request.messages)
        if tokens >= self._info.capacity_tokens:
            error = PromptTooLong(tokens, self._info.capacity_tokens)
            self._failed_at_submit.append(Failed(request.request_id, error))
            return
        seed = request.sampling.seed if request.sampling.seed is not None else 1
        self._running.append(_Running(request, control, reply, seed, tokens, self._clock()))

    def step(self) -> list[Event]:
        """One chunk of prefill, or one piece, of every running reply."""
        events, self._failed_at_submit = self._failed_at_submit, []
        if self._running:
            self._sleep(self._interval_s)
        for running in tuple(self._running):
            events += self._step_one(running)
            if isinstance(events[-1], Finished | Failed):
                self._running.remove(running)
        return events

    def info(self) -> EngineInfo:
        """The description given when built."""
        return self._info

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """About one token per four characters, and four per message."""
        return sum(4 + -(-len(message.text) // _CHARACTERS_PER_TOKEN) for message in messages)

    def close(self) -> None:
        """Forget the running replies."""
        self._running.clear()
        self.closed = True

    def _step_one(self, running: _Running) -> list[Event]:
        request_id, reply = running.request.request_id, running.reply
        if running.control.cancelled:
            return [self._finish(running, FinishReason.CANCELLED)]
        if running.prefill_done < running.prompt_tokens:
            chunk = -(-running.prompt_tokens // _PREFILL_CHUNKS)
            done = min(running.prompt_tokens, running.prefill_done + chunk)
            running.prefill_done = done
            running.prefilled_s = self._clock()
            return [PrefillProgress(request_id, done, running.prompt_tokens, 0)]
        fails = reply.error is not None or reply.crash is not None
        if fails and running.position >= reply.error_after:
            if reply.crash is not None:
                self._running.remove(running)
                raise reply.crash
            assert reply.error is not None
            return [Failed(request_id, reply.error)]
        limit = running.request.max_new_tokens
        if limit is not None and len(running.token_ids) >= limit:
            return [self._finish(running, FinishReason.MAX_NEW_TOKENS)]
        self._skip_thinking(running)
        if running.position >= len(reply.pieces):
            return [self._finish(running, reply.reason)]
        return [self._next_piece(running)]

    def _skip_thinking(self, running: _Running) -> None:
        """Leave out what is left of the thinking where the request does not want more of it."""
        thinking = running.request.thinking
        ended_by = ""
        if not thinking.enabled:
            ended_by = "off"
        elif running.control.take_answer_now():
            ended_by = "user"
        elif thinking.budget_tokens is not None and (
            running.thinking_tokens >= thinking.budget_tokens
        ):
            ended_by = "budget"
        pieces = running.reply.pieces
        while (
            ended_by
            and running.position < len(pieces)
            and pieces[running.position][0] is Channel.THINKING
        ):
            running.position += 1
            if ended_by != "off":
                running.thinking_ended_by = ended_by

    def _next_piece(self, running: _Running) -> Delta:
        channel, text = running.reply.pieces[running.position]
        token_id = running.position
        running.position += 1
        now = self._clock()
        if not running.token_ids:
            running.first_token_s = now - running.submitted_s
        running.token_ids.append(token_id)
        if channel is Channel.THINKING:
            running.thinking_tokens += 1
        elif running.answer_s is None:
            running.answer_s = now
            if running.thinking_tokens and not running.thinking_ended_by:
                running.thinking_ended_by = "model"
        tokens = _token_info(token_id, text, running.request.detail)
        return Delta(running.request.request_id, channel, text, 1, tokens)

    def _finish(self, running: _Running, reason: FinishReason) -> Finished:
        now = self._clock()
        prefilled = running.prefilled_s or now
        thinking_end = running.answer_s if running.answer_s is not None else now
        stats = GenerationStats(
            prompt_tokens=running.prompt_tokens,
            reused_tokens=0,
            thinking_tokens=running.thinking_tokens,
            answer_tokens=len(running.token_ids) - running.thinking_tokens,
            prefill_s=prefilled - running.submitted_s,
            decode_s=now - prefilled,
            first_token_s=running.first_token_s,
            thinking_s=thinking_end - prefilled if running.thinking_tokens else 0.0,
            seed=running.seed,
            context_tokens=running.prompt_tokens + len(running.token_ids),
            token_ids=tuple(running.token_ids),
            thinking_ended_by=running.thinking_ended_by,
        )
        return Finished(running.request.request_id, reason, stats)


def scripted_info(
    model: str = "Scripted", capacity_tokens: int = 8192, *, on_gpu: bool = False
) -> EngineInfo:
    """A plausible description of an engine that can do everything."""
    return EngineInfo(
        model=model,
        device="NVIDIA GeForce RTX 3060 (scripted)" if on_gpu else "Script",
        capacity_tokens=capacity_tokens,
        max_sequences=1,
        capabilities=frozenset(Capability),
        memory=MemoryPlan(1_192_099_840, 939_524_096, 268_435_456),
        on_gpu=on_gpu,
    )


def _token_info(token_id: int, text: str, detail: Detail) -> tuple[TokenInfo, ...]:
    """Made-up but consistent probabilities: 0.8 for the token, the rest for two others."""
    if detail is Detail.NONE:
        return ()
    alternatives: tuple[TokenAlternative, ...] = ()
    if detail is Detail.ALTERNATIVES:
        alternatives = (
            TokenAlternative(token_id, text, -0.2231),
            TokenAlternative(token_id + 1, " perhaps", -2.0402),
            TokenAlternative(token_id + 2, " maybe", -2.9957),
        )
    return (TokenInfo(token_id, text, -0.2231, 0, alternatives),)
