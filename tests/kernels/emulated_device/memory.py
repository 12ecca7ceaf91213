"""Device memory as NumPy buffers, arrays as views of them, copies between host and device."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.kernels.emulated_device.gpu import OUT_OF_MEMORY, CUDARuntimeError, current_gpu
from tests.kernels.emulated_device.stream import current_stream, stream_at

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
_ALIGNMENT = 256
_GUARD_BYTES = 4096
_GUARD_BYTE = 0xA5


class Buffer:
    """One cudaMalloc."""

    def __init__(self, size: int) -> None:
        # Freed there, too, even if a backend outlives its test.
        self.gpu = gpu = current_gpu()
        self.size = size
        self.is_freed = False
        whole = np.empty(size + _ALIGNMENT + _GUARD_BYTES, np.uint8)
        start = -whole.ctypes.data % _ALIGNMENT
        self.bytes = whole[start : start + size]
        self._guard = whole[start + size : start + size + _GUARD_BYTES]
        if gpu.executes:
            self.bytes[:] = 0xFF
            self._guard[:] = _GUARD_BYTE
        self.ptr = int(self.bytes.ctypes.data)

    def assert_guard_intact(self) -> None:
        """Fail if a byte behind the allocation was written."""
        changed = np.flatnonzero(self._guard != _GUARD_BYTE)
        assert changed.size == 0, f"{changed.size} bytes behind the allocation were overwritten"


_buffers: dict[int, Buffer] = {}


def malloc(size: int) -> int:
    """As cupy.cuda.runtime.malloc."""
    gpu = current_gpu()
    gpu.call("malloc")
    if size > gpu.free_bytes:
        raise CUDARuntimeError(OUT_OF_MEMORY)
    buffer = Buffer(size)
    _buffers[buffer.ptr] = buffer
    gpu.allocated_bytes += size
    return buffer.ptr


def free(pointer: int) -> None:
    """As cupy.cuda.runtime.free: waits for the device, then the memory is gone."""
    buffer = _buffers.pop(pointer)
    buffer.is_freed = True
    buffer.gpu.allocated_bytes -= buffer.size
    buffer.gpu.call("free")


class UnownedMemory:
    """As cupy.cuda.UnownedMemory: a view of an allocation that it does not keep alive."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int) -> None:
        self._owner = owner
        self._buffer = _buffers[ptr]
        self.ptr = ptr
        self.size = size

    @property
    def buffer(self) -> Buffer:
        """What lies behind it, unless it was freed."""
        if self._buffer.is_freed:
            raise AssertionError("freed device memory is used")
        return self._buffer


@dataclass(frozen=True)
class MemoryPointer:
    """As cupy.cuda.MemoryPointer."""

    mem: UnownedMemory
    offset: int

    @property
    def ptr(self) -> int:
        """Device address."""
        return self.mem.ptr + self.offset


# Elements of the longest array that was made at an address, by address and dtype.
_reach: dict[tuple[int, np.dtype[Any]], int] = {}


def array_at(pointer: int, dtype: np.dtype[Any]) -> NdArray:
    """The longest array that the program has made at this address; a bare pointer has no size."""
    for buffer in _buffers.values():
        if buffer.ptr <= pointer < buffer.ptr + buffer.size and (pointer, dtype) in _reach:
            memory = UnownedMemory(buffer.ptr, buffer.size, None, 0)
            place = MemoryPointer(memory, pointer - buffer.ptr)
            return NdArray((_reach[pointer, dtype],), dtype, place)
    raise AssertionError(f"no array of {dtype} was made at {pointer:#x}")


class NdArray:
    """As cupy.ndarray, with no arithmetic: the engine uses none."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, memptr: MemoryPointer) -> None:
        nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        if memptr.offset < 0 or memptr.offset + nbytes > memptr.mem.size:
            raise AssertionError(f"array {shape} reaches outside its allocation")
        raw = memptr.mem.buffer.bytes[memptr.offset : memptr.offset + nbytes]
        self._view = raw.view(dtype).reshape(shape)
        self.data = memptr
        key = (memptr.ptr, self._view.dtype)
        _reach[key] = max(self._view.size, _reach.get(key, 0))

    @property
    def view(self) -> np.ndarray[Any, Any]:
        """The memory as a NumPy array, as long as it is not freed."""
        assert self.data.mem.buffer is not None
        return self._view

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape."""
        return self.view.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self.view.dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.view.size

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.view.nbytes

    def __getitem__(self, key: int | slice) -> NdArray:
        # CuPy, too, cuts a slice that is too long; here that is taken for a mistake.
        if isinstance(key, slice) and (key.stop is None or key.stop > len(self.view)):
            raise AssertionError(f"slice {key} of an array of {len(self.view)} rows")
        part = self.view[key]
        if not part.flags.c_contiguous:
            raise AssertionError("the engine needs contiguous views only")
        part_offset = part.ctypes.data - self.data.mem.ptr
        return NdArray(part.shape, part.dtype, MemoryPointer(self.data.mem, part_offset))

    def set(self, values: np.ndarray[Any, Any]) -> None:
        """Copy from the host, in stream order; the caller may change `values` afterwards."""
        current_gpu().call("memcpy")
        if not isinstance(values, np.ndarray) or values.dtype != self.dtype:
            raise TypeError(f"array of {self.dtype} expected, {values!r} found")
        if values.shape != self.shape:
            raise ValueError(f"Shape mismatch: {self.shape}, {values.shape}")
        stream = current_stream()
        stream.require_no_capture()
        copy = values.copy()
        view = self.view
        stream.enqueue(lambda: np.copyto(view, copy))

    def get(self) -> np.ndarray[Any, Any]:
        """Copy to the host, after all that the stream has to do before."""
        current_gpu().call("memcpy")
        current_stream().synchronize()
        return self.view.copy()


def memcpy_async(target: int, source: int, nbytes: int, kind: int, stream_pointer: int) -> None:
    """As cupy.cuda.runtime.memcpyAsync with pinned memory: bytes are read and written late."""
    current_gpu().call("memcpy")
    assert kind in (HOST_TO_DEVICE, DEVICE_TO_HOST)
    stream_at(stream_pointer).enqueue(lambda: _memmove(target, source, nbytes))


def _memmove(target: int, source: int, nbytes: int) -> None:
    ctypes.memmove(target, source, nbytes)


def alloc_pinned_memory(size: int) -> Any:
    """As cupy.cuda.alloc_pinned_memory: an object with `ptr` that NumPy sees as a buffer."""
    current_gpu().call("hostAlloc")
    pointer = property(ctypes.addressof)
    kind = type(
        "Pinned", (ctypes.Array,), {"_type_": ctypes.c_ubyte, "_length_": size, "ptr": pointer}
    )
    return kind()
