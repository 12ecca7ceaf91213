"""What the GPU reads and multiplies at best, measured: the limits that speeds are compared with."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator
from functools import partial

import cupy
import numpy as np
from cupy.cuda import runtime

from engine.cuda.device import CudaDevice, device_errors
from engine.cuda.kernel_library import Kernel, KernelLibrary
from engine.cuda.memory_block import DeviceArray
from engine.cuda.prefill_product import find_cublas
from engine.models.model_config import ModelConfig

_THREADS = 512
_BLOCKS_PER_MULTIPROCESSOR = (1, 2, 3, 4)
_VECTOR_BYTES = 16
_REPEATS = 15
_PRODUCT_SIZE = (4096, 8192, 4096)
"""Rows T, outputs N and inputs K of the product whose speed is taken for the limit."""


def read_bytes_per_s(config: ModelConfig, device: CudaDevice, nbytes: int) -> float:
    """Bytes a second of a kernel that reads a buffer of `nbytes` once; the best launch shape.

    Raises:
        NotEnoughMemory: there is no room for the buffer.
    """
    kernel = KernelLibrary(config).kernel("read_limit", "read_limit")
    with _measuring(device, nbytes):
        return max(
            _read_bytes_per_s(kernel, device.multiprocessors * count, nbytes // _VECTOR_BYTES)
            for count in _BLOCKS_PER_MULTIPROCESSOR
        )


def _read_bytes_per_s(kernel: Kernel, blocks: int, vectors: int) -> float:
    data = cupy.ndarray((4 * vectors,), dtype=np.uint32)
    data.data.memset(0x5A, data.nbytes)
    sums = cupy.ndarray((blocks,), dtype=np.uint32)
    launch = partial(kernel, (blocks,), (_THREADS,), (sums, data, np.int32(vectors)))
    return _VECTOR_BYTES * vectors / _seconds(launch)


def products_per_s(device: CudaDevice) -> float | None:
    """Multiplications and additions a second of cuBLAS's bf16 product; None without cuBLAS."""
    rows, outputs, inputs = _PRODUCT_SIZE
    with _measuring(device, 4 * rows * outputs + 2 * inputs * (rows + outputs)):
        cublas = find_cublas()
        if cublas is None:
            return None
        out = cupy.ndarray((rows, outputs), dtype=np.float32)
        operands = (_random_bf16(rows, inputs), _random_bf16(outputs, inputs))
        return 2 * rows * outputs * inputs / _seconds(partial(cublas, out, *operands, rows))


def _random_bf16(*shape: int) -> DeviceArray:
    values = np.random.default_rng(0).standard_normal(shape, np.float32)
    array = cupy.ndarray(shape, dtype=np.uint16)
    array.set((values.view(np.uint32) >> 16).astype(np.uint16))
    return array


@contextlib.contextmanager
def _measuring(device: CudaDevice, nbytes: int) -> Iterator[None]:
    """On the device; what was allocated from CuPy's pool goes back to the driver."""
    with device_errors(device, nbytes), cupy.cuda.Device(device.index):
        try:
            yield
        finally:
            cupy.get_default_memory_pool().free_all_blocks()


def pci_bus_id(device: CudaDevice) -> str:
    """Where the GPU sits, by which the driver's tools know it."""
    return str(runtime.deviceGetPCIBusId(device.index))


def driver_version() -> str:
    """The newest CUDA version that the driver knows."""
    number = int(runtime.driverGetVersion())
    return f"CUDA {number // 1000}.{number % 1000 // 10}"


def _seconds(launch: Callable[[], None]) -> float:
    """Median time of one launch on the device, after three to warm up."""
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    stream = cupy.cuda.get_current_stream()
    times: list[float] = []
    for repeat in range(-3, _REPEATS):
        begin.record(stream)
        launch()
        end.record(stream)
        end.synchronize()
        if repeat >= 0:
            times.append(float(cupy.cuda.get_elapsed_time(begin, end)) / 1000)
    return statistics.median(times)
