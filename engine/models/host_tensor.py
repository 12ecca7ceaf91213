"""Weights in host memory: `HostTensor`, read row by row from a mapped file, and bf16 rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FLOAT_DTYPES = ("BF16", "F16", "F32")
"""Dtypes whose rows are views of the file; all others (GGUF blocks) are dequantized to float32."""


@dataclass(frozen=True, slots=True)
class HostTensor:
    """One tensor of a model file under its checkpoint name; nothing is read until asked for.

    `dtype` is the stored one: BF16, F16, F32, or a GGUF block type such as Q4_1. `read_rows(begin,
    end)` gives rows of the first dimension: uint16 (the bits of bf16), float16 or float32; blocks
    come dequantized as float32. BF16, F16 and F32 rows are views of the mapped file: no copy.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    read_rows: Callable[[int, int], NDArray[np.generic]]

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def array(self) -> NDArray[np.generic]:
        """All rows, `shape`; uint16 for BF16."""
        return self.read_rows(0, self.shape[0])


def to_bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round float32 to bf16, to nearest, ties to even; returns the bits. NaN stays NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    # Adding just under half (plus the lowest kept bit) carries exactly when RNE rounds up.
    rounded = ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)
    is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
    if is_nan.any():
        rounded[is_nan] = ((bits[is_nan] >> 16) | 0x40).astype(np.uint16)
    return rounded


def bf16_to_float32(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Widen bf16 bits to float32, exactly."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_float32(tensor: HostTensor, begin: int = 0, end: int | None = None) -> NDArray[np.float32]:
    """Rows `begin` to `end` (all by default) as float32, exact for every stored dtype."""
    rows = tensor.read_rows(begin, tensor.shape[0] if end is None else end)
    if rows.dtype == np.uint16:
        return bf16_to_float32(rows.view(np.uint16))
    return rows.astype(np.float32, copy=False)


def to_bf16_rows(tensor: HostTensor, begin: int = 0, end: int | None = None) -> NDArray[np.uint16]:
    """Rows `begin` to `end` (all by default) as bf16 bits; stored BF16 comes as it is, no copy."""
    rows = tensor.read_rows(begin, tensor.shape[0] if end is None else end)
    if rows.dtype == np.uint16:
        return rows.view(np.uint16)
    return to_bf16(rows.astype(np.float32, copy=False))
