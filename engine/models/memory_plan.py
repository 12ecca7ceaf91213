"""How many bytes a model needs, known before loading: named regions of one allocation.

The same list gives the numbers in the window and the offsets of the CUDA backend's single
allocation, so that the two can never disagree.
"""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.api import MemoryPlan
from engine.errors import BadRequest, NotEnoughMemory
from engine.models.model_config import ModelConfig
from engine.models.weights import weight_blocks

PAGE_TOKENS = 64
"""Positions of one page of the KV cache; also the unit of prefix reuse."""

PREFILL_CHUNK_TOKENS = 512
"""Most tokens of one prefill call, but for the GPUs of the next line; sizes the activations."""

HOPPER_CHUNK_TOKENS = 2048
"""Most tokens of one prefill call where the kernels of compute capability 9.0 run: enough to fill
such a GPU over a long context, yet tens of milliseconds at most, so that a cancel is quick."""

ALIGNMENT_BYTES = 256
"""Every region begins at a multiple of this (what cudaMalloc gives, and more than TMA needs)."""

DECODE_SPLITS = 32
"""Pieces into which split-KV attention cuts one sequence."""

RECORDS = 128
"""Tokens that the device records before the host must read them: most steps of one decode run."""

SLOT_STATE_BYTES = 96
TOKEN_RECORD_BYTES = 96
SAMPLER_CHUNK = 1024
SAMPLER_BINS = 2048

CPU_SCORES_VALUES = 1 << 23
"""Attention scores that the CPU backend holds at a time: 32 MiB, whatever the context."""

CPU_CHUNK_WORK = 2e10
"""Parameters times tokens of one prefill chunk on the CPU: a few tenths of a second on two cores,
which is how long a cancel may wait."""

CPU_DRAW_VALUES = 16
"""Float32 values per id of the vocabulary that drawing takes: ranks, masses and their sums."""

CPU_MATRIX_BLOCK_VALUES = 1 << 20
"""Bfloat16 weights that the CPU backend widens at a time: 4 MiB, so that they stay in the cache."""

WeightDtype = Literal["float32", "bfloat16"]
Device = Literal["cpu", "cuda"]
RegionKind = Literal["weights", "kv_cache", "workspace"]


@dataclass(frozen=True, slots=True)
class Region:
    """A named piece of the allocation, in bytes; `offset` is a multiple of ALIGNMENT_BYTES."""

    name: str
    kind: RegionKind
    nbytes: int
    offset: int

    @property
    def end(self) -> int:
        """First byte after it, without padding."""
        return self.offset + self.nbytes


