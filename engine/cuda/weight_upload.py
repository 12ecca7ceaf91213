"""Weights from the mapped file to the device: converted to bf16, staged through pinned memory.

Two pinned buffers alternate: while one is copied by the device the other is filled from the file,
so neither waits for the other and no tensor is read into RAM as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from numpy.typing import NDArray

from engine.api import GenerationControl, LoadProgress
from engine.cuda.memory_block import MemoryBlock
from engine.errors import LoadCancelled
from engine.models.host_tensor import to_bf16_rows
from engine.models.model_files import ModelFiles
from engine.models.weights import WeightBlock, weight_blocks

STAGING_BYTES = 16 << 20
BF16_BYTES = 2


@dataclass(slots=True)
class _Staging:
    """One pinned buffer and the event after which it may be filled again."""

    memory: Any
    values: NDArray[np.uint16]
    copied: Any


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
    staging = [_new_staging() for _ in range(2)]
    turn = 0
    for weight in blocks:
        target = block.address(weight.name)
        for values in _pieces(files, weight):
            if control.cancelled:
                stream.synchronize()
                raise LoadCancelled
            buffer = staging[turn]
            turn = 1 - turn
            buffer.copied.synchronize()
            buffer.values[: values.size] = values
            runtime.memcpyAsync(
                target,
                buffer.memory.ptr,
                values.size * BF16_BYTES,
                runtime.memcpyHostToDevice,
                stream.ptr,
            )
            buffer.copied.record(stream)
            target += values.size * BF16_BYTES
            done += values.size * BF16_BYTES
            yield LoadProgress("weights", done, total)
    stream.synchronize()


def _new_staging() -> _Staging:
    memory = cupy.cuda.alloc_pinned_memory(STAGING_BYTES)
    count = STAGING_BYTES // BF16_BYTES
    values = np.frombuffer(memory, dtype=np.uint16, count=count)
    return _Staging(memory, values, cupy.cuda.Event(disable_timing=True))


def _pieces(files: ModelFiles, weight: WeightBlock) -> Iterator[NDArray[np.uint16]]:
    """The block's rows, in order, as flat bf16 pieces that fit a staging buffer."""
    for part in weight.parts:
        tensor = files.tensor(part.name)
        row_bytes = BF16_BYTES * (tensor.size // tensor.shape[0])
        rows_per_piece = max(1, STAGING_BYTES // row_bytes)
        for begin in range(0, tensor.shape[0], rows_per_piece):
            end = min(begin + rows_per_piece, tensor.shape[0])
            yield to_bf16_rows(tensor, begin, end).reshape(-1)
