"""What crosses the thread between window and engine: requests, events, the Engine protocol.

Standard library only; events carry no CuPy or NumPy objects. Consumers use `match` with
`assert_never` over `Event`, so that the type checker names every view that forgot a new one.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from engine.errors import BadRequest, DownloadFault, EngineError


class Role(Enum):
    """Who speaks in a chat message."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class Channel(Enum):
    """Which of the two streams of a reply a piece of text belongs to."""

    THINKING = "thinking"
    ANSWER = "answer"


class FinishReason(Enum):
    """Why a reply ended."""

    END = "end"
    MAX_NEW_TOKENS = "max_new_tokens"
    CONTEXT_FULL = "context_full"
    STOP_TEXT = "stop_text"
    CANCELLED = "cancelled"


class Detail(Enum):
    """How much is told about each token."""

    NONE = "none"
    LOGPROB = "logprob"
    ALTERNATIVES = "alternatives"


class Capability(Enum):
    """What an engine can do; the window disables what is missing."""

    THINKING = "thinking"
    CONTINUE_REPLY = "continue_reply"
    TOKEN_DETAIL = "token_detail"
    SEED = "seed"
    PREFIX_REUSE = "prefix_reuse"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asked for; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the conversation; `thinking` only for the assistant."""

    role: Role
    text: str
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()


def _require(field_name: str, value: float, low: float, high: float, expected: str) -> None:
    # NaN fails both comparisons, so it is refused too.
    if not (low <= value <= high):
        raise BadRequest(field_name, value, expected)


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is drawn; order: penalties, temperature, top-k, top-p, min-p.

    Temperature 0 is greedy; `top_k` 0 and `top_p` 1 and `min_p` 0 switch a filter off; `seed`
    None draws one.

    Raises:
        BadRequest: a value is outside its range.
    """

    temperature: float = 0.6
    top_k: int = 20
    top_p: float = 0.95
    min_p: float = 0.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        _require("temperature", self.temperature, 0.0, 5.0, "0 to 5")
        _require("top_k", self.top_k, 0, 1_000_000, "0 (off) to 1,000,000")
        _require("top_p", self.top_p, 1e-6, 1.0, "more than 0, at most 1")
        _require("min_p", self.min_p, 0.0, 1.0, "0 to 1")
        _require("presence_penalty", self.presence_penalty, -2.0, 2.0, "-2 to 2")
        _require("frequency_penalty", self.frequency_penalty, -2.0, 2.0, "-2 to 2")
        _require("repetition_penalty", self.repetition_penalty, 0.1, 10.0, "0.1 to 10")
        if self.seed is not None:
            _require("seed", self.seed, 0, 2**63 - 1, "0 to 2^63-1")


@dataclass(frozen=True, slots=True)
class ThinkingParams:
    """Whether the model thinks first, and for how many tokens at most (None: no limit)."""

    enabled: bool = True
    budget_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.budget_tokens is not None:
            _require("thinking budget", self.budget_tokens, 0, math.inf, "0 or more")


