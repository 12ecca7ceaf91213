"""Products with bfloat16 weights as they are stored, compiled by numba (the extra `[cpu]`).

A decode step is bound by reading the weights; bfloat16 halves that and the memory against a
float32 copy. Each output is summed in float32 by one thread, so the number of threads changes no
bit. Import this module only where numba is installed (`matrices.numba_installed`).
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_FIRST, _SECOND = np.uint32(16), np.uint32(0xFFFF0000)


# Only reordering and fused multiply-add are allowed, so the loop vectorizes; NaN and infinity keep
# their meaning, because a NumericalError must still be seen.
@numba.njit(fastmath={"reassoc", "contract"})
def _dot(
    row: NDArray[np.uint32], even: NDArray[np.float32], odd: NDArray[np.float32]
) -> np.float32:
    total = np.float32(0)
    for k in range(even.shape[0]):
        # Two weights per load; bfloat16 is the upper half of a float32 (little-endian).
        pair = row[k]
        total += np.uint32(pair << _FIRST).view(np.float32) * even[k]
        total += np.uint32(pair & _SECOND).view(np.float32) * odd[k]
    return total


@numba.njit(parallel=True, nogil=True)
def _matvec(
    out: NDArray[np.float32],
    even: NDArray[np.float32],
    odd: NDArray[np.float32],
    pairs: NDArray[np.uint32],
) -> None:
    for n in numba.prange(pairs.shape[0]):
        for b in range(even.shape[0]):
            out[b, n] = _dot(pairs[n], even[b], odd[b])


def matvec_bf16(x: NDArray[np.float32], weight: NDArray[np.uint16]) -> NDArray[np.float32]:
    """`x @ weight.T` as float32 [B, N]; x [B, K] float32, weight [N, K] bfloat16 bits, K even.

    `weight` is contiguous and 4-byte aligned, as NumPy allocates it.
    """
    out = np.empty((x.shape[0], weight.shape[0]), np.float32)
    even, odd = np.ascontiguousarray(x[:, 0::2]), np.ascontiguousarray(x[:, 1::2])
    _matvec(out, even, odd, weight.view(np.uint32))
    return out