def kv_pages(capacity_tokens: int, max_sequences: int = 1) -> int:
    """Pages of the cache: every slot owns whole pages for its even share of the positions."""
    return max_sequences * -(-(capacity_tokens // max_sequences) // PAGE_TOKENS)


def cpu_prefill_chunk_tokens(config: ModelConfig) -> int:
    """Most tokens of one prefill call on the CPU; depends on the number of parameters alone."""
    parameters = sum(block.size for block in weight_blocks(config))
    return min(PREFILL_CHUNK_TOKENS, max(16, int(CPU_CHUNK_WORK / parameters) // 16 * 16))


def plan_regions(
    config: ModelConfig,
    capacity_tokens: int,
    max_sequences: int = 1,
    *,
    device: Device = "cuda",
    cpu_weights: WeightDtype = "float32",
) -> list[Region]:
    """List all regions with their offsets, in order.

    Weights are called as in `weight_blocks`, the cache "layers.N.k_pool" and "layers.N.v_pool"
    (`[pages, NKV, 64, HD]`), the rest "workspace.<what>". CUDA: weights, cache and operands bf16,
    residual stream and products float32. CPU: cache and activations float32.

    Raises:
        BadRequest: capacity or number of sequences is out of range.
    """
    if not 1 <= max_sequences <= 64:
        raise BadRequest("sequences", max_sequences, "1 to 64")
    if not max_sequences <= capacity_tokens <= 1 << 24:
        expected = f"{max_sequences} to 16,777,216 tokens"
        raise BadRequest("context length", capacity_tokens, expected)
    on_cpu = device == "cpu"
    weight_bytes = 4 if on_cpu and cpu_weights == "float32" else 2
    cache_bytes = 4 if on_cpu else 2
    pool_bytes = (
        kv_pages(capacity_tokens, max_sequences)
        * PAGE_TOKENS
        * config.num_key_value_heads
        * config.head_dim
        * cache_bytes
    )
    sizes: list[tuple[str, RegionKind, int]] = [
        (block.name, "weights", block.size * weight_bytes) for block in weight_blocks(config)
    ]
    for layer in range(config.num_hidden_layers):
        sizes += [
            (f"layers.{layer}.{pool}", "kv_cache", pool_bytes) for pool in ("k_pool", "v_pool")
        ]
    workspace_bytes = _cpu_workspace_bytes if on_cpu else _cuda_workspace_bytes
    workspace = workspace_bytes(config, capacity_tokens, max_sequences)
    sizes += [(f"workspace.{name}", "workspace", nbytes) for name, nbytes in workspace.items()]
    regions: list[Region] = []
    offset = 0
    for name, kind, nbytes in sizes:
        regions.append(Region(name, kind, nbytes, offset))
        offset += _padded(nbytes)
    return regions


def _padded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _cpu_workspace_bytes(
    config: ModelConfig, capacity_tokens: int, max_sequences: int
) -> dict[str, int]:
    """What the NumPy model holds at most beside weights and cache, temporary arrays included.

    Attention, feed-forward and drawing come one after the other, so the largest of them counts.
    """
    slot_tokens = capacity_tokens // max_sequences
    rows = max(min(cpu_prefill_chunk_tokens(config), slot_tokens), max_sequences)
    q_values = config.num_attention_heads * config.head_dim
    kv_values = config.num_key_value_heads * config.head_dim
    row_scores = config.num_attention_heads * slot_tokens
    block = min(rows, max(1, CPU_SCORES_VALUES // row_scores))
    # Residual and norm; q as product, rotated, mixed and joined; of a block of rows also q by head,
    # mixed by head, and where the mask lies.
    attention = rows * (2 * config.hidden_size + 4 * q_values + 3 * kv_values)
    attention += block * (row_scores + 3 * q_values + 2 * block)
    # Residual, norm and product; gate and up, and silu in three steps.
    feed_forward = rows * (3 * config.hidden_size + 5 * config.intermediate_size)
    feed_forward += CPU_MATRIX_BLOCK_VALUES
    draw = config.vocab_size * CPU_DRAW_VALUES
    return {
        "rope_table": slot_tokens * config.head_dim * 4,
        "logits": max_sequences * config.vocab_size * 4,
        "sampler": max_sequences * config.vocab_size * 5,  # a count and a flag per id
        "largest_step": max(attention, feed_forward, draw) * 4,
    }


def _cuda_workspace_bytes(
    config: ModelConfig, capacity_tokens: int, max_sequences: int
) -> dict[str, int]:
    """Everything on the GPU that is neither weight nor cache."""
    rows = max(PREFILL_CHUNK_TOKENS, max_sequences)
    # What the Hopper kernels use is as long as their chunk, on any GPU: it makes some 30 MB.
    long_rows = max(HOPPER_CHUNK_TOKENS, max_sequences)
    pages = kv_pages(capacity_tokens, max_sequences)
    positions = min(pages // max_sequences * PAGE_TOKENS, config.max_position_embeddings)
    q_values = config.num_attention_heads * config.head_dim
    kv_values = config.num_key_value_heads * config.head_dim
    partials = max_sequences * config.num_attention_heads * DECODE_SPLITS
    return {
        "rope_table": positions * config.head_dim * 4,
        "hidden": long_rows * config.hidden_size * 4,
        "norm": long_rows * config.hidden_size * 2,
        "product_parts": long_rows * config.hidden_size * 4,
        "qkv": rows * (q_values + 2 * kv_values) * 4,
        "q": long_rows * q_values * 2,
        "attention": long_rows * q_values * 2,
        "gate_up": rows * 2 * config.intermediate_size * 4,
        "swiglu": long_rows * config.intermediate_size * 2,
        "logits": max_sequences * config.vocab_size * 4,
        "token_ids": long_rows * 4,
        "positions": rows * 4,
        "slots": rows * 4,
        "block_table": pages * 4,
        "partial_out": partials * config.head_dim * 4,
        "partial_max": partials * 4,
        "partial_sum": partials * 4,
        "arrivals": max_sequences * config.num_key_value_heads * 4,
        **_sampler_bytes(config.vocab_size, max_sequences),
    }


def sampler_candidates(vocab_size: int) -> int:
    """Ids that the general draw keeps room for: its 32 warps take 128 at a time."""
    return -(-vocab_size // 4096) * 4096


def _sampler_bytes(vocab_size: int, max_sequences: int) -> dict[str, int]:
    """State and scratch of the device's sampler; shapes: kernels/sample_state.cuh."""
    chunks = -(-vocab_size // SAMPLER_CHUNK)
    per_sequence = {
        "row_token_ids": 4,
        "row_positions": 4,
        "row_slots": 4,
        "slot_states": SLOT_STATE_BYTES,
        "records": RECORDS * TOKEN_RECORD_BYTES,
        "occurrences": vocab_size * 4,
        "scores": vocab_size * 4,
        "candidates": sampler_candidates(vocab_size) * 4,
        "chunks": chunks * 128,
        "bin_masses": SAMPLER_BINS * 8,
        "bin_counts": SAMPLER_BINS * 4,
    }
    return {name: max_sequences * nbytes for name, nbytes in per_sequence.items()}


def total_bytes(regions: list[Region]) -> int:
    """Bytes of the one allocation that holds all regions."""
    return sum(_padded(region.nbytes) for region in regions)


def plan_memory(
    config: ModelConfig,
    capacity_tokens: int,
    device: Device,
    max_sequences: int = 1,
    cpu_weights: WeightDtype = "float32",
) -> MemoryPlan:
    """Sum the regions, padding included, by kind. Raises BadRequest as `plan_regions`."""
    regions = plan_regions(
        config, capacity_tokens, max_sequences, device=device, cpu_weights=cpu_weights
    )
    sums = {
        kind: sum(_padded(region.nbytes) for region in regions if region.kind == kind)
        for kind in ("weights", "kv_cache", "workspace")
    }
    return MemoryPlan(sums["weights"], sums["kv_cache"], sums["workspace"])


def require_fits(plan: MemoryPlan, free_bytes: int, device: str) -> None:
    """Refuse a plan that needs more than is free; `device` is its name for people.

    Raises:
        NotEnoughMemory: with both numbers.
    """
    if plan.total_bytes > free_bytes:
        raise NotEnoughMemory(plan.total_bytes, free_bytes, device)


def free_ram_bytes() -> int:
    """Main memory that a program can take now without swapping; respects a container's limit."""
    if sys.platform == "win32":
        return _windows_free_bytes()
    if sys.platform == "darwin":
        # No call of the standard library tells free memory here; half of all is a safe guess.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    available = meminfo_available_bytes(Path("/proc/meminfo"))
    container = container_free_bytes(Path("/sys/fs/cgroup"))
    return available if container is None else min(available, container)


def meminfo_available_bytes(path: Path) -> int:
    """Read what Linux calls available; where /proc is hidden, the unused pages."""
    try:
        lines = path.read_text("ascii").splitlines()
    except OSError:
        lines = []
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def container_free_bytes(cgroup: Path) -> int | None:
    """What a container's limit (cgroup version 2) leaves; None where there is no limit.

    The page cache of files counts as used there, but is given back on demand: subtract it.
    """
    try:
        limit = (cgroup / "memory.max").read_text("ascii").strip()
        used = int((cgroup / "memory.current").read_text("ascii"))
        statistics = (cgroup / "memory.stat").read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    if not limit.isdecimal():
        return None
    cached = sum(int(line.split()[1]) for line in statistics if line.startswith("inactive_file "))
    return max(0, int(limit) - max(0, used - cached))


class _MemoryStatus(ctypes.Structure):
    # MEMORYSTATUSEX of the Windows API.
    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load_percent", ctypes.c_uint32),
        ("total_physical", ctypes.c_uint64),
        ("free_physical", ctypes.c_uint64),
        ("total_page_file", ctypes.c_uint64),
        ("free_page_file", ctypes.c_uint64),
        ("total_virtual", ctypes.c_uint64),
        ("free_virtual", ctypes.c_uint64),
        ("free_extended", ctypes.c_uint64),
    )


def _windows_free_bytes() -> int:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    # getattr: the type checker of other systems knows no windll.
    kernel32 = getattr(ctypes, "windll").kernel32  # noqa: B009
    kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return int(status.free_physical)
