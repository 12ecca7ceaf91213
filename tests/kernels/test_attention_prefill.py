"""attention_prefill.cu on the CPU emulation against float64, and compiled for each architecture."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.emulation import (
    QWEN3_0_6B,
    SMOLLM2_135M,
    EmulationError,
    Sizes,
    load_kernels,
    to_bf16,
)
from tests.kernels.emulation.build import KERNELS
from tests.kernels.nvrtc import ARCHITECTURES, compile_cubin, find_nvrtc, inline_includes
from tests.kernels.oracle_attention import NAN_BF16, attention, attention_tolerance, paged_cache

ENTRIES = {"attention_prefill_bf16": 64, "attention_prefill_bf16_128": 128}  # rows of a block
GUARD = 64
SOURCE = (KERNELS / "attention_prefill.cu").read_text()
SMALL = Sizes(NH=2, NKV=1, HD=32)


def launch_bytes(entry, head_dim, arch):
    tiles = 128 if ENTRIES[entry] == 64 else 256
    row_bytes = 2 * head_dim + 16
    return min(tiles * row_bytes, 256 * head_dim) if arch < 800 else tiles * row_bytes


def run_prefill(
    T,
    first_position,
    *,
    entry="attention_prefill_bf16",
    sizes=SMALL,
    arch=900,
    orders=(0,),
    sanitize=False,
    source=None,
    query_scale=1.0,
):
    """Worst ratio of error to tolerance; also checks that only [T, NH, HD] was written."""
    cache = paged_cache(sizes, [first_position + T], seed=T * 1000 + first_position)
    random = np.random.default_rng(T)
    q = to_bf16(query_scale * random.standard_normal((T, sizes.NH, sizes.HD)))
    out = np.full(q.size + (0 if sanitize else GUARD), NAN_BF16)
    load_kernels("attention_prefill.cu", sizes, arch=arch, source=source).launch(
        entry,
        grid=(sizes.NH, -(-T // ENTRIES[entry])),
        block=(128,),
        args=[
            out,
            q,
            cache.k_pool,
            cache.v_pool,
            cache.block_table[0].copy(),
            np.int32(T),
            np.int32(first_position),
        ],
        shared_bytes=launch_bytes(entry, sizes.HD, arch),
        orders=orders,
        sanitize=sanitize,
    )
    assert (out[q.size :] == NAN_BF16).all(), "wrote past the end of out"
    expected = attention(q, cache.keys[0], cache.values[0], first_position + np.arange(T))
    found = (out[: q.size].astype(np.uint32) << 16).view(np.float32).reshape(q.shape)
    error = np.abs(found - expected) / attention_tolerance(cache.values[0], arch >= 800)
    return float(np.max(np.nan_to_num(error, nan=np.inf)))


@pytest.mark.parametrize(("T", "first_position"), [(1, 0), (17, 63)])
def test_prefill_matches_float64(T, first_position):
    assert run_prefill(T, first_position) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("T", "first_position"),
    [
        (1, 63),
        (1, 64),
        (2, 100),
        (15, 0),
        (16, 1),
        (17, 64),
        (63, 1),
        (64, 0),
        (65, 63),
        (130, 100),
    ],
)
def test_every_length_and_first_position(entry, arch, T, first_position):
    assert run_prefill(T, first_position, entry=entry, arch=arch) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(NH=6, NKV=2, HD=64),  # three heads to a group, as SmolLM2
        Sizes(NH=4, NKV=2, HD=128),  # Qwen3
        Sizes(NH=2, NKV=2, HD=96),
    ],
    ids=lambda sizes: f"HD{sizes.HD}",
)
def test_head_dims_and_groups(entry, arch, sizes):
    assert run_prefill(18, 60, entry=entry, sizes=sizes, arch=arch) <= 1


@pytest.mark.emulation
def test_last_position_of_the_longest_context():
    assert run_prefill(2, 40958, sizes=Sizes(NH=1, NKV=1, HD=32)) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
def test_head_dim_256(arch):
    assert run_prefill(3, 62, sizes=Sizes(NH=2, NKV=1, HD=256), arch=arch) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
def test_sharp_scores_keep_their_accuracy(entry, arch):
    # Maxima of about 100 that move from page to page: the running rescale must follow.
    assert run_prefill(20, 200, entry=entry, arch=arch, query_scale=25.0) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
def test_result_does_not_depend_on_thread_order(entry, arch):
    assert run_prefill(17, 130, entry=entry, arch=arch, orders=(0, 1, 2, 3)) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
def test_reads_and_writes_stay_inside_the_arrays(entry, arch):
    assert run_prefill(3, 62, entry=entry, arch=arch, sanitize=True) <= 1


def plant(old, new):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    return SOURCE.replace(old, new)


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rows.mask(scores, block.first_position, first_key);", ""),
        ("c / 2 * 8 > limit;", "c / 2 * 8 > limit + 1;"),
        ("return blockIdx.x / (NH / NKV);", "return blockIdx.x % NKV;"),
        ("scores[i][j][c] * SOFTMAX_SCALE - next", "scores[i][j][c] / HD - next"),
        ("out[i][j][c] *= correction[c / 2];", ""),
        ("v_pool, page, kv_head, block.positions - first_key", "v_pool, page, kv_head, 64"),
        ("page = block_table_row[next_key / PAGE_TOKENS];", ""),
    ],
    ids=["no mask", "sees one ahead", "kv head", "scale", "rescale", "unused rows", "page"],
)
def test_planted_fault_is_seen(old, new):
    sizes = Sizes(NH=4, NKV=2, HD=32)
    assert run_prefill(17, 60, sizes=sizes, source=plant(old, new), query_scale=4.0) > 2


@pytest.mark.emulation
@pytest.mark.parametrize("which", ["K is here for all", "V is here for all"])
def test_missing_barrier_is_seen(which):
    line = next(text for text in SOURCE.splitlines() if which in text)
    with pytest.raises(EmulationError, match="thread orders"):
        run_prefill(17, 130, source=plant(line, ""), orders=(0, 3))


@pytest.mark.emulation
@pytest.mark.skipif(find_nvrtc() is None, reason="nvidia-cuda-nvrtc-cu12 is not installed")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3", "smollm2"])
def test_compiles_without_spills(sizes, arch):
    source = inline_includes(KERNELS / "attention_prefill.cu")
    _, kernels = compile_cubin(source, "attention_prefill.cu", arch, sizes.defines())
    assert {kernel.name for kernel in kernels} == set(ENTRIES)
    assert [kernel for kernel in kernels if kernel.spill_bytes] == []
