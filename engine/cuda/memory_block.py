"""The one device allocation: weights, KV cache and work space at the offsets of the memory plan."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from numpy.typing import DTypeLike

from engine.cuda.device import CudaDevice, device_errors, free_bytes
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
            # cupy.cuda.Memory is a plain cudaMalloc: freed with the object, not kept by a pool.
            self._memory: Any = cupy.cuda.Memory(self.nbytes)

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike) -> DeviceArray:
        """Return the region as an array; it may be larger than `shape` needs, never smaller."""
        region = self._regions[name]
        needed = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if needed > region.nbytes:
            message = f"region {name} has {region.nbytes} bytes, {list(shape)} needs {needed}"
            raise ValueError(message)
        pointer = cupy.cuda.MemoryPointer(self._memory, region.offset)
        return cupy.ndarray(shape, dtype=dtype, memptr=pointer)

    def address(self, name: str) -> int:
        """Device address of the region's first byte."""
        return int(self._memory.ptr) + self._regions[name].offset

    def close(self) -> None:
        """Free the allocation; all views of it are dead from here on."""
        self._memory = None
