"""What a model needs in memory and what is free, in words; runs on the job thread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.error_text import error_text, size_text
from app.gpu_memory import GpuMemory, read_gpu_memory
from engine.errors import EngineError


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The sentence under the context setting; `fits` is False when loading would be refused."""

    text: str
    fits: bool


def estimate_memory(path: Path, device: str, capacity_tokens: int) -> MemoryEstimate:
    """The plan of a model on a device ("auto", "cuda" or "cpu") against what is free now."""
    # Imported here: these import NumPy, which the window must not wait for.
    from engine.models.memory_plan import free_ram_bytes
    from engine.open_engine import describe_memory

    gpu = read_gpu_memory() if device != "cpu" else None
    on_gpu = device == "cuda" or gpu is not None
    try:
        plan = describe_memory(path, capacity_tokens, "cuda" if on_gpu else "cpu")
    except EngineError as error:
        return MemoryEstimate(error_text(error).text, fits=False)
    parts = (
        f"{size_text(plan.total_bytes)} needed: {size_text(plan.weights_bytes)} weights, "
        f"{size_text(plan.kv_cache_bytes)} for {capacity_tokens:,} tokens of chat, "
        f"{size_text(plan.workspace_bytes)} work space"
    )
    if on_gpu and gpu is None:
        return MemoryEstimate(f"{parts}. No NVIDIA GPU was found.", fits=False)
    free_bytes, place = _free(gpu) if gpu is not None else (free_ram_bytes(), "in main memory")
    fits = plan.total_bytes <= free_bytes
    verdict = "" if fits else " This does not fit; set a shorter context or free memory."
    return MemoryEstimate(f"{parts}. {size_text(free_bytes)} free {place}.{verdict}", fits)


def no_estimate(path: Path, device: str, capacity_tokens: int) -> MemoryEstimate:
    """For what has no weights: nothing is said."""
    return MemoryEstimate("", fits=True)


def _free(gpu: GpuMemory) -> tuple[int, str]:
    return gpu.total_bytes - gpu.used_bytes, f"on the {gpu.name}"
