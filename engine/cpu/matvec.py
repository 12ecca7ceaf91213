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


_STREAMS = 4
"""Rows that one thread reads at a time, far apart. The processor fetches ahead for each of them:
14 to 22 GB/s on the 2 cores it was measured on, of 23 that a plain copy reaches."""


# Only reordering and fused multiply-add are allowed, so the loop vectorizes; NaN and infinity keep
# their meaning, because a NumericalError must still be seen.
@numba.njit(fastmath={"reassoc", "contract"})
def _four_dots(
    rows: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]],
    even: NDArray[np.float32],
    odd: NDArray[np.float32],
) -> tuple[np.float32, np.float32, np.float32, np.float32]:
    row0, row1, row2, row3 = rows
    total0 = total1 = total2 = total3 = np.float32(0)
    for k in range(even.shape[0]):
        # Two weights per load; bfloat16 is the upper half of a float32 (little-endian).
        x0, x1 = even[k], odd[k]
        total0 += np.uint32(row0[k] << _FIRST).view(np.float32) * x0
        total0 += np.uint32(row0[k] & _SECOND).view(np.float32) * x1
        total1 += np.uint32(row1[k] << _FIRST).view(np.float32) * x0
        total1 += np.uint32(row1[k] & _SECOND).view(np.float32) * x1
        total2 += np.uint32(row2[k] << _FIRST).view(np.float32) * x0
        total2 += np.uint32(row2[k] & _SECOND).view(np.float32) * x1
        total3 += np.uint32(row3[k] << _FIRST).view(np.float32) * x0
        total3 += np.uint32(row3[k] & _SECOND).view(np.float32) * x1
    return total0, total1, total2, total3


@numba.njit(parallel=True, nogil=True)
def _matvec(
    out: NDArray[np.float32],
    even: NDArray[np.float32],
    odd: NDArray[np.float32],
    pairs: NDArray[np.uint32],
    threads: int,
) -> None:
    rows = pairs.shape[0]
    # Each thread has _STREAMS neighbouring runs of rows; what lies behind the last row is done for
    # the last row, so that every row is summed by the same code.
    run = (rows + threads * _STREAMS - 1) // (threads * _STREAMS)
    for thread in numba.prange(threads):
        first = thread * _STREAMS * run
        for i in range(first, first + run):
            n0, n1 = min(i, rows - 1), min(i + run, rows - 1)
            n2, n3 = min(i + 2 * run, rows - 1), min(i + 3 * run, rows - 1)
            four = (pairs[n0], pairs[n1], pairs[n2], pairs[n3])
            for b in range(even.shape[0]):
                dots = _four_dots(four, even[b], odd[b])
                out[b, n0], out[b, n1], out[b, n2], out[b, n3] = dots


def matvec_bf16(x: NDArray[np.float32], weight: NDArray[np.uint16]) -> NDArray[np.float32]:
    """`x @ weight.T` as float32 [B, N]; x [B, K] float32, weight [N, K] bfloat16 bits, K even.

    `weight` is contiguous and 4-byte aligned, as NumPy allocates it.
    """
    out = np.empty((x.shape[0], weight.shape[0]), np.float32)
    even, odd = np.ascontiguousarray(x[:, 0::2]), np.ascontiguousarray(x[:, 1::2])
    _matvec(out, even, odd, weight.view(np.uint32), numba.get_num_threads())
    return out
