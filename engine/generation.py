"""The generation loop: `TextEngine` is an `Engine` on top of any `Backend` and a tokenizer.

A request waits for a slot, its prompt is prefilled in chunks (less what the slot still holds), then
tokens are decoded in runs. Cancel and "answer now" are looked at between chunks and runs. Exactly
one Finished or Failed ends each request, whatever happens.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from engine.api import (
    Capability,
    ChatMessage,
    EngineInfo,
    Event,
    Failed,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    PrefillProgress,
    ThinkingParams,
)
from engine.backend import Backend, DumpSink, SampledToken
from engine.errors import BadRequest, DeviceLost, EngineError, PromptTooLong
from engine.prompt_cache import PromptCache
from engine.reply import Reply
from engine.text.tokenizer import Tokenizer

RUN_S = 0.03
"""How long one run of decode steps should last: text moves smoothly, a cancel is seen at once."""

MAX_RUN_STEPS = 64

_SEED_BITS = 32
"""Drawn seeds are short enough to be read out and typed again."""


class RunLength:
    """How many decode steps the next run has: one at first, then as many as fit in RUN_S."""

    def __init__(self) -> None:
        self.steps = 1

    def learn(self, steps_done: int, seconds: float) -> None:
        """Adapt after a run; a run that was cut short only shortens."""
        if seconds < RUN_S / 2 and steps_done >= self.steps:
            self.steps = min(MAX_RUN_STEPS, self.steps * 2)
        elif seconds > RUN_S * 1.5:
            self.steps = max(1, self.steps // 2)


class TextEngine:
    """A loaded model that answers requests; see `engine.api.Engine`."""

    def __init__(
        self,
        backend: Backend,
        tokenizer: Tokenizer,
        model_name: str,
        *,
        dump: DumpSink | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Nothing is read before `load`; `dump` takes the intermediate values of every prefill."""
        self._backend = backend
        self._tokenizer = tokenizer
        self._model_name = model_name
        self._dump = dump
        self._clock = clock
        self._slot_capacity = backend.capacity_tokens // backend.max_sequences
        self._cache = PromptCache(backend.max_sequences)
        self._waiting: deque[Reply] = deque()
        self._live: list[Reply] = []
        self._run_length = RunLength()
        self._begun_steps = 0
        self._handled_s = 0.0
        self._prefilled_last = False
        self._events: list[Event] = []

    def load(self, control: GenerationControl) -> Iterator[Event]:
        """Read the weights, yielding LoadProgress. Raises EngineError as the backend does."""
        yield from self._backend.load(control)

    def submit(self, request: GenerationRequest, control: GenerationControl) -> None:
        """Take a request; what is wrong with it comes as Failed from the next `step`."""
        try:
            self._waiting.append(self._reply_for(request, control))
        except EngineError as error:
            self._events.append(Failed(request.request_id, error))

    def step(self) -> list[Event]:
        """One prefill chunk, or one run of decode steps for all replies that decode."""
        self._end_cancelled()
        self._admit()
        feeding = [reply for reply in self._live if reply.feeding]
        decoding = [reply for reply in self._live if not reply.feeding]
        # Taking turns: a long prompt must not hold up the replies that are already streaming.
        if feeding and not (decoding and self._prefilled_last):
            self._guarded([feeding[0]], partial(self._prefill_chunk, feeding[0]))
            self._prefilled_last = True
        elif decoding:
            self._guarded(decoding, partial(self._decode_run, decoding))
            self._prefilled_last = False
        events, self._events = self._events, []
        return events

    def info(self) -> EngineInfo:
        """Describe the loaded model."""
        capabilities = {
            Capability.CONTINUE_REPLY,
            Capability.TOKEN_DETAIL,
            Capability.SEED,
            Capability.PREFIX_REUSE,
        }
        if self._tokenizer.supports_thinking:
            capabilities.add(Capability.THINKING)
        return EngineInfo(
            model=self._model_name,
            device=self._backend.device_name,
            capacity_tokens=self._backend.capacity_tokens,
            max_sequences=self._backend.max_sequences,
            capabilities=frozenset(capabilities),
            memory=self._backend.memory(),
            on_gpu=self._backend.on_gpu,
            graph_refused=self._backend.graph_refused,
        )

    @property
    def device_wait_s(self) -> float:
        """Seconds that the engine has waited for its device; all else is the host's own work."""
        return self._backend.device_wait_s

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the rendered conversation, up to where the reply would begin."""
        return len(self._tokenizer.render(messages, ThinkingParams()))

    def close(self) -> None:
        """Free all memory; replies that still run end as cancelled, told by one more `step`."""
        try:
            for reply in [*self._live, *self._waiting]:
                self._finish(reply, FinishReason.CANCELLED)
        finally:
            self._waiting.clear()
            self._live.clear()
            self._backend.close()

    def _reply_for(self, request: GenerationRequest, control: GenerationControl) -> Reply:
        if "" in request.stop_texts:
            raise BadRequest("stop_texts", request.stop_texts, "texts that are not empty")
        prompt = self._tokenizer.render(request.messages, request.thinking, True, request.prefix)
        limit = self._slot_capacity - 1  # at least one token must still fit
        if len(prompt) > limit:
            raise PromptTooLong(len(prompt), limit)
        seed = request.sampling.seed
        if seed is None:
            seed = secrets.randbits(_SEED_BITS)
        return Reply(request, control, self._tokenizer, prompt, seed, self._clock())

    def _end_cancelled(self) -> None:
        for reply in [*self._live, *self._waiting]:
            if reply.control.cancelled:
                self._finish(reply, FinishReason.CANCELLED)

    def _admit(self) -> None:
        while self._waiting:
            taken = self._cache.take(self._waiting[0].sequence)
            if taken is None:
                return
            reply = self._waiting.popleft()
            reply.slot, reply.reused_tokens = taken
            self._live.append(reply)
            self._guarded([reply], partial(self._begin, reply))

    def _begin(self, reply: Reply) -> None:
        self._backend.truncate(reply.slot, reply.reused_tokens)
        self._end_thinking_if_due(reply)

    def _prefill_chunk(self, reply: Reply) -> None:
        self._begun_steps = 0  # whatever the backend had begun, it forgets now
        started_s = self._clock()
        length = self._backend.length(reply.slot)
        chunk = reply.sequence[length : length + self._backend.prefill_chunk_tokens]
        is_last = length + len(chunk) == len(reply.sequence)
        if is_last:
            self._backend.set_sampler(
                reply.slot,
                reply.request.sampling,
                reply.seed,
                reply.prompt_token_ids,
                reply.sampled_ids,
                reply.request.detail,
            )
        token = self._backend.prefill(reply.slot, chunk, is_last, self._dump)
        now_s = self._clock()
        if reply.started:
            reply.decode_s += now_s - started_s
        else:
            reply.prefill_s += now_s - started_s
            total = len(reply.sequence)
            done = length + len(chunk)
            self._events.append(
                PrefillProgress(reply.request.request_id, done, total, reply.reused_tokens)
            )
        if token is not None:
            reply.feeding = False
            self._take_run(reply, [token], now_s)

    def _decode_run(self, decoding: list[Reply]) -> None:
        for reply in decoding:
            self._end_thinking_if_due(reply)
        running = [reply for reply in decoding if not reply.feeding and reply in self._live]
        if not running:
            return
        left = min(reply.steps_left(self._slot_capacity) for reply in running)
        # What the backend has begun ahead goes on since the last run's tokens were handled.
        started_s = self._handled_s if self._begun_steps else self._clock()
        steps = self._begun_steps or min(left, self._run_length.steps)
        ahead = self._steps_ahead(left - steps)
        sampled = self._backend.decode(
            [reply.slot for reply in running], steps, self._tokenizer.stop_token_ids, ahead
        )
        self._begun_steps = ahead
        self._run_length.learn(steps, self._clock() - started_s)
        for reply in running:
            self._take_run(reply, sampled[reply.slot], started_s)
        self._handled_s = self._clock()

    def _steps_ahead(self, left: int) -> int:
        """Steps that the backend may begin with while this run's tokens are being handled.

        With one slot alone: another reply that joins would have to wait for them.
        """
        return min(left, self._run_length.steps) if self._backend.max_sequences == 1 else 0

    def _end_thinking_if_due(self, reply: Reply) -> None:
        """Inject the end of thinking where the user or the budget wants the answer now."""
        ended_by = reply.thinking_must_end()
        if not ended_by:
            return
        closing = reply.closing_token_ids()
        if len(reply.sequence) + len(closing) >= self._slot_capacity:
            # No room for the end of thinking and one token of answer.
            self._finish(reply, FinishReason.CONTEXT_FULL)
            return
        reply.inject_closing(closing, ended_by, self._clock())
        self._events += reply.take_deltas()

    def _take_run(self, reply: Reply, tokens: Sequence[SampledToken], started_s: float) -> None:
        reason: FinishReason | None = None
        for token in tokens:
            reason = reply.take(token, self._clock())
            if reason is not None:
                break
        # Before the reply may end: its last run counts too, and what is done with its tokens.
        reply.decode_s += self._clock() - started_s
        if not tokens:
            # The backend's cache is full, though by our count it is not.
            reason = FinishReason.CONTEXT_FULL
        reason = reason or reply.limit_reached(self._slot_capacity)
        if reason is not None:
            self._finish(reply, reason)
        else:
            self._events += reply.take_deltas()

    def _finish(self, reply: Reply, reason: FinishReason) -> None:
        reply.flush()
        self._events += reply.take_deltas()
        self._drop(reply, keep_cache=True)
        stats = reply.stats(self._clock())
        self._events.append(Finished(reply.request.request_id, reason, stats))

    def _drop(self, reply: Reply, *, keep_cache: bool) -> None:
        """Take a reply off the lists and give its slot back."""
        if reply in self._waiting:
            self._waiting.remove(reply)
        if reply not in self._live:
            return
        self._live.remove(reply)
        cached: list[int] = []
        with contextlib.suppress(EngineError):
            # A run may have gone past a stop text: what lies behind the reply is forgotten.
            length = min(self._backend.length(reply.slot), len(reply.sequence))
            self._backend.truncate(reply.slot, length if keep_cache else 0)
            cached = reply.sequence[:length] if keep_cache else []
        self._cache.release(reply.slot, cached)

    def _guarded(self, replies: Sequence[Reply], work: Callable[[], None]) -> None:
        """Do some work for `replies`; an EngineError fails them and forgets their caches.

        DeviceLost fails every request. Any other exception is a bug: it goes on to the caller,
        after these replies are off the lists, so that the next request finds a clean engine.
        """
        try:
            work()
        except EngineError as error:
            lost = isinstance(error, DeviceLost)
            failing = [*self._live, *self._waiting] if lost else replies
            for reply in failing:
                if reply in self._live or reply in self._waiting:
                    self._drop(reply, keep_cache=False)
                    self._events.append(Failed(reply.request.request_id, error))
        except BaseException:
            for reply in replies:
                self._drop(reply, keep_cache=False)
            raise
