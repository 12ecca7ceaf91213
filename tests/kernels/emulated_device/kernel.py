"""RawModule and its kernels: compiled by g++, launched on the emulation, checked as by a driver."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tests.kernels.emulated_device.gpu import (
    INVALID_VALUE,
    CompileException,
    CUDADriverError,
    EmulatedGpu,
    Launch,
    current_gpu,
)
from tests.kernels.emulated_device.memory import NdArray, array_at
from tests.kernels.emulated_device.nvrtc import read_cubin
from tests.kernels.emulated_device.signature import Parameter, Signature, signatures
from tests.kernels.emulated_device.stream import current_stream
from tests.kernels.emulation.build import build_library, write_source
from tests.kernels.emulation.launch import run_library

_NOT_FOUND = 500
_DEFAULT_SHARED_BYTES = 48 * 1024
_MAX_GRID = (2**31 - 1, 65535, 65535)
_MAX_BLOCK = (1024, 1024, 64)
_MAX_THREADS = 1024


class RawModule:
    """As cupy.RawModule: compiles when its first function is asked for.

    A `path` must be that of a cubin which the fake NVRTC has made: it holds the source.
    """

    def __init__(
        self, *, code: str = "", options: tuple[str, ...] = (), path: str | None = None
    ) -> None:
        if path is not None:
            code, options = read_cubin(Path(path).read_bytes())
        self._code = code
        self._options = options
        self._library: str | None = None
        self._compiled = False

    def compile(self) -> None:
        """Compile now; on any thread."""
        gpu = current_gpu()
        gpu.call("compile")
        if not gpu.has_nvrtc:
            raise RuntimeError("CuPy failed to load libnvrtc.so.12: OSError: no such file")
        if gpu.executes:
            self._library = self._build(gpu)
        self._compiled = True

    def get_function(self, name: str) -> RawKernel:
        """The kernel of that name; each has launch attributes of its own."""
        if not self._compiled:
            self.compile()
        known = signatures(self._code, self._options)
        if name not in known:
            raise CUDADriverError(_NOT_FOUND, f"no kernel {name}")
        return RawKernel(name, known[name], self._library)

    def _build(self, gpu: EmulatedGpu) -> str:
        flags = [option for option in self._options if option.startswith("-D")]
        path = write_source(self._code)
        try:
            return str(build_library(path, flags, gpu.compute_capability * 10, sanitize=False))
        except RuntimeError as error:
            raise CompileException(str(error)) from error


class RawKernel:
    """As cupy.RawKernel."""

    def __init__(self, name: str, signature: Signature, library: str | None) -> None:
        self.name = name
        self._signature = signature
        self._library = library
        self._max_shared_bytes = _DEFAULT_SHARED_BYTES

    @property
    def kernel(self) -> Function:
        """As cupy.RawKernel.kernel."""
        return Function(self)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory that a launch may ask for."""
        return self._max_shared_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, nbytes: int) -> None:
        limit = current_gpu().shared_optin_bytes
        if nbytes > limit:
            raise CUDADriverError(INVALID_VALUE, f"{self.name}: {nbytes} of {limit} shared bytes")
        self._max_shared_bytes = nbytes

    def __call__(
        self,
        grid: tuple[int, ...],
        block: tuple[int, ...],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
    ) -> None:
        """Check a launch and put it on the current stream."""
        gpu = current_gpu()
        gpu.call("launch")
        grid, block = (*grid, 1, 1)[:3], (*block, 1, 1)[:3]
        self._require(all(1 <= n <= most for n, most in zip(grid, _MAX_GRID, strict=True)), grid)
        self._require(all(1 <= n <= most for n, most in zip(block, _MAX_BLOCK, strict=True)), block)
        threads = block[0] * block[1] * block[2]
        self._require(threads <= min(_MAX_THREADS, self._signature.max_threads), block)
        self._require(shared_mem <= self._max_shared_bytes, f"{shared_mem} shared bytes")
        parameters = self._signature.parameters
        self._require(len(args) == len(parameters), f"{len(args)} arguments")
        values = [self._value(a, p) for a, p in zip(args, parameters, strict=True)]
        sizes = {
            p.name: int(value.size if p.is_pointer else value)
            for p, value in zip(parameters, values, strict=True)
        }
        gpu.launches.append(Launch(self.name, grid, block, shared_mem, sizes))
        if self._library is not None:
            launch = (self._library, self.name, grid, block, values, shared_mem, 0, False)
            current_stream().enqueue(partial(run_library, *launch))

    def launch_raw(
        self, grid: tuple[int, ...], block: tuple[int, ...], shared_mem: int, addresses: int
    ) -> None:
        """Launch with arguments that lie at `addresses`, copied now, as cuLaunchKernel does."""
        parameters = self._signature.parameters
        places = ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p))
        args: list[Any] = []
        for parameter, place in zip(parameters, places[: len(parameters)], strict=True):
            if parameter.is_pointer:
                pointer = ctypes.c_void_p.from_address(place).value
                args.append(array_at(pointer or 0, parameter.dtype))
            else:
                raw = ctypes.string_at(place, parameter.dtype.itemsize)
                args.append(np.frombuffer(raw, parameter.dtype)[0])
        self(grid, block, args, shared_mem=shared_mem)

    def _value(self, argument: object, parameter: Parameter) -> np.ndarray | np.generic:
        """What the emulation takes for an argument, if it fits the parameter."""
        if parameter.is_pointer:
            fits = isinstance(argument, NdArray) and argument.dtype == parameter.dtype
        else:
            # A plain int would travel as 8 bytes.
            fits = isinstance(argument, np.generic) and argument.dtype == parameter.dtype
        kind = getattr(argument, "dtype", type(argument).__name__)
        self._require(fits, f"{kind} for parameter {parameter}")
        return argument.view if isinstance(argument, NdArray) else argument  # type: ignore[return-value]

    def _require(self, condition: bool, what: object) -> None:
        if not condition:
            raise CUDADriverError(INVALID_VALUE, f"{self.name}: {what}")


class Function:
    """As cupy.cuda.function.Function: `ptr` is what the driver calls a CUfunction."""

    _known: ClassVar[dict[int, RawKernel]] = {}

    def __init__(self, kernel: RawKernel) -> None:
        self.ptr = id(kernel)
        Function._known[self.ptr] = kernel

    @staticmethod
    def at(ptr: int) -> RawKernel:
        """The kernel that the handle stands for."""
        return Function._known[ptr]


def launch_kernel(
    function: int,
    grid_x: int,
    grid_y: int,
    grid_z: int,
    block_x: int,
    block_y: int,
    block_z: int,
    shared_bytes: int,
    stream: int,
    parameters: int,
    extra: int,
) -> None:
    """As cupy.cuda.driver.launchKernel; only for the current stream."""
    assert stream == current_stream().ptr
    assert extra == 0
    grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    Function.at(function).launch_raw(grid, block, shared_bytes, parameters)
