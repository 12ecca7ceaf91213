"""A CuPy made of NumPy and the kernel emulation: engine/cuda, unmodified, on a machine without GPU.

How to use it::

    with emulated_cupy(EmulatedGpu(compute_capability=86)) as gpu:
        from engine.cuda.cuda_backend import CudaBackend   # inside: it binds the fake
        ...

- `sys.modules` gets `cupy` and fresh copies of `engine.cuda.*`; both go again at the end, so that
  nothing outside the block can import the fake.
- Device memory is one NumPy buffer per allocation, filled with 0xFF (NaN), guard bytes behind it.
- A stream is a queue that runs as late as CUDA allows: only a synchronize or a read runs it. A
  staging buffer that is filled again too early, or a value read without waiting, shows as wrong.
- Kernels are the texts that `kernel_source` makes, compiled by tests/kernels/emulation.
- A launch is refused as the driver would refuse it: grid, block, launch bounds, dynamic shared
  memory, and (stricter than CuPy, which checks no argument) number, dtype and size of arguments
  against the kernel's C signature.
- `EmulatedGpu(executes=False)` checks launches without compiling or running anything, so real
  models can be walked through.
- `gpu.fail(operation, status)` makes a later call raise a CUDA error; sticky ones stay.
"""

from tests.kernels.emulated_device.gpu import EmulatedGpu
from tests.kernels.emulated_device.modules import emulated_cupy

__all__ = ["EmulatedGpu", "emulated_cupy"]
