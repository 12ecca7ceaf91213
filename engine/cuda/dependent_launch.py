"""Launches a kernel so that it may start before the one before it on the stream has ended.

Programmatic dependent launch (compute capability 9.0 and up): the kernel's first part, up to
`wait_for_previous_kernel()` of common.cuh, overlaps the end of its predecessor. CuPy cannot ask
for it, so the launch goes through cuda-bindings; where that is missing or the GPU is older, it is
an ordinary launch, with the same results. Works while a graph is captured.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from engine.cuda.device import CudaDevice
from engine.cuda.kernel_library import Kernel

MIN_COMPUTE_CAPABILITY = 90


def dependent_launch_available(device: CudaDevice) -> bool:
    """Whether kernels of the decode step can overlap on this GPU."""
    return (
        device.compute_capability >= MIN_COMPUTE_CAPABILITY
        and importlib.util.find_spec("cuda") is not None
        and importlib.util.find_spec("cuda.bindings") is not None
    )


class DependentLaunch:
    """`launch(kernel, grid, block, args, shared_mem=bytes)`; every kernel must do the wait."""

    def __init__(self, device: CudaDevice) -> None:
        self.overlaps = dependent_launch_available(device)
        if self.overlaps:
            from cuda.bindings import driver

            self._driver = driver
            self._attributes = _attributes(driver)

    def __call__(
        self,
        kernel: Kernel,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
    ) -> None:
        """Launch on the current stream.

        Raises:
            CUDADriverError: the driver refused the launch.
        """
        if not self.overlaps:
            kernel(grid, block, args, shared_mem=shared_mem)
            return
        config = self._driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = (*grid, 1, 1)[:3]
        config.blockDimX, config.blockDimY, config.blockDimZ = (*block, 1, 1)[:3]
        config.sharedMemBytes = shared_mem
        config.hStream = cupy.cuda.get_current_stream().ptr
        config.attrs = self._attributes
        config.numAttrs = len(self._attributes)
        values, types = zip(*map(_parameter, args), strict=True)
        function = self._driver.CUfunction(kernel.kernel.ptr)
        (code,) = self._driver.cuLaunchKernelEx(config, function, (values, types), 0)
        if int(code) != 0:
            raise cupy.cuda.driver.CUDADriverError(int(code))


class OverlappingLaunch:
    """A dependent launch whose shape is laid out once; its arguments lie in memory already."""

    def __init__(self, function: int, threads: int, shared_bytes: int) -> None:
        """Prepare the launch of a CUfunction."""
        from cuda.bindings import driver

        self._driver = driver
        self._function = driver.CUfunction(function)
        self._config = driver.CUlaunchConfig()
        self._config.blockDimX, self._config.blockDimY, self._config.blockDimZ = threads, 1, 1
        self._config.sharedMemBytes = shared_bytes
        self._attributes = _attributes(driver)
        self._config.attrs = self._attributes
        self._config.numAttrs = len(self._attributes)
        self._stream_pointer = 0

    def __call__(self, grid: tuple[int, int, int], stream_pointer: int, parameters: int) -> None:
        """Launch with the arguments whose addresses lie at `parameters`.

        Raises:
            CUDADriverError: the driver refused the launch.
        """
        config = self._config
        config.gridDimX, config.gridDimY, config.gridDimZ = grid
        if stream_pointer != self._stream_pointer:
            config.hStream = self._stream_pointer = stream_pointer
        (code,) = self._driver.cuLaunchKernelEx(config, self._function, parameters, 0)
        if int(code) != 0:
            raise cupy.cuda.driver.CUDADriverError(int(code))


def _attributes(driver: Any) -> list[Any]:  # noqa: ANN401
    attribute = driver.CUlaunchAttribute()
    attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    return [attribute]


def _parameter(argument: Any) -> tuple[int, Any]:  # noqa: ANN401
    """Value and C type of an int32 or of a device array."""
    if isinstance(argument, np.int32):
        return int(argument), ctypes.c_int32
    return int(argument.data.ptr), ctypes.c_void_p
