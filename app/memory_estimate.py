"""What a model needs in memory and what is free, in words; runs on the job thread."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.error_text import error_text, size_text
from app.gpu_memory import read_gpu_memory
from app.language import translate
from engine.api import EngineInfo
from engine.errors import EngineError


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """The sentence under the context setting; `fits` is False when loading would be refused."""

    text: str
    fits: bool


def estimate_memory(
    path: Path, device: str, capacity_tokens: int, loaded: EngineInfo | None = None
) -> MemoryEstimate:
    """The plan of a model on a device ("auto", "cuda" or "cpu") against what is free for it.

    A `loaded` model is let go before another one is loaded, so what it holds counts as free.
    """
    # Imported here: these import NumPy, which the window must not wait for.
    from engine.models.memory_plan import free_ram_bytes
    from engine.open_engine import context_of, describe_memory

    gpu = read_gpu_memory() if device != "cpu" else None
    on_gpu = device == "cuda" or gpu is not None
    try:
        capacity_tokens = context_of(path, capacity_tokens)
        plan = describe_memory(path, capacity_tokens, "cuda" if on_gpu else "cpu")
    except EngineError as error:
        return MemoryEstimate(error_text(error).text, fits=False)
    parts = translate(
        "Models",
        "{total} needed: {weights} weights, {kv_cache} for {capacity_tokens:,} "
        "tokens of chat, {workspace} work space.",
    ).format(
        total=size_text(plan.total_bytes),
        weights=size_text(plan.weights_bytes),
        kv_cache=size_text(plan.kv_cache_bytes),
        capacity_tokens=capacity_tokens,
        workspace=size_text(plan.workspace_bytes),
    )
    if on_gpu and gpu is None:
        return MemoryEstimate(
            f"{parts} {translate('Models', 'No NVIDIA GPU was found.')}", fits=False
        )
    held = 0
    if loaded is not None and loaded.on_gpu == on_gpu:
        held = loaded.memory.total_bytes
    if gpu is None:
        free_bytes = free_ram_bytes() + held
        free = translate("Models", "{size} free in main memory.").format(size=size_text(free_bytes))
    else:
        free_bytes = gpu.total_bytes - gpu.used_bytes + held
        words = translate("Models", "{size} free on the {gpu}.")
        free = words.format(size=size_text(free_bytes), gpu=gpu.name)
    fits = plan.total_bytes <= free_bytes
    advice = translate("Models", "This does not fit; set a shorter context or free memory.")
    # Between Chinese sentences stands no blank.
    gap = "" if parts.endswith("。") else " "
    return MemoryEstimate(gap.join((parts, free) if fits else (parts, free, advice)), fits)


def no_estimate(
    path: Path, device: str, capacity_tokens: int, loaded: EngineInfo | None
) -> MemoryEstimate:
    """For what has no weights: nothing is said."""
    return MemoryEstimate("", fits=True)
