"""bfloat16 in NumPy as uint16 bits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def to_bf16(values: NDArray[np.floating]) -> NDArray[np.uint16]:
    """Bits of the nearest bfloat16 (ties to even) of finite or infinite float32 values."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), rounded.astype(np.uint16))


def from_bf16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Values of bfloat16 bits, exactly."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
