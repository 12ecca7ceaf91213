"""The one device allocation: weights, KV cache and work space at the offsets of the memory plan."""

from __future__ import annotations

import contextlib
import weakref
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime
from numpy.typing import DTypeLike

from engine.cuda.device import CUDA_ERRORS, CudaDevice, device_errors, free_bytes
from engine.errors import NotEnoughMemory
from engine.models.memory_plan import Region, total_bytes

DeviceArray = Any
"""A CuPy array: a view of the block."""


class MemoryBlock:
    """One `cudaMalloc`, cut into named regions; bf16 is held as uint16."""

    def __init__(self, device: CudaDevice, regions: list[Region]) -> None:
        """Allocate all regions at once.

        Raises:
            NotEnoughMemory: with needed and free bytes.
        """
        self._regions = {region.name: region for region in regions}
        self.nbytes = total_bytes(regions)
        free = free_bytes(device)
        if self.nbytes > free:
            raise NotEnoughMemory(self.nbytes, free, device.name)
        with device_errors(device, self.nbytes):
            self._pointer = int(runtime.malloc(self.nbytes))
        self._device_index = device.index
        # Not CuPy's own Memory: it lives as long as any view, and an error that somebody keeps
        # holds views in the frames of its traceback. `close` must free all the same.
        self._free = weakref.finalize(self, _free, self._pointer)
        self._free.atexit = False

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """Return the region as an array; it may be larger than `shape` needs, never smaller."""
        region = self._regions[name]
        needed = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if needed > region.nbytes:
            message = f"region {name} has {region.nbytes} bytes, {list(shape)} needs {needed}"
            raise ValueError(message)
        # Without `close` the block lives as long as its views.
        memory = cupy.cuda.UnownedMemory(self._pointer, self.nbytes, self, self._device_index)
        pointer = cupy.cuda.MemoryPointer(memory, region.offset)
        return cupy.ndarray(shape, dtype=dtype, memptr=pointer)

    def address(self, name: str) -> int:
        """Device address of the region's first byte."""
        return self._pointer + self._regions[name].offset

    def close(self) -> None:
        """Free the allocation, once work under way is done; all views of it are dead then."""
        self._free()


def _free(pointer: int) -> None:
    # After a sticky error every call fails; the memory goes with the process.
    with contextlib.suppress(*CUDA_ERRORS):
        runtime.free(pointer)
