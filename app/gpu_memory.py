"""Memory of the NVIDIA GPU, asked from the driver (NVML); runs on the job thread.

Where the driver or the package nvidia-ml-py is missing there is no GPU memory to show.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """Memory of the first GPU, what other programs hold included."""

    name: str
    used_bytes: int
    total_bytes: int


def read_gpu_memory() -> GpuMemory | None:
    """Ask the driver; None where there is no NVIDIA GPU. Takes about a millisecond."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
        name = pynvml.nvmlDeviceGetName(handle)
    except pynvml.NVMLError:
        return None
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    return GpuMemory(text, int(memory.used), int(memory.total))
