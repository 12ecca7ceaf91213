"""Which matrix product prefill uses: our own tensor-core kernel, or cuBLAS where it is faster.

cuBLAS is optional (extra `[cublas]`, 580 MB). Where it is installed both are timed once on the
model's own shapes, and the faster one is taken; both pass the same accuracy gates.
"""

from __future__ import annotations

import logging
from typing import Any

import cupy
import numpy as np

from engine.cuda.device import CUDA_ERRORS
from engine.cuda.forward import Forward, LayerWeights, Product
from engine.cuda.memory_block import DeviceArray
from engine.models.memory_plan import PREFILL_CHUNK_TOKENS

# Numbers of cudaDataType, cublasComputeType_t and cublasGemmAlgo_t (library_types.h, cublas_api.h).
_R_16BF, _R_32F, _COMPUTE_32F, _DEFAULT_ALGORITHM = 14, 0, 68, -1
_NO_TRANSPOSE, _TRANSPOSE = 0, 1
_REPEATS = 5

_log = logging.getLogger(__name__)


class CublasProduct:
    """cuBLAS's bf16 product with 32-bit accumulation, called as `Ops.gemm`.

    Raises:
        ImportError, cublas.CUBLASError: cuBLAS is not installed or does not start.
    """

    def __init__(self) -> None:
        from cupy_backends.cuda.libs import cublas

        self._cublas: Any = cublas
        self._handle = cupy.cuda.device.get_cublas_handle()
        self._one = np.array(1.0, np.float32)
        self._zero = np.array(0.0, np.float32)

    def __call__(
        self,
        out: DeviceArray,
        x: DeviceArray,
        weight: DeviceArray,
        rows: int,
        *,
        accumulate: bool = False,
    ) -> None:
        """Out [T, N] float32 = (or +=) x [T, K] @ weight [N, K]^T."""
        n, k = weight.shape
        cublas = self._cublas
        cublas.setStream(self._handle, cupy.cuda.get_current_stream().ptr)
        beta = self._one if accumulate else self._zero
        # Row-major out [T, N] is column-major [N, T] = (weight as [K, N])^T @ (x as [K, T]).
        cublas.gemmEx(
            *(self._handle, _TRANSPOSE, _NO_TRANSPOSE, n, rows, k),
            *(self._one.ctypes.data, weight.data.ptr, _R_16BF, k, x.data.ptr, _R_16BF, k),
            *(beta.ctypes.data, out.data.ptr, _R_32F, n, _COMPUTE_32F, _DEFAULT_ALGORITHM),
        )


def find_cublas() -> CublasProduct | None:
    """CuBLAS where it is installed and starts, else None."""
    try:
        # The first import makes CuPy load the library from its wheel.
        from cupy.cuda import cublas  # noqa: F401

        return CublasProduct()
    except (ImportError, RuntimeError, OSError) as error:
        _log.info("cuBLAS is not used: %s", error)
        return None


def choose_prefill_product(forward: Forward, own: Product, stream: Any) -> str:  # noqa: ANN401
    """Time one layer's four products with each and set the faster; returns its name."""
    cublas = find_cublas()
    if cublas is None:
        return "own"
    layer = forward.layers[0]
    own_ms = _time_ms(forward, layer, own, stream)
    try:
        cublas_ms = _time_ms(forward, layer, cublas, stream)
    except CUDA_ERRORS:
        raise
    except RuntimeError as error:  # CUBLASError: a type or size that it lacks on this GPU
        _log.info("cuBLAS is not used: %s", error)
        return "own"
    _log.info("prefill products of a layer: own %.3f ms, cuBLAS %.3f ms", own_ms, cublas_ms)
    if cublas_ms < own_ms:
        forward.prefill_product = cublas
        return "cuBLAS"
    return "own"


def _time_ms(forward: Forward, layer: LayerWeights, product: Product, stream: Any) -> float:  # noqa: ANN401
    """Median milliseconds of one layer's products on a full chunk, after a warm-up."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    times = []
    for repeat in range(_REPEATS + 1):
        begin.record(stream)
        forward.layer_products(layer, product, PREFILL_CHUNK_TOKENS)
        end.record(stream)
        end.synchronize()
        if repeat:
            times.append(cupy.cuda.get_elapsed_time(begin, end))
    return float(np.median(times))
