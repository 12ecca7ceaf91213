"""The NVIDIA GPU as its driver describes it (NVML), what other programs hold of it included.

The one place that asks NVML; off the GUI thread, since a driver can be slow to answer. Where the
driver or the package nvidia-ml-py is missing there is nothing to tell.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """What the driver says of the first GPU; empty and None where it says nothing.

    `own_bytes` is what this process holds; a driver in a container does not know its processes.
    """

    driver_version: str = ""
    name: str = ""
    free_bytes: int | None = None
    total_bytes: int | None = None
    compute_capability: tuple[int, int] | None = None
    own_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class GpuMemory:
    """Memory of the first GPU: all that is used, and this process's part of it, where known."""

    name: str
    used_bytes: int
    total_bytes: int
    own_bytes: int | None = None

    def others_bytes(self, planned_bytes: int) -> int:
        """What other programs hold; where our own part is not known it is what was planned."""
        own = planned_bytes if self.own_bytes is None else self.own_bytes
        return max(0, self.used_bytes - own)


def read_gpu_memory() -> GpuMemory | None:
    """Ask the driver for the memory; None where there is no NVIDIA GPU."""
    facts = ask_nvml()
    if facts is None or facts.free_bytes is None or facts.total_bytes is None:
        return None
    used_bytes = facts.total_bytes - facts.free_bytes
    return GpuMemory(facts.name, used_bytes, facts.total_bytes, facts.own_bytes)


def ask_nvml() -> GpuFacts | None:
    """All that the driver's library tells; None where it is missing or fails."""
    try:
        import pynvml
    except ImportError:
        return None
    try:
        # Never shut down: NVML counts, and to begin anew each second would take far longer.
        pynvml.nvmlInit()
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        if not pynvml.nvmlDeviceGetCount():
            return GpuFacts(driver)
        device = pynvml.nvmlDeviceGetHandleByIndex(0)
        memory = pynvml.nvmlDeviceGetMemoryInfo(device)
        major, minor = pynvml.nvmlDeviceGetCudaComputeCapability(device)
        name = _text(pynvml.nvmlDeviceGetName(device))
        free_bytes, total_bytes = int(memory.free), int(memory.total)
    except pynvml.NVMLError:
        return None
    own_bytes = _own_bytes(pynvml, device)
    return GpuFacts(driver, name, free_bytes, total_bytes, (major, minor), own_bytes)


def _own_bytes(pynvml: Any, device: object) -> int | None:  # noqa: ANN401 - a module
    try:
        processes = pynvml.nvmlDeviceGetComputeRunningProcesses(device)
    except pynvml.NVMLError:
        return None
    sizes = [process.usedGpuMemory for process in processes if process.pid == os.getpid()]
    return int(sizes[0]) if sizes and sizes[0] is not None else None


def _text(value: str | bytes) -> str:
    """Older versions of the package return bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
