"""attention_decode.cu on the CPU emulation against float64, and compiled for every architecture."""

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

GUARD = 64
# A NaN that no arithmetic makes: what still holds these bits was not written.
UNWRITTEN = np.array(0x7FC0BEEF, np.uint32).view(np.float32)
SOURCE = (KERNELS / "attention_decode.cu").read_text()
SMALL = Sizes(NH=4, NKV=2, HD=32)


def run_decode(
    positions,
    *,
    slots=None,
    sizes=SMALL,
    splits=4,
    arch=900,
    orders=(0,),
    sanitize=False,
    source=None,
    query_scale=1.0,
):
    """Worst ratio of error to tolerance over all slots; also checks what must stay unwritten."""
    B = len(positions)
    slots = list(range(B)) if slots is None else slots
    lengths = [1] * (max(slots) + 1)
    for slot, position in zip(slots, positions, strict=True):
        lengths[slot] = max(lengths[slot], position + 1)
    cache = paged_cache(sizes, lengths, seed=sum(positions) + 1000)
    random = np.random.default_rng(B)
    q = to_bf16(query_scale * random.standard_normal((B, sizes.NH, sizes.HD)))
    guard = 0 if sanitize else GUARD
    shares = B * sizes.NH * splits
    partial_out = np.full(shares * sizes.HD + guard, UNWRITTEN)
    partial_max = np.full(shares + guard, UNWRITTEN)
    partial_sum = np.full(shares + guard, UNWRITTEN)
    out = np.full(q.size + guard, NAN_BF16)
    kernels = load_kernels(
        "attention_decode.cu",
        sizes,
        arch=arch,
        source=source,
        defines={"ATTENTION_SPLITS": splits},
    )
    partials = [partial_out, partial_max, partial_sum]
    inputs = [q, cache.k_pool, cache.v_pool, cache.block_table]
    state = [np.array(positions, np.int32), np.array(slots, np.int32)]
    kernels.launch(
        "attention_decode_bf16",
        grid=(splits, sizes.NKV, B),
        block=(256,),
        args=[*partials, *inputs, *state, np.int32(cache.block_table.shape[1])],
        orders=orders,
        sanitize=sanitize,
    )
    kernels.launch(
        "attention_merge_bf16",
        grid=(sizes.NH, B),
        block=(sizes.HD,),
        args=[out, *partials, np.int32(B)],
        orders=orders,
        sanitize=sanitize,
    )
    for array, used in zip(partials, [shares * sizes.HD, shares, shares], strict=True):
        unwritten = array.view(np.uint32) == UNWRITTEN.view(np.uint32)
        assert not unwritten[:used].any(), "a partial result was not written"
        assert unwritten[used:].all(), "wrote past the end of a partial result"
    assert (out[q.size :] == NAN_BF16).all(), "wrote past the end of out"
    found = (out[: q.size].astype(np.uint32) << 16).view(np.float32).reshape(q.shape)
    worst = 0.0
    for b, (slot, position) in enumerate(zip(slots, positions, strict=True)):
        values = cache.values[slot]
        expected = np.zeros((1, sizes.NH, sizes.HD))
        if position >= 0:
            expected = attention(q[b : b + 1], cache.keys[slot], values, np.array([position]))
        error = np.abs(found[b] - expected[0]) / attention_tolerance(values, False)
        worst = max(worst, float(np.max(np.nan_to_num(error, nan=np.inf))))
    return worst


@pytest.mark.parametrize("position", [0, 100])
def test_decode_matches_float64(position):
    assert run_decode([position]) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("splits", [1, 4, 16])
@pytest.mark.parametrize("position", [0, 1, 62, 63, 64, 127, 128, 200, 319, 320])
def test_every_position_and_number_of_shares(position, splits):
    assert run_decode([position], splits=splits) <= 1


@pytest.mark.emulation
def test_more_pages_than_shares_are_dealt_evenly():
    assert run_decode([64 * 19 + 5], splits=3, sizes=Sizes(NH=2, NKV=1, HD=32)) <= 1


@pytest.mark.emulation
def test_last_position_of_the_longest_context():
    assert run_decode([40959], splits=16, sizes=Sizes(NH=1, NKV=1, HD=32)) <= 1


@pytest.mark.emulation
def test_slots_of_different_lengths_do_not_mix():
    assert run_decode([70, 0, 130], slots=[2, 0, 1]) <= 1


@pytest.mark.emulation
def test_several_tokens_of_one_sequence():
    assert run_decode([64, 65, 66], slots=[0, 0, 0]) <= 1


@pytest.mark.emulation
def test_idle_slot_gets_zeros():
    assert run_decode([-1, 65], slots=[0, 1]) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(NH=6, NKV=2, HD=64),  # three heads to a group, as SmolLM2
        Sizes(NH=4, NKV=2, HD=128),  # Qwen3
        Sizes(NH=8, NKV=1, HD=128),
        Sizes(NH=2, NKV=2, HD=80),  # ten chunks on sixteen lanes
        Sizes(NH=2, NKV=1, HD=256),
    ],
    ids=lambda sizes: f"HD{sizes.HD}-group{sizes.NH // sizes.NKV}",
)
def test_head_dims_and_groups(sizes):
    assert run_decode([130], sizes=sizes, splits=2) <= 1


@pytest.mark.emulation
def test_sharp_scores_keep_their_accuracy():
    assert run_decode([400], query_scale=25.0) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
def test_result_does_not_depend_on_thread_order(arch):
    assert run_decode([130, 5], arch=arch, orders=(0, 1, 2, 3)) <= 1


@pytest.mark.emulation
def test_reads_and_writes_stay_inside_the_arrays():
    assert run_decode([130, 5], sanitize=True) <= 1


def plant(old, new):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    return SOURCE.replace(old, new)


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int end_page = (split + 1) * pages", "int end_page = (split + 1) * (pages - 1)"),
        ("int visible = positions[b] + 1;", "int visible = positions[b];"),
        ("int visible = positions[b] + 1;", "int visible = positions[b] + 2;"),
        ("static_cast<size_t>(blockIdx.y) * PAGE_TOKENS", "static_cast<size_t>(0) * PAGE_TOKENS"),
        ("shares[g].out[d] *= correction;", ""),
        ("weight * warp_sum[w][g]", "warp_sum[w][g]"),
        ("value += weight *", "value +="),
        ("slots[b]) * max_pages", "b) * max_pages"),
    ],
    ids=["split", "last", "ahead", "kv head", "rescale", "warps", "merge", "slot"],
)
def test_planted_fault_is_seen(old, new):
    source = plant(old, new)
    worst = run_decode([5, 260], slots=[1, 0], splits=2, source=source, query_scale=4.0)
    assert worst > 2


@pytest.mark.emulation
def test_missing_barrier_is_seen():
    with pytest.raises(EmulationError, match="thread orders"):
        run_decode([130], source=plant("    __syncthreads();\n", ""), orders=(0, 1, 2))


@pytest.mark.emulation
@pytest.mark.skipif(find_nvrtc() is None, reason="nvidia-cuda-nvrtc-cu12 is not installed")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3", "smollm2"])
def test_compiles_without_spills(sizes, arch):
    source = inline_includes(KERNELS / "attention_decode.cu")
    _, kernels = compile_cubin(source, "attention_decode.cu", arch, sizes.defines())
    assert {k.name for k in kernels} == {"attention_decode_bf16", "attention_merge_bf16"}
    assert [kernel for kernel in kernels if kernel.spill_bytes] == []
