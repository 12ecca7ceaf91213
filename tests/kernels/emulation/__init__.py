"""CUDA kernels on the CPU: unmodified .cu files, g++, one fiber per CUDA thread.

How to use it::

    from tests.kernels.emulation import Sizes, load_kernels

    kernels = load_kernels("rms_norm.cu", Sizes(E=64, F=128, NH=2, NKV=1, HD=32, V=100))
    out = np.full((T, E), 0xFFFF, np.uint16)             # bf16 travels as its uint16 bits
    kernels.launch("rms_norm_bf16", grid=(T,), block=(256,),
                   args=[out, hidden, weight, np.int32(T)], shared_bytes=0)

- `launch` runs the kernel once per order in `orders` (0 forward, 1 backward, 3 the lowest warp
  first and as far as it can, others random fibers and blocks; in odd orders warpgroup products run
  at once, else at their wait; -1 and -3 are 1 and 3 with late products), each time on the same
  inputs, and raises EmulationError when the results differ in one bit (a missing barrier), when a
  barrier or warp operation diverges, when a spin wait never ends. Arrays are pointers and are
  written in place; scalars must be NumPy scalars of the parameter's own size.
- `resident=True` keeps all blocks of a small grid alive, so that grid-wide barriers work; the
  waiting loop calls `spin_wait()` of common.cuh. Otherwise blocks run one after the other.
- `sanitize=True` runs the same launch in a child process under AddressSanitizer and UBSan, each
  array in memory of exactly its size: out-of-bounds global and shared accesses, misaligned vector
  loads and signed overflow raise SanitizerError with the report.
- `arch` of `load_kernels` (750, 800, 900) picks the compile-time paths; `source=` takes a text
  instead of a file of kernels/ (planted faults); `defines=` adds -D names.
- Shared memory starts as 0xFF bytes, cp.async destinations too until the wait. `__shared__` may
  stand only in `extern "C" __global__` functions; dynamic shared memory: `DYNAMIC_SHARED`.
- Rounding: no FMA contraction here, so results differ from the GPU in the last bits.
"""

from tests.kernels.emulation.bf16 import from_bf16, to_bf16
from tests.kernels.emulation.build import QWEN3_0_6B, SMOLLM2_135M, Sizes, find_gxx
from tests.kernels.emulation.launch import (
    EmulationError,
    Kernels,
    SanitizerError,
    load_kernels,
)

__all__ = [
    "QWEN3_0_6B",
    "SMOLLM2_135M",
    "EmulationError",
    "Kernels",
    "SanitizerError",
    "Sizes",
    "find_gxx",
    "from_bf16",
    "load_kernels",
    "to_bf16",
]
