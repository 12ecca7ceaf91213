"""The seam between the generation loop and the devices: `Backend`, implemented by cpu and cuda.

A backend holds slots; a slot is one sequence: its KV cache of `length` tokens, the state of its
sampler, and one *pending* token: sampled, reported, not yet in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from engine.api import Detail, GenerationControl, LoadProgress, MemoryPlan, SamplingParams

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SampledToken:
    """One sampled token; logprob (nat, of the raw logits) and rank are None without detail."""

    token_id: int
    logprob: float | None = None
    rank: int | None = None
    alternatives: tuple[tuple[int, float], ...] = ()


class DumpSink(Protocol):
    """Takes intermediate values, for comparing with an oracle (`--dump`, accuracy gates)."""

    def __call__(self, name: str, value: NDArray[np.float32]) -> None:
        """Take one array; `name` is "hidden.00" (embeddings), "hidden.01" (after layer 0), ...,
        "hidden.norm" (after the final norm) as [T, E] float32, or "logits" as [T, V] float32.
        """
        ...


class Backend(Protocol):
    """A device that computes one model for a fixed number of slots.

    Every method but `load` and `close` raises NumericalError for NaN or infinite logits and
    DeviceLost for a sticky device error.
    """

    @property
    def device_name(self) -> str:
        """Name for people, for example "NVIDIA GeForce RTX 3060" or "CPU (NumPy)"."""
        ...

    @property
    def on_gpu(self) -> bool:
        """Whether an NVIDIA GPU does the work."""
        ...

    @property
    def graph_refused(self) -> bool:
        """Whether the GPU works more slowly than it could, as it refused to capture a graph."""
        ...

    @property
    def capacity_tokens(self) -> int:
        """Positions that the cache holds, over all slots; `// max_sequences` of them per slot."""
        ...

    @property
    def max_sequences(self) -> int:
        """Number of slots."""
        ...

    @property
    def device_wait_s(self) -> float:
        """Seconds that calls have waited for a device that works on its own; 0 for the CPU."""
        ...

    def load(self, control: GenerationControl) -> Iterator[LoadProgress]:
        """Read the weights to the device. Raises LoadCancelled, NotEnoughMemory, ..."""
        ...

    def memory(self) -> MemoryPlan:
        """Bytes that are held."""
        ...

    def length(self, slot: int) -> int:
        """Tokens in the slot's cache (the pending one not counted)."""
        ...

    def truncate(self, slot: int, length: int) -> None:
        """Forget all cached tokens from `length` on, and the pending token."""
        ...

    def set_sampler(
        self,
        slot: int,
        sampling: SamplingParams,
        seed: int,
        prompt_token_ids: Sequence[int],
        generated_token_ids: Sequence[int],
        detail: Detail,
    ) -> None:
        """Set all sampler state of a slot; idempotent.

        Presence and frequency penalties count `generated_token_ids`; the repetition penalty also
        counts the prompt. The random number of the n-th generated token depends on `seed` and n
        alone, so a reply replays, also after a truncation.
        """
        ...

    def prefill(
        self,
        slot: int,
        token_ids: Sequence[int],
        sample: bool,
        dump: DumpSink | None = None,
    ) -> SampledToken | None:
        """Append `token_ids` (1 to `prefill_chunk_tokens`) to the slot's cache.

        With `sample` the next token is drawn from the last position's logits, becomes pending and
        is returned; any earlier pending token is forgotten.
        """
        ...

    def decode(
        self,
        slots: Sequence[int],
        steps: int,
        stop_token_ids: frozenset[int],
        steps_ahead: int = 0,
    ) -> dict[int, list[SampledToken]]:
        """Run up to `steps` decode steps for each slot, all slots in one pass over the weights.

        One step appends the pending token to the cache, computes logits and samples the next
        pending token. A slot stops early after sampling a stop token or when its cache is full;
        the returned lists hold the tokens sampled now, in order.

        With `steps_ahead` the next call asks for just these slots and so many `steps`, unless
        `truncate`, `prefill` or `set_sampler` come before it: a device that works on its own may
        begin with them before this call returns, so that it never waits for the host. They count
        as not done (`length`) until they are returned; those three calls forget them.
        """
        ...

    @property
    def prefill_chunk_tokens(self) -> int:
        """Most tokens that one `prefill` call takes."""
        ...

    def close(self) -> None:
        """Free everything."""
        ...
