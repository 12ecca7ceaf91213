"""The NVIDIA GPU that is used: name, compute capability, free memory; typed errors for what lacks.

The only module beside the rest of `engine/cuda` that imports CuPy; importing it is costly, so
nothing outside `engine/cuda` imports this at module level.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from engine.errors import DeviceLost, DriverTooOld, GpuFault, NoCudaDevice, NotEnoughMemory

with warnings.catch_warnings():
    # CuPy warns about a missing CUDA_PATH although the wheels' own toolkit parts are found.
    warnings.simplefilter("ignore")
    import cupy
    from cupy.cuda import runtime

MIN_COMPUTE_CAPABILITY = 75
MIN_DRIVER_VERSION = 12000
"""CUDA 12 builds run on any driver of CUDA 12.0 or newer (minor version compatibility)."""

OUT_OF_MEMORY = 2
NO_DEVICE = 100

CUDA_ERRORS = (runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError)
"""What CuPy raises when a call of the runtime or of the driver fails; both are RuntimeErrors."""


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """Facts about one GPU; sizes in bytes, `compute_capability` as 75, 86, 90, ..."""

    index: int
    name: str
    compute_capability: int
    multiprocessors: int
    l2_bytes: int
    shared_bytes_per_block: int
    total_bytes: int


def find_device(index: int = 0) -> CudaDevice:
    """Return the GPU of that index.

    Raises:
        NoCudaDevice: no driver, no GPU, or one older than compute capability 7.5.
        DriverTooOld: the driver is of a CUDA release before 12.0.
    """
    try:
        driver_version = int(runtime.driverGetVersion())
    except RuntimeError as error:  # a CUDA error, or a library that CuPy cannot load
        raise NoCudaDevice(str(error)) from error
    if driver_version == 0:
        raise NoCudaDevice("no NVIDIA driver was found", GpuFault.NO_DRIVER)
    if driver_version < MIN_DRIVER_VERSION:
        raise DriverTooOld(_cuda_version(driver_version), _cuda_version(MIN_DRIVER_VERSION))
    try:
        count = int(runtime.getDeviceCount())
        if index >= count:
            reason = f"GPU number {index} was asked for, {count} found"
            raise NoCudaDevice(reason, GpuFault.NOT_THERE)
        properties = runtime.getDeviceProperties(index)
    except RuntimeError as error:
        there_is_none = getattr(error, "status", None) == NO_DEVICE
        fault = GpuFault.NOT_THERE if there_is_none else GpuFault.REFUSED
        raise NoCudaDevice(str(error), fault) from error
    capability = 10 * int(properties["major"]) + int(properties["minor"])
    name = properties["name"].decode(errors="replace")
    if capability < MIN_COMPUTE_CAPABILITY:
        reason = (
            f"{name} has compute capability {capability / 10}, "
            f"{MIN_COMPUTE_CAPABILITY / 10} or newer is needed"
        )
        raise NoCudaDevice(reason, GpuFault.TOO_OLD, name)
    return CudaDevice(
        index=index,
        name=name,
        compute_capability=capability,
        multiprocessors=int(properties["multiProcessorCount"]),
        l2_bytes=int(properties["l2CacheSize"]),
        shared_bytes_per_block=int(properties["sharedMemPerBlockOptin"]),
        total_bytes=int(properties["totalGlobalMem"]),
    )


def _cuda_version(number: int) -> str:
    return f"CUDA {number // 1000}.{number % 1000 // 10}"


def free_bytes(device: CudaDevice) -> int:
    """Free memory of the GPU now, whatever other programs hold."""
    with cupy.cuda.Device(device.index):
        return int(runtime.memGetInfo()[0])


@contextmanager
def device_errors(device: CudaDevice, needed_bytes: int = 0) -> Iterator[None]:
    """Turn CUDA's exceptions into the engine's.

    Raises:
        NotEnoughMemory: an allocation failed; not sticky, a smaller plan may be tried.
        DeviceLost: any other CUDA error; nearly all are sticky, so only a new process helps.
    """
    try:
        yield
    except cupy.cuda.memory.OutOfMemoryError as error:
        raise NotEnoughMemory(needed_bytes, _free_or_zero(device), device.name) from error
    except CUDA_ERRORS as error:
        if getattr(error, "status", None) == OUT_OF_MEMORY:
            raise NotEnoughMemory(needed_bytes, _free_or_zero(device), device.name) from error
        raise DeviceLost(str(error)) from error


def _free_or_zero(device: CudaDevice) -> int:
    try:
        return free_bytes(device)
    except CUDA_ERRORS:
        return 0
