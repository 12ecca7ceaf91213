"""What the device drew comes to the host while the device goes on: copies enqueued behind a run."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from numpy.typing import NDArray

from engine.backend import SampledToken
from engine.cuda.memory_block import DeviceArray


class TokenReadback:
    """Pinned memory for the sampler's states [slots] and records [slots, R] after one run.

    It may be enqueued again once it was waited for and read.
    """

    def __init__(self, states: DeviceArray, records: DeviceArray, dtypes: tuple[Any, Any]) -> None:
        """`states` and `records` are the device's bytes, `dtypes` the structs that they hold."""
        self._sources = (states, records)
        self._memory = cupy.cuda.alloc_pinned_memory(states.nbytes + records.nbytes)
        self._copied = cupy.cuda.Event(disable_timing=True)
        slots, capacity = records.shape[:2]
        self.states: NDArray[np.void] = np.frombuffer(self._memory, dtypes[0], slots)
        found = np.frombuffer(self._memory, dtypes[1], slots * capacity, states.nbytes)
        self._records: NDArray[np.void] = found.reshape(slots, capacity)

    def enqueue(self, stream: Any) -> None:  # noqa: ANN401  (cupy.cuda.Stream)
        """Copy states and records once all is done that the stream holds now."""
        target = self._memory.ptr
        for source in self._sources:
            runtime.memcpyAsync(
                target, source.data.ptr, source.nbytes, runtime.memcpyDeviceToHost, stream.ptr
            )
            target += source.nbytes
        self._copied.record(stream)

    def wait(self) -> None:
        """Wait for the copies alone, whatever was enqueued behind them."""
        self._copied.synchronize()

    def tokens(self, slot: int, first: int, last: int) -> list[SampledToken]:
        """The slot's tokens number `first` to `last` - 1."""
        capacity = self._records.shape[1]
        records = self._records[slot, np.arange(first, last) % capacity]
        if (records["rank"] < 0).all():
            # No detail was asked for: a whole run in two strokes, as every token passes here.
            return list(map(SampledToken, records["token_id"].tolist()))
        return [_detailed_token(record) for record in records]


def _detailed_token(record: NDArray[np.void]) -> SampledToken:
    alternatives = tuple(
        (int(token_id), float(logprob))
        for token_id, logprob in zip(
            record["alternative_ids"], record["alternative_logprobs"], strict=True
        )
        if token_id >= 0
    )
    return SampledToken(
        int(record["token_id"]), float(record["logprob"]), int(record["rank"]), alternatives
    )
