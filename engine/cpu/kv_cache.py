"""The KV cache of one slot: keys and values of every layer, float32, grown by appending."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class KvCache:
    """Keys (after norm and rotation) and values, each [layers, NKV, capacity, HD] float32.

    `length` positions are valid. A forward pass stores each layer's rows first and calls `advance`
    once at its end, so a pass that raises leaves the length, and so the cache, as it was.
    """

    def __init__(
        self, num_hidden_layers: int, num_key_value_heads: int, capacity: int, head_dim: int
    ) -> None:
        shape = (num_hidden_layers, num_key_value_heads, capacity, head_dim)
        # Zeroed pages come from the system one by one as they are written, so a long context
        # costs memory only when it is used.
        self._keys: NDArray[np.float32] = np.zeros(shape, np.float32)
        self._values: NDArray[np.float32] = np.zeros(shape, np.float32)
        self.capacity = capacity
        self.length = 0

    @property
    def nbytes(self) -> int:
        """Bytes reserved."""
        return self._keys.nbytes + self._values.nbytes

    def append(
        self, layer: int, keys: NDArray[np.float32], values: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Store rows [T, NKV, HD] behind `length`; return all keys and values [NKV, S, HD].

        Raises:
            IndexError: the rows do not fit; the generation loop never asks for that.
        """
        end = self.length + keys.shape[0]
        if end > self.capacity:
            raise IndexError(f"{end} positions do not fit in a cache of {self.capacity}")
        self._keys[layer, :, self.length : end] = keys.transpose(1, 0, 2)
        self._values[layer, :, self.length : end] = values.transpose(1, 0, 2)
        return self._keys[layer, :, :end], self._values[layer, :, :end]

    def advance(self, tokens: int) -> None:
        """Make `tokens` more positions valid, after all layers have stored them."""
        self.length += tokens

    def truncate(self, length: int) -> None:
        """Forget all positions from `length` on."""
        self.length = min(self.length, length)
