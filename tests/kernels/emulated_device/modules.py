"""Puts the fake into sys.modules under CuPy's names, for as long as a with block lasts."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType, TracebackType
from typing import Any

from tests.kernels.emulated_device import gpu as gpu_module
from tests.kernels.emulated_device.gpu import EmulatedGpu, current_gpu, insert_gpu
from tests.kernels.emulated_device.kernel import RawModule, launch_kernel
from tests.kernels.emulated_device.memory import (
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    MemoryPointer,
    NdArray,
    UnownedMemory,
    alloc_pinned_memory,
    free,
    malloc,
    memcpy_async,
)
from tests.kernels.emulated_device.nvrtc import Nvrtc
from tests.kernels.emulated_device.stream import (
    Event,
    Stream,
    current_stream,
    get_elapsed_time,
)

_REPLACED = ("cupy", "cupy_backends", "engine.cuda")


class Device:
    """As cupy.cuda.Device."""

    def __init__(self, index: int = 0) -> None:
        self.id = index

    def __enter__(self) -> Device:
        current_gpu().call("setDevice")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


@contextlib.contextmanager
def emulated_cupy(gpu: EmulatedGpu | None = None) -> Iterator[EmulatedGpu]:
    """Make `import cupy` and `import engine.cuda...` find the fake and modules bound to it."""
    import engine

    gpu = gpu or EmulatedGpu()
    saved = _take_modules()
    saved_attribute = engine.__dict__.pop("cuda", None)
    before = insert_gpu(gpu)
    sys.modules.update(_modules(gpu))
    try:
        yield gpu
    finally:
        insert_gpu(before)
        _take_modules()
        sys.modules.update(saved)
        engine.__dict__.pop("cuda", None)
        if saved_attribute is not None:
            engine.cuda = saved_attribute  # type: ignore[attr-defined]


def _take_modules() -> dict[str, ModuleType]:
    """Remove CuPy's and engine.cuda's modules from sys.modules and return them."""
    names = [n for n in sys.modules if any(n == r or n.startswith(r + ".") for r in _REPLACED)]
    return {name: sys.modules.pop(name) for name in names}


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(contents)
    return module


def _runtime(gpu: EmulatedGpu) -> ModuleType:
    def answer(operation: str, value: Any) -> Any:
        def call(*_: object) -> Any:
            gpu.call(operation)
            return value()

        return call

    return _module(
        "cupy.cuda.runtime",
        CUDARuntimeError=gpu_module.CUDARuntimeError,
        driverGetVersion=answer("driverGetVersion", lambda: gpu.driver_version),
        getDeviceCount=answer("getDeviceCount", lambda: gpu.device_count),
        getDeviceProperties=answer("getDeviceProperties", gpu.properties),
        memGetInfo=answer("memGetInfo", lambda: (gpu.free_bytes, gpu.total_bytes)),
        free=free,
        malloc=malloc,
        memcpyAsync=memcpy_async,
        memcpyHostToDevice=HOST_TO_DEVICE,
        memcpyDeviceToHost=DEVICE_TO_HOST,
    )


def _modules(gpu: EmulatedGpu) -> dict[str, ModuleType]:
    parts = {
        "runtime": _runtime(gpu),
        "driver": _module(
            "cupy.cuda.driver",
            CUDADriverError=gpu_module.CUDADriverError,
            launchKernel=launch_kernel,
        ),
        "memory": _module("cupy.cuda.memory", OutOfMemoryError=gpu_module.OutOfMemoryError),
        "compiler": _module("cupy.cuda.compiler", CompileException=gpu_module.CompileException),
        "device": _module("cupy.cuda.device", get_cublas_handle=lambda: 1),
    }
    modules = {f"cupy.cuda.{name}": module for name, module in parts.items()}
    libs = _module("cupy_backends.cuda.libs", nvrtc=Nvrtc())
    modules["cupy_backends"] = _module("cupy_backends")
    modules["cupy_backends.cuda"] = _module("cupy_backends.cuda")
    modules["cupy_backends.cuda.libs"] = libs
    if gpu.cublas is not None:
        parts["cublas"] = modules["cupy.cuda.cublas"] = _module("cupy.cuda.cublas")
        libs.__dict__["cublas"] = gpu.cublas
    cuda = _module(
        "cupy.cuda",
        Device=Device,
        Event=Event,
        MemoryPointer=MemoryPointer,
        UnownedMemory=UnownedMemory,
        Stream=Stream,
        alloc_pinned_memory=alloc_pinned_memory,
        get_current_stream=current_stream,
        get_elapsed_time=get_elapsed_time,
        **parts,
    )
    modules["cupy.cuda"] = cuda
    modules["cupy"] = _module("cupy", cuda=cuda, ndarray=NdArray, RawModule=RawModule)
    return modules
