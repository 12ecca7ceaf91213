"""cuBLAS's gemmEx on NumPy, as strict as engine/cuda needs it: column-major, bf16 in, fp32 out."""

from __future__ import annotations

import ctypes

import numpy as np

from tests.kernels.emulated_device.gpu import current_gpu
from tests.kernels.emulated_device.stream import Stream, stream_at
from tests.kernels.emulation.bf16 import from_bf16

_R_16BF, _R_32F, _COMPUTE_32F = 14, 0, 68
_NO_TRANSPOSE, _TRANSPOSE = 0, 1


class CUBLASError(RuntimeError):
    """As cupy_backends.cuda.libs.cublas.CUBLASError."""


def _matrix(pointer: int, rows: int, columns: int, leading: int, ctype: type) -> np.ndarray:
    """A column-major matrix in place, [rows, columns]."""
    assert leading >= rows, f"leading dimension {leading} of {rows} rows"
    flat = np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctype)), (columns * leading,))
    return flat.reshape(columns, leading)[:, :rows].T


class Cublas:
    """The module's functions; `calls` counts products, `broken` makes each one fail."""

    CUBLASError = CUBLASError

    def __init__(self, *, broken: bool = False) -> None:
        self.calls = 0
        self.broken = broken
        self._stream: Stream | None = None

    def setStream(self, handle: int, pointer: int) -> None:
        """Products go to this stream from now on."""
        self._stream = stream_at(pointer)

    def gemmEx(
        self,
        handle: int,
        transa: int,
        transb: int,
        m: int,
        n: int,
        k: int,
        alpha: int,
        a: int,
        a_type: int,
        lda: int,
        b: int,
        b_type: int,
        ldb: int,
        beta: int,
        c: int,
        c_type: int,
        ldc: int,
        compute: int,
        algorithm: int,
    ) -> None:
        """C [m, n] = alpha * A^T [m, k] @ B [k, n] + beta * C."""
        current_gpu().call("gemm")
        if self.broken:
            raise CUBLASError("CUBLAS_STATUS_NOT_SUPPORTED")
        assert (transa, transb) == (_TRANSPOSE, _NO_TRANSPOSE)
        assert (a_type, b_type, c_type, compute) == (_R_16BF, _R_16BF, _R_32F, _COMPUTE_32F)
        assert self._stream is not None
        self.calls += 1
        left = _matrix(a, k, m, lda, ctypes.c_uint16)
        right = _matrix(b, k, n, ldb, ctypes.c_uint16)
        out = _matrix(c, m, n, ldc, ctypes.c_float)
        factor, kept = (ctypes.cast(p, ctypes.POINTER(ctypes.c_float))[0] for p in (alpha, beta))

        def run() -> None:
            # A device computes on with what lies in memory, NaN too, and warns of nothing.
            with np.errstate(all="ignore"):
                product = factor * (from_bf16(left.T) @ from_bf16(right))
                # With beta 0 cuBLAS does not read C, which may hold NaN.
                out[...] = product if kept == 0 else product + kept * out

        self._stream.enqueue(run)
