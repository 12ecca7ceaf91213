"""Decode, prefill, time to the first token, and what the host costs, on a loaded engine."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.api import ChatMessage
from engine.bench.replies import TimedReply, WaitingEngine, long_reply, prompt_of, timed_reply
from engine.bench.result import Row
from engine.models.model_config import ModelConfig
from engine.models.weights import weight_blocks

SWITCH_INTERVAL_S = 0.001
"""How long a thread keeps the GIL while this is measured; the app sets less, which is kinder."""

BUSY_S, PERIOD_S = 0.025, 0.040
"""The busy thread computes in Python for so long of every period, as a window that draws."""

DECODE_TOKENS = 256
SHORT_POSITIONS = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """What the device reads and multiplies at best, measured in the same run."""

    read_bytes_per_s: float | None
    products_per_s: float | None
    """Multiplications and additions of bf16 matrix products; None where no library does them."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What one token of a model costs at least."""

    weight_bytes: int
    cache_bytes_per_position: int
    weight_operations: int
    attention_operations_per_position: int

    @classmethod
    def of(cls, config: ModelConfig, bytes_per_value: int = 2) -> Costs:
        """From a model's shape; the weights of the embedding count where they are the lm_head's."""
        blocks = weight_blocks(config)
        read = [block for block in blocks if "embed_tokens" not in block.name]
        layers = sum(block.size for block in read if "layers" in block.name)
        head = config.vocab_size * config.hidden_size
        values = layers + head + config.hidden_size
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        return cls(
            weight_bytes=values * bytes_per_value,
            cache_bytes_per_position=2
            * config.num_hidden_layers
            * kv_heads
            * config.head_dim
            * bytes_per_value,
            weight_operations=2 * layers,
            attention_operations_per_position=4
            * config.num_hidden_layers
            * heads
            * config.head_dim,
        )

    def decode_limit(self, limits: Limits, positions: float) -> float | None:
        """Tokens a second if weights, keys and values were read once, at the limit."""
        if limits.read_bytes_per_s is None:
            return None
        nbytes = self.weight_bytes + positions * self.cache_bytes_per_position
        return limits.read_bytes_per_s / nbytes

    def prefill_limit(self, limits: Limits, tokens: int) -> float | None:
        """Tokens a second if the products, and the unmasked half of attention, ran at the limit."""
        if limits.products_per_s is None:
            return None
        attention = self.attention_operations_per_position * tokens / 2
        return limits.products_per_s / (self.weight_operations + attention)


@dataclass(frozen=True, slots=True)
class Speeds:
    """Measures one engine; every row is a median of `runs`."""

    engine: WaitingEngine
    costs: Costs
    limits: Limits
    runs: int = 5
    decode_tokens: int = DECODE_TOKENS

    def decode_short(self) -> tuple[Row, Row]:
        """Tokens a second from the first position to position 512, and the host's time for one.

        The host's time is what the engine thread does not wait for its device, in milliseconds.
        """
        messages = prompt_of(self.engine, 16, "Tell")
        prompt = self.engine.count_tokens(messages)
        tokens = min(SHORT_POSITIONS - prompt, 2 * self.decode_tokens)
        replies = self._replies(messages, tokens)
        host_ms = tuple(1000 * reply.host_s / reply.decoded_tokens for reply in replies)
        row = self._decode_row("decode_512", replies, prompt + tokens / 2)
        return row, Row("host_ms_per_token", host_ms, "ms", None, {"measured_with": row.name})

    def decode_at(self, position: int) -> Row:
        """Tokens a second behind so many cached positions."""
        messages = prompt_of(self.engine, position, f"At {position}")
        replies = self._replies(messages, self.decode_tokens)
        return self._decode_row(f"decode_{position}", replies, position + self.decode_tokens / 2)

    def _replies(self, messages: tuple[ChatMessage, ...], tokens: int) -> list[TimedReply]:
        """One reply to warm up, which fills the cache, then those that count."""
        long_reply(self.engine, messages, tokens, self.runs)
        return [long_reply(self.engine, messages, tokens, run) for run in range(self.runs)]

    def _decode_row(self, name: str, replies: Sequence[TimedReply], middle: float) -> Row:
        facts: dict[str, object] = {
            "prompt_tokens": replies[0].stats.prompt_tokens,
            "decoded_tokens": [reply.decoded_tokens for reply in replies],
            "text_characters": [reply.text_characters for reply in replies],
        }
        speeds = tuple(reply.decoded_tokens / reply.decode_s for reply in replies)
        return Row(name, speeds, "tokens/s", self.costs.decode_limit(self.limits, middle), facts)

    def prefill(self, tokens: int) -> Row:
        """Prompt tokens a second; every prompt is new, so that nothing is reused."""
        speeds = []
        facts: dict[str, object] = {}
        for run in range(-1, self.runs):
            messages = prompt_of(self.engine, tokens, f"{run + 2}. prompt of {tokens}")
            stats = timed_reply(self.engine, messages, 1).stats
            facts = {"prompt_tokens": stats.prompt_tokens, "reused_tokens": stats.reused_tokens}
            if run >= 0:
                speeds.append(stats.prefill_tokens_per_s)
        limit = self.costs.prefill_limit(self.limits, tokens)
        return Row(f"prefill_{tokens}", tuple(speeds), "tokens/s", limit, facts)

    def first_token(self, tokens: int = 512) -> Row:
        """Milliseconds from handing in a new prompt to its first token, with template and text."""
        times = []
        facts: dict[str, object] = {}
        for run in range(-1, self.runs):
            messages = prompt_of(self.engine, tokens, f"{run + 2}. time of {tokens}")
            reply = timed_reply(self.engine, messages, 1)
            facts = {"prompt_tokens": reply.stats.prompt_tokens}
            if run >= 0:
                times.append(1000 * reply.first_token_s)
        return Row(f"ttft_{tokens}_ms", tuple(times), "ms", None, facts)

    def beside_a_busy_thread(self) -> Row:
        """Share of the decode speed that is left beside a thread that computes in Python."""
        messages = prompt_of(self.engine, 16, "Tell")
        tokens = min(SHORT_POSITIONS - 32, 2 * self.decode_tokens)

        def speed(seed: int) -> float:
            reply = long_reply(self.engine, messages, tokens, seed)
            return reply.decoded_tokens / reply.decode_s

        alone, beside = [], []
        for run in range(self.runs):
            alone.append(speed(run))
            with _busy_thread():
                beside.append(speed(run))
        middle = sorted(alone)[len(alone) // 2]
        shares = tuple(value / middle for value in beside)
        facts: dict[str, object] = {
            "busy_s_of_period_s": [BUSY_S, PERIOD_S],
            "switch_interval_s": sys.getswitchinterval(),
            "alone_tokens_per_s": round(middle, 1),
        }
        return Row("busy_thread_share", shares, "share", None, facts)


@contextlib.contextmanager
def switch_interval(seconds: float = SWITCH_INTERVAL_S) -> Iterator[None]:
    """Let threads change as often as in the app, for as long as the block lasts."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextlib.contextmanager
def _busy_thread() -> Iterator[None]:
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(PERIOD_S - BUSY_S):
            until_s = time.perf_counter() + BUSY_S
            while time.perf_counter() < until_s:
                pass

    thread = threading.Thread(target=work, name="busy")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