@dataclass(frozen=True, slots=True)
class ReplyPrefix:
    """The beginning of a reply that is to be continued, in its thinking or in its answer."""

    thinking: str = ""
    thinking_closed: bool = False
    answer: str = ""


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One reply to be generated."""

    request_id: str
    messages: tuple[ChatMessage, ...]
    sampling: SamplingParams = field(default_factory=SamplingParams)
    thinking: ThinkingParams = field(default_factory=ThinkingParams)
    max_new_tokens: int | None = None
    stop_texts: tuple[str, ...] = ()
    prefix: ReplyPrefix | None = None
    detail: Detail = Detail.NONE

    def __post_init__(self) -> None:
        if not self.messages:
            raise BadRequest("messages", (), "at least one message")
        if self.max_new_tokens is not None:
            _require("max_new_tokens", self.max_new_tokens, 1, math.inf, "1 or more")


class GenerationControl:
    """The only mutable object shared between threads: two plain flags.

    A queued "stop" signal would never be delivered while the worker's loop runs.
    """

    def __init__(self) -> None:
        self._cancel = threading.Event()
        self._answer_now = threading.Event()

    def cancel(self) -> None:
        """Ask the engine to stop; it ends the request with `FinishReason.CANCELLED`."""
        self._cancel.set()

    def answer_now(self) -> None:
        """Ask the engine to end the thinking and go on with the answer."""
        self._answer_now.set()

    @property
    def cancelled(self) -> bool:
        """Whether cancel was asked for."""
        return self._cancel.is_set()

    def take_answer_now(self) -> bool:
        """Whether "answer now" was asked for since the last call; clears the flag."""
        was_set = self._answer_now.is_set()
        self._answer_now.clear()
        return was_set


@dataclass(frozen=True, slots=True)
class TokenAlternative:
    """A token that could have stood here; `logprob` in nat, before temperature."""

    token_id: int
    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class TokenInfo:
    """Data of one generated token; `rank` 0 is the most likely."""

    token_id: int
    text: str
    logprob: float
    rank: int
    alternatives: tuple[TokenAlternative, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationStats:
    """Counts and times of one reply; the seed that was used replays it on the same build."""

    prompt_tokens: int
    reused_tokens: int
    thinking_tokens: int
    answer_tokens: int
    prefill_s: float
    decode_s: float
    first_token_s: float
    thinking_s: float
    seed: int
    context_tokens: int
    token_ids: tuple[int, ...] = ()
    thinking_ended_by: str = ""

    @property
    def generated_tokens(self) -> int:
        """Thinking, answer and control tokens that the model produced."""
        return len(self.token_ids)

    @property
    def prefill_tokens_per_s(self) -> float:
        """Prompt tokens computed (not reused) per second; 0 where nothing was computed."""
        computed = self.prompt_tokens - self.reused_tokens
        return computed / self.prefill_s if self.prefill_s > 0 else 0.0

    @property
    def decode_tokens_per_s(self) -> float:
        """Tokens after the first per second of decoding; 0 where there is none."""
        steps = max(0, len(self.token_ids) - 1)
        return steps / self.decode_s if self.decode_s > 0 else 0.0


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """Bytes of weights read or uploaded so far; `stage` is a word such as "weights"."""

    stage: str
    done_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """Prompt tokens computed so far; `reused_tokens` of them came from the cache."""

    request_id: str
    done_tokens: int
    total_tokens: int
    reused_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """New text of one channel; `token_count` tokens stand behind it (0 for held-back text)."""

    request_id: str
    channel: Channel
    text: str
    token_count: int
    tokens: tuple[TokenInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """The reply ended; exactly one Finished or Failed ends a request, a cancel included."""

    request_id: str
    reason: FinishReason
    stats: GenerationStats


@dataclass(frozen=True, slots=True)
class Failed:
    """The request ended with an error."""

    request_id: str
    error: EngineError


Event = LoadProgress | PrefillProgress | Delta | Finished | Failed
"""Everything an engine yields."""


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """Bytes of one file of a model that have arrived, and the totals over its files; where none
    arrive, what is the matter: `waiting_for` ("connection reset", else ""), and without words
    `fault` and `about`. `retry_in_s` then counts down to the next try.
    """

    file: str
    file_done_bytes: int
    file_total_bytes: int
    done_bytes: int
    total_bytes: int
    bytes_per_s: float
    seconds_left: float | None
    waiting_for: str = ""
    retry_in_s: float | None = None
    fault: DownloadFault | None = None
    about: str = ""


@dataclass(frozen=True, slots=True)
class VerifyProgress:
    """Bytes of one file that have been hashed."""

    file: str
    file_done_bytes: int
    file_total_bytes: int


ModelStoreEvent = DownloadProgress | VerifyProgress
"""Everything the model store yields."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes that a model needs on a device, known before loading."""

    weights_bytes: int
    kv_cache_bytes: int
    workspace_bytes: int

    @property
    def total_bytes(self) -> int:
        """All three together."""
        return self.weights_bytes + self.kv_cache_bytes + self.workspace_bytes


@dataclass(frozen=True, slots=True)
class EngineInfo:
    """What is loaded, and what it can do; `device` is a name for people."""

    model: str
    device: str
    capacity_tokens: int
    max_sequences: int
    capabilities: frozenset[Capability]
    memory: MemoryPlan
    on_gpu: bool
    graph_refused: bool = False  # at `load` or later: no CUDA graphs, answers are slower


class Engine(Protocol):
    """A loaded model that answers; all calls but `count_tokens` come from one thread."""

    def load(self, control: GenerationControl) -> Iterator[Event]:
        """Read the weights, yielding LoadProgress.

        Raises:
            EngineError: a file, the device or the memory is not as needed.
        """
        ...

    def submit(self, request: GenerationRequest, control: GenerationControl) -> None:
        """Take a request; its events come from `step`. Errors of it come as Failed."""
        ...

    def step(self) -> list[Event]:
        """Do one prefill chunk or one run of decode steps for all live requests."""
        ...

    def info(self) -> EngineInfo:
        """Describe the loaded model."""
        ...

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """Tokens of the rendered conversation; may be called from any thread."""
        ...

    def close(self) -> None:
        """Free all memory; only one `step` may follow, which tells how running replies ended."""
        ...


def generate(
    engine: Engine, request: GenerationRequest, control: GenerationControl
) -> Iterator[Event]:
    """Yield the events of one request, the last of them Finished or Failed."""
    engine.submit(request, control)
    while True:
        for event in engine.step():
            if isinstance(event, LoadProgress) or event.request_id != request.request_id:
                continue
            yield event
            if isinstance(event, Finished | Failed):
                return
