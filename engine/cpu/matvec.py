"""Products with bfloat16 weights as they are stored, compiled by numba (the extra `[cpu]`).

A decode step is bound by reading the weights; bfloat16 halves that and the memory against a
float32 copy. Each output is summed in float32 by one thread, so the number of threads changes no
bit. Import this module only where numba is installed (`matrices.numba_installed`).
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray


# Only reordering and fused multiply-add are allowed, so the loop vectorizes; NaN and infinity keep
# their meaning, because a NumericalError must still be seen.
@numba.njit(parallel=True, fastmath={"reassoc", "contract"}, nogil=True)
def _matvec(out: NDArray[np.float32], x: NDArray[np.float32], weight: NDArray[np.uint16]) -> None:
    outputs, inputs = weight.shape
    for n in numba.prange(outputs):
        row = weight[n]
        for b in range(x.shape[0]):
            total = np.float32(0)
            x_row = x[b]
            for k in range(inputs):
                # bfloat16 is the upper half of a float32.
                bits = np.uint32(np.uint32(row[k]) << np.uint32(16))
                total += bits.view(np.float32) * x_row[k]
            out[b, n] = total


def matvec_bf16(x: NDArray[np.float32], weight: NDArray[np.uint16]) -> NDArray[np.float32]:
    """`x @ weight.T` as float32 [B, N]; x [B, K] float32, weight [N, K] bfloat16 bits."""
    out = np.empty((x.shape[0], weight.shape[0]), np.float32)
    _matvec(out, np.ascontiguousarray(x), weight)
    return out
