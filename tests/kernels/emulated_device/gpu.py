"""What the driver reports about the emulated GPU, its faults on demand, and its error classes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

INVALID_VALUE = 1
OUT_OF_MEMORY = 2
CAPTURE_UNSUPPORTED = 900
STICKY = frozenset({214, 700, 702, 715, 716, 719, 999})

# Dynamic shared memory that one block may ask for (CUDA C++ programming guide, table "Technical
# specifications per compute capability").
SHARED_OPTIN_BYTES = {75: 65536, 80: 166912, 86: 101376, 89: 101376, 90: 232448, 120: 101376}


class CUDARuntimeError(RuntimeError):
    """As cupy.cuda.runtime.CUDARuntimeError."""

    def __init__(self, status: int) -> None:
        super().__init__(f"cudaError {status}")
        self.status = status


class CUDADriverError(RuntimeError):
    """As cupy.cuda.driver.CUDADriverError."""

    def __init__(self, status: int, reason: str = "") -> None:
        super().__init__(f"CUresult {status}: {reason}")
        self.status = status


class OutOfMemoryError(MemoryError):
    """As cupy.cuda.memory.OutOfMemoryError."""


class CompileException(Exception):
    """As cupy.cuda.compiler.CompileException."""


@dataclass(frozen=True)
class Launch:
    """One accepted kernel launch."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    arguments: dict[str, int]
    """By parameter name: elements of an array, or the value of a scalar."""


@dataclass
class EmulatedGpu:
    """The device and its driver; `launches` keeps what was launched or captured, in order."""

    compute_capability: int = 90
    multiprocessors: int = 64
    total_bytes: int = 1 << 30
    used_by_others: int = 0
    driver_version: int = 12040
    device_count: int = 1
    executes: bool = True
    has_nvrtc: bool = True
    cublas: object | None = None
    allocated_bytes: int = 0
    graph_captures: int = 0
    graph_launches: int = 0
    launches: deque[Launch] = field(default_factory=lambda: deque(maxlen=5000))
    _faults: dict[str, list[Exception | None]] = field(default_factory=dict)
    _lost: int = 0

    @property
    def shared_optin_bytes(self) -> int:
        """Most dynamic shared memory of a block."""
        return SHARED_OPTIN_BYTES.get(self.compute_capability, 48 * 1024)

    @property
    def free_bytes(self) -> int:
        """What cudaMemGetInfo calls free."""
        return self.total_bytes - self.used_by_others - self.allocated_bytes

    def fail(self, operation: str, error: int | Exception, after: int = 0) -> None:
        """Make call number `after` (from now) of `operation` raise; an int is a CUDA error."""
        raised = CUDARuntimeError(error) if isinstance(error, int) else error
        # None stands for a call that succeeds.
        self._faults[operation] = [*[None] * after, raised]

    def call(self, operation: str) -> None:
        """Every driver call passes here. Raises what `fail` asked for."""
        if self._lost:
            raise CUDARuntimeError(self._lost)
        waiting = self._faults.get(operation)
        error = waiting.pop(0) if waiting else None
        if error is not None:
            status = getattr(error, "status", 0)
            self._lost = status if status in STICKY else 0
            try:
                raise error
            finally:
                # Else the traceback holds this frame and the frame the error: memory stays.
                del error

    def properties(self) -> dict[str, object]:
        """As cupy.cuda.runtime.getDeviceProperties."""
        return {
            "name": b"Emulated GPU",
            "major": self.compute_capability // 10,
            "minor": self.compute_capability % 10,
            "multiProcessorCount": self.multiprocessors,
            "l2CacheSize": 4 << 20,
            "sharedMemPerBlockOptin": self.shared_optin_bytes,
            "totalGlobalMem": self.total_bytes,
        }


class _Machine:
    gpu = EmulatedGpu()


def current_gpu() -> EmulatedGpu:
    """The GPU of the innermost `emulated_cupy`."""
    return _Machine.gpu


def insert_gpu(gpu: EmulatedGpu) -> EmulatedGpu:
    """Make `gpu` the current one; returns the one before."""
    before, _Machine.gpu = _Machine.gpu, gpu
    return before
