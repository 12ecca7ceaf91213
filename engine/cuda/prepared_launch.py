"""Kernel launches whose arguments are laid out once, for the few hundred launches of a prefill.

What changes from call to call is a ctypes scalar that many launches share: the driver reads it at
each launch. That leaves little more than the driver's own call, half of what a launch through CuPy
takes. Where `dependent_launch.py` says so, the kernel may start before the one before it has ended.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import cupy

from engine.cuda.dependent_launch import OverlappingLaunch, dependent_launch_available
from engine.cuda.device import CudaDevice
from engine.cuda.kernel_library import Kernel
from engine.cuda.memory_block import DeviceArray

Grid = tuple[int, int, int]

SharedArgument = ctypes.c_int | ctypes.c_void_p
"""A kernel's int, or its pointer: set `.value` before the launches that shall see it."""


class PreparedLaunch:
    """One kernel with its block, its dynamic shared memory and all of its arguments."""

    def __init__(
        self,
        kernel: Kernel,
        threads: int,
        shared_bytes: int,
        arguments: Sequence[DeviceArray | SharedArgument],
        device: CudaDevice,
    ) -> None:
        """Lay out the arguments, in the order of the kernel's parameters.

        The kernel must call `wait_for_previous_kernel()` of common.cuh.
        """
        self._kernel = kernel  # keeps the module loaded
        self._function = int(kernel.kernel.ptr)
        self._threads = threads
        self._shared_bytes = shared_bytes
        self._values = [_c_value(argument) for argument in arguments]
        addresses = [ctypes.addressof(value) for value in self._values]
        self._addresses = (ctypes.c_void_p * len(addresses))(*addresses)
        self._parameters = ctypes.addressof(self._addresses)
        self._overlapping = None
        if dependent_launch_available(device):
            self._overlapping = OverlappingLaunch(self._function, threads, shared_bytes)

    def __call__(self, grid: Grid, stream_pointer: int) -> None:
        """Launch; the driver has copied the arguments when this returns.

        Raises:
            DeviceLost: the driver refused the launch.
        """
        if self._overlapping is not None:
            self._overlapping(grid, stream_pointer, self._parameters)
            return
        cupy.cuda.driver.launchKernel(
            *(self._function, *grid, self._threads, 1, 1),
            *(self._shared_bytes, stream_pointer, self._parameters, 0),
        )


def _c_value(argument: Any) -> SharedArgument:  # noqa: ANN401  (an array or a scalar)
    if isinstance(argument, ctypes.c_int | ctypes.c_void_p):
        return argument
    return ctypes.c_void_p(argument.data.ptr)
