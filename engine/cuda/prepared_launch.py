"""Kernel launches whose arguments are laid out once, for the few hundred launches of a prefill.

What changes from call to call is a ctypes scalar that many launches share: the driver reads it at
each launch. That leaves the driver's own call, half of what a launch through CuPy takes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import cupy

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
    ) -> None:
        """Lay out the arguments, in the order of the kernel's parameters."""
        self._kernel = kernel  # keeps the module loaded
        self._function = int(kernel.kernel.ptr)
        self._threads = threads
        self._shared_bytes = shared_bytes
        self._values = [_c_value(argument) for argument in arguments]
        addresses = [ctypes.addressof(value) for value in self._values]
        self._addresses = (ctypes.c_void_p * len(addresses))(*addresses)
        self._parameters = ctypes.addressof(self._addresses)

    def __call__(self, grid: Grid, stream_pointer: int) -> None:
        """Launch; the driver has copied the arguments when this returns."""
        cupy.cuda.driver.launchKernel(
            *(self._function, *grid, self._threads, 1, 1),
            *(self._shared_bytes, stream_pointer, self._parameters, 0),
        )


def _c_value(argument: Any) -> SharedArgument:  # noqa: ANN401  (an array or a scalar)
    if isinstance(argument, ctypes.c_int | ctypes.c_void_p):
        return argument
    return ctypes.c_void_p(argument.data.ptr)
