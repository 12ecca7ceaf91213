"""Weights from the mapped file to the device: converted to bf16, staged through pinned memory.

Several threads fill pinned buffers from the file (reading it faults its pages in, and converting
takes a core), while the device copies those that are full; no tensor is read into RAM as a whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from numpy.typing import NDArray

from engine.api import GenerationControl, LoadProgress
from engine.cuda.memory_block import MemoryBlock
from engine.errors import LoadCancelled
from engine.models.host_tensor import HostTensor, to_bf16_rows
from engine.models.model_files import ModelFiles
from engine.models.weights import WeightBlock, weight_blocks

STAGING_BYTES = 8 << 20
STAGING_BUFFERS = 4
BF16_BYTES = 2


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of a tensor that fit a staging buffer, and where they go."""

    tensor: HostTensor
    begin: int
    end: int
    target: int

    @property
    def size(self) -> int:
        """Number of values."""
        return (self.end - self.begin) * (self.tensor.size // self.tensor.shape[0])


@dataclass(frozen=True, slots=True)
class _Staging:
    """One pinned buffer and the event after which it may be filled again."""

    memory: Any
    values: NDArray[np.uint16]
    copied: Any

    def fill(self, piece: _Piece) -> None:
        """Read and convert; on any thread."""
        self.values[: piece.size] = to_bf16_rows(piece.tensor, piece.begin, piece.end).reshape(-1)

    def send(self, piece: _Piece, stream: cupy.cuda.Stream) -> None:
        """Enqueue the copy to the device."""
        nbytes = piece.size * BF16_BYTES
        kind = runtime.memcpyHostToDevice
        runtime.memcpyAsync(piece.target, self.memory.ptr, nbytes, kind, stream.ptr)
        self.copied.record(stream)


def upload_weights(
    files: ModelFiles, block: MemoryBlock, stream: cupy.cuda.Stream, control: GenerationControl
) -> Iterator[LoadProgress]:
    """Copy every weight to its region of `block`, yielding progress in bf16 bytes.

    Raises:
        LoadCancelled: `control` was cancelled.
        BadModelFile: the file changed or broke off while it was read.
    """
    blocks = weight_blocks(files.config)
    total = sum(weight.size for weight in blocks) * BF16_BYTES
    done = 0
    free = deque(_new_staging() for _ in range(STAGING_BUFFERS))
    filling: deque[tuple[_Piece, _Staging, Future[None]]] = deque()
    waiting = _pieces(files, block, blocks)
    with ThreadPoolExecutor(STAGING_BUFFERS, "weight reader") as pool:
        while True:
            if control.cancelled:
                stream.synchronize()
                raise LoadCancelled
            while free and (piece := next(waiting, None)) is not None:
                buffer = free.popleft()
                buffer.copied.synchronize()
                filling.append((piece, buffer, pool.submit(buffer.fill, piece)))
            if not filling:
                break
            piece, buffer, filled = filling.popleft()
            filled.result()
            buffer.send(piece, stream)
            free.append(buffer)
            done += piece.size * BF16_BYTES
            yield LoadProgress("weights", done, total)
    stream.synchronize()


def _new_staging() -> _Staging:
    memory = cupy.cuda.alloc_pinned_memory(STAGING_BYTES)
    count = STAGING_BYTES // BF16_BYTES
    values = np.frombuffer(memory, dtype=np.uint16, count=count)
    return _Staging(memory, values, cupy.cuda.Event(disable_timing=True))


def _pieces(files: ModelFiles, block: MemoryBlock, blocks: list[WeightBlock]) -> Iterator[_Piece]:
    """All rows of all blocks, in order, in pieces that fit a staging buffer."""
    for weight in blocks:
        target = block.address(weight.name)
        for part in weight.parts:
            tensor = files.tensor(part.name)
            row_bytes = BF16_BYTES * (tensor.size // tensor.shape[0])
            rows_per_piece = max(1, STAGING_BYTES // row_bytes)
            for begin in range(0, tensor.shape[0], rows_per_piece):
                end = min(begin + rows_per_piece, tensor.shape[0])
                yield _Piece(tensor, begin, end, target)
                target += (end - begin) * row_bytes
