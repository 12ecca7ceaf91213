"""Weight matrices of the CPU backend: a float32 copy, or bfloat16 as stored where numba is there.

Both compute `y = x @ W^T` in float32 and agree to rounding of float32 sums.
"""

from __future__ import annotations

import importlib.util
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.cpu.parallel import share, thread_count
from engine.models.host_tensor import bf16_to_float32
from engine.models.memory_plan import CPU_MATRIX_BLOCK_VALUES

_MATVEC_ROWS = 4
"""Up to this many rows of x are cheaper straight on bfloat16 than by conversion and BLAS."""


def numba_installed() -> bool:
    """Whether `matvec` can be imported."""
    return importlib.util.find_spec("numba") is not None


class Matrix(Protocol):
    """A weight matrix [N, K], for products and, as embedding, for single rows."""

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        ...

    def product(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """`x @ W^T` as float32 [T, N] for x float32 [T, K]."""
        ...

    def rows(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows at `indices` [T] as float32 [T, K]."""
        ...


class Float32Matrix:
    """Weights [N, K] float32; BLAS does the products."""

    def __init__(self, weight: NDArray[np.float32]) -> None:
        self._weight = weight

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self._weight.nbytes

    def product(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """`x @ W^T` as float32 [T, N] for x float32 [T, K]."""
        out = np.empty((x.shape[0], self._weight.shape[0]), np.float32)

        def piece(begin: int, end: int) -> None:
            if x.shape[0] == 1:
                # A matrix times a vector streams the weights once; the general product copies them.
                np.matmul(self._weight[begin:end], x[0], out=out[0, begin:end])
            else:
                out[:, begin:end] = x @ self._weight[begin:end].T

        share(self._weight.shape[0], x.shape[0] * self._weight.size, piece)
        return out

    def rows(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows at `indices` [T] as float32 [T, K]."""
        return self._weight[indices]


class Bf16Matrix:
    """Weights [N, K] as bfloat16 bits (uint16); needs numba."""

    def __init__(self, bits: NDArray[np.uint16]) -> None:
        from engine.cpu.matvec import matvec_bf16

        self._bits = np.ascontiguousarray(bits)
        self._matvec = matvec_bf16

    @property
    def nbytes(self) -> int:
        """Bytes that are held."""
        return self._bits.nbytes

    def product(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """`x @ W^T` as float32 [T, N] for x float32 [T, K]."""
        if x.shape[0] <= _MATVEC_ROWS:
            few: NDArray[np.float32] = self._matvec(x, self._bits)
            return few
        outputs, inputs = self._bits.shape
        out = np.empty((x.shape[0], outputs), np.float32)
        step = max(1, CPU_MATRIX_BLOCK_VALUES // thread_count() // inputs)

        def piece(begin: int, end: int) -> None:
            for start in range(begin, end, step):
                stop = min(start + step, end)
                out[:, start:stop] = x @ bf16_to_float32(self._bits[start:stop]).T

        share(outputs, x.shape[0] * self._bits.size, piece)
        return out

    def rows(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """The rows at `indices` [T] as float32 [T, K]."""
        return bf16_to_float32(self._bits[indices])
