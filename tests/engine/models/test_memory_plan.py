"""The memory plan: numbers known from the model's shape, and regions that never overlap."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from engine.api import MemoryPlan
from engine.errors import BadRequest, NotEnoughMemory
from engine.models.memory_plan import (
    ALIGNMENT_BYTES,
    container_free_bytes,
    free_ram_bytes,
    kv_pages,
    meminfo_available_bytes,
    plan_memory,
    plan_regions,
    require_fits,
    total_bytes,
)
from engine.models.model_config import ModelConfig
from engine.models.weights import weight_blocks

QWEN3_06B = ModelConfig(
    model_type="qwen3",
    num_hidden_layers=28,
    hidden_size=1024,
    intermediate_size=3072,
    num_attention_heads=16,
    num_key_value_heads=8,
    head_dim=128,
    vocab_size=151936,
    rms_norm_eps=1e-6,
    rope_theta=1e6,
    max_position_embeddings=40960,
    tie_word_embeddings=True,
)


def test_qwen3_weights_in_bf16_are_counted_to_the_byte() -> None:
    # 596,049,920 parameters as published; every block of this model is a multiple of 256 bytes.
    assert sum(block.size for block in weight_blocks(QWEN3_06B)) == 596_049_920
    assert plan_memory(QWEN3_06B, 8192, "cuda").weights_bytes == 2 * 596_049_920
    assert plan_memory(QWEN3_06B, 8192, "cpu").weights_bytes == 4 * 596_049_920
    bf16 = plan_memory(QWEN3_06B, 8192, "cpu", cpu_weights="bfloat16")
    assert bf16.weights_bytes == 2 * 596_049_920


def test_full_context_of_qwen3_takes_4_7_gigabytes_of_cache() -> None:
    plan = plan_memory(QWEN3_06B, 40_960, "cuda")
    assert plan.kv_cache_bytes == 28 * 2 * 40_960 * 8 * 128 * 2
    assert round(plan.kv_cache_bytes / 1e9, 1) == 4.7


def test_capacity_is_rounded_up_to_pages_of_64() -> None:
    assert [kv_pages(tokens) for tokens in (1, 64, 65)] == [1, 1, 2]
    one_more = plan_memory(QWEN3_06B, 8193, "cuda").kv_cache_bytes
    assert one_more - plan_memory(QWEN3_06B, 8192, "cuda").kv_cache_bytes == 28 * 2 * 64 * 2048


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize(("capacity", "sequences"), [(1, 1), (1000, 3), (40_960, 8)])
def test_regions_are_aligned_apart_and_add_up(device: str, capacity: int, sequences: int) -> None:
    regions = plan_regions(QWEN3_06B, capacity, sequences, device=device)
    assert len({region.name for region in regions}) == len(regions)
    for region, following in pairwise(regions):
        assert region.offset % ALIGNMENT_BYTES == 0
        assert region.nbytes > 0
        assert region.end <= following.offset < region.end + ALIGNMENT_BYTES
    plan = plan_memory(QWEN3_06B, capacity, device, sequences)
    assert plan.total_bytes == total_bytes(regions) >= regions[-1].end


def test_weight_regions_are_the_weight_blocks_in_order() -> None:
    regions = plan_regions(QWEN3_06B, 64)
    blocks = weight_blocks(QWEN3_06B)
    assert [(r.name, r.nbytes) for r in regions[: len(blocks)]] == [
        (block.name, 2 * block.size) for block in blocks
    ]


@pytest.mark.parametrize(("tokens", "sequences"), [(64, 2), (100, 3), (200, 3), (70, 5), (7, 7)])
def test_every_sequence_gets_whole_pages_for_its_share(tokens: int, sequences: int) -> None:
    pages = kv_pages(tokens, sequences)
    assert pages % sequences == 0
    assert pages // sequences * 64 >= tokens // sequences
    plan = plan_memory(QWEN3_06B, tokens, "cuda", sequences)
    assert plan.kv_cache_bytes == 28 * 2 * pages * 64 * 2048


@pytest.mark.parametrize(
    ("capacity", "sequences"), [(0, 1), (1 << 30, 1), (64, 0), (64, 1000), (2, 3)]
)
def test_absurd_sizes_are_refused(capacity: int, sequences: int) -> None:
    with pytest.raises(BadRequest, match=r"expected \d to"):
        plan_regions(QWEN3_06B, capacity, sequences)


def test_what_does_not_fit_is_refused_with_both_numbers() -> None:
    plan = MemoryPlan(3_000_000_000, 1_000_000_000, 500_000_000)
    require_fits(plan, 4_500_000_000, "GPU")
    with pytest.raises(NotEnoughMemory, match=r"GPU: 4\.50 GB needed, 4\.00 GB free"):
        require_fits(plan, 4_000_000_000, "GPU")


def test_free_memory_is_what_linux_calls_available(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  16000 kB\nMemFree:  1000 kB\nMemAvailable:  9000 kB\n")
    assert meminfo_available_bytes(meminfo) == 9000 * 1024
    assert meminfo_available_bytes(tmp_path / "none") > 0


def test_container_limit_counts_without_the_file_cache(tmp_path: Path) -> None:
    assert container_free_bytes(tmp_path) is None
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 150\nactive_file 50\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert container_free_bytes(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    assert container_free_bytes(tmp_path) == 450
    (tmp_path / "memory.max").write_text("100\n")
    assert container_free_bytes(tmp_path) == 0


def test_this_machine_has_free_memory() -> None:
    assert 1 << 20 < free_ram_bytes() < 1 << 46


@pytest.mark.parametrize(("capacity", "sequences"), [(2048, 1), (40_960, 1), (8 * 40_960, 8)])
def test_scores_on_the_cpu_never_take_more_than_32_mib(capacity: int, sequences: int) -> None:
    def step_bytes(tokens: int) -> int:
        regions = plan_regions(QWEN3_06B, tokens, sequences, device="cpu")
        return next(r.nbytes for r in regions if r.name == "workspace.largest_step")

    assert step_bytes(capacity) - step_bytes(sequences) <= 32 << 20
