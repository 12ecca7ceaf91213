"""decode_attention.cu against float64: norm, rotation, where k and v land, attention, joining."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernels.attention_step import NORMED, PLAIN, AttentionStep
from tests.kernels.emulation import EmulationError, Sizes, from_bf16
from tests.kernels.emulation.build import source_with

SOURCE = source_with("decode_attention.cu", "head_rotation.cuh")
ORDERS = (0, 1, 2, 3)


def run(positions, *, arch=900, source=None, orders=(0,), sanitize=False, **case) -> AttentionStep:
    step = AttentionStep(positions, **case)
    step.launch(arch=arch, source=source, orders=orders, sanitize=sanitize)
    step.check()
    return step


@pytest.mark.parametrize("positions", [[0], [-1, 130]], ids=["first token", "idle and joined"])
def test_matches_float64(positions):
    run(positions)


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
@pytest.mark.parametrize("splits", [1, 4, 32])
@pytest.mark.parametrize("position", [0, 1, 62, 63, 64, 65, 127, 128, 129, 192, 256, 257, 320])
def test_every_position_and_number_of_shares(position, splits, sizes):
    run([position], splits=splits, sizes=sizes)


@pytest.mark.emulation
@pytest.mark.parametrize("splits", [1, 3, 16])
@pytest.mark.parametrize("position", [64 * 51, 64 * 64 + 5])
def test_more_pages_than_shares_are_dealt_evenly(position, splits):
    run([position], splits=splits, sizes=Sizes(NH=2, NKV=1, HD=32))


@pytest.mark.emulation
def test_last_position_of_the_longest_context():
    run([40959], splits=32, sizes=Sizes(NH=1, NKV=1, HD=32))


@pytest.mark.emulation
def test_slots_of_different_lengths_do_not_mix():
    run([70, 0, 130, 64], slots=[2, 0, 4, 1])


@pytest.mark.emulation
@pytest.mark.parametrize("idle", [0, 1, 2])
def test_an_idle_row_leaves_output_cache_and_scratch_alone(idle):
    positions = [65, 200, 3]
    positions[idle] = -1
    run(positions, slots=[2, 0, 1], orders=ORDERS)


@pytest.mark.emulation
def test_a_step_without_any_active_row_writes_nothing():
    run([-1, -1], orders=ORDERS)


@pytest.mark.emulation
def test_a_row_does_not_depend_on_the_batch():
    together = run([300, 5, 64], slots=[1, 2, 0])
    for b in range(3):
        alone = AttentionStep([300, 5, 64], slots=[1, 2, 0])
        alone.positions = [p if i == b else -1 for i, p in enumerate(alone.positions)]
        alone.launch(orders=(0,))
        np.testing.assert_array_equal(alone.out.array[b], together.out.array[b])


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
def test_a_reply_reads_back_what_it_appended_across_pages(sizes):
    step = AttentionStep([60, 190], sizes=sizes, splits=2, steps=10)
    for _ in range(10):
        step.launch(orders=(0,))
        step.check_cache()
        step.check_output()
        assert not step.arrivals.array.any()
        step.advance()


@pytest.mark.emulation
@pytest.mark.parametrize("position", [0, 63, 130])
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(NH=1, NKV=1, HD=32),
        Sizes(NH=6, NKV=2, HD=64, QK_NORM=0),  # three heads to a group, as SmolLM2
        Sizes(NH=4, NKV=2, HD=128),  # Qwen3
        Sizes(NH=8, NKV=1, HD=128),
        Sizes(NH=7, NKV=1, HD=48),  # six chunks on eight lanes
        Sizes(NH=10, NKV=2, HD=80, QK_NORM=0),  # ten chunks on sixteen lanes
        Sizes(NH=6, NKV=1, HD=96),
        Sizes(NH=4, NKV=2, HD=192),
        Sizes(NH=4, NKV=1, HD=256),
    ],
    ids=lambda sizes: f"HD{sizes.HD}-group{sizes.NH // sizes.NKV}",
)
def test_head_dims_and_groups(sizes, position):
    run([position], sizes=sizes, splits=2)


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
def test_sharp_scores_keep_their_accuracy(sizes):
    run([400], sharpness=10.0, sizes=sizes)


@pytest.mark.emulation
@pytest.mark.parametrize("part", ["q", "k", "v"])
def test_what_is_not_finite_stays_visible_in_its_own_row(part):
    step = AttentionStep([130, 130], sizes=PLAIN)
    step.launch(orders=(0,))
    clean = from_bf16(step.out.array)
    heads = step.qkv[0].reshape(-1, step.sizes.HD)
    first = {"q": 0, "k": step.sizes.NH, "v": step.sizes.NH + step.sizes.NKV}[part]
    heads[first, 3] = np.nan
    step.launch(orders=(0,))
    found = from_bf16(step.out.array)
    np.testing.assert_array_equal(found[1], clean[1])
    spoiled = found[0, 0, 3] if part == "v" else found[0, 0]
    assert np.isnan(spoiled).all()


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
def test_result_does_not_depend_on_the_order_of_threads_and_blocks(sizes, arch):
    run([330, 5], arch=arch, sizes=sizes, orders=(*ORDERS, 4, 5))


@pytest.mark.emulation
def test_result_does_not_depend_on_blocks_that_run_together():
    apart, together = AttentionStep([330, 5]), AttentionStep([330, 5])
    apart.launch(orders=(0,))
    together.launch(orders=ORDERS, resident=True)
    together.check()
    np.testing.assert_array_equal(apart.out.array, together.out.array)


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN, Sizes(NH=5, NKV=1, HD=80)], ids=str)
@pytest.mark.parametrize("positions", [[130, 5], [63, -1], [0, 64]], ids=str)
def test_reads_and_writes_stay_inside_the_arrays(positions, sizes):
    run(positions, sizes=sizes, sanitize=True)


def plant(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    return SOURCE.replace(old, new)


FAULTS = {
    "split": ("(split + 1) * count / active", "(split + 1) * (count - 1) / active"),
    "cached": ("position};", "position - 1};"),
    "ahead": ("position};", "position + 1};"),
    "kv head": ("<size_t>(blockIdx.y) * PAGE_TOKENS", "<size_t>(0) * PAGE_TOKENS"),
    "rows of a unit": ("unit % PAGE_UNITS * UNIT", "unit % PAGE_UNITS"),
    "rescale": ("shares[g].out[d] *= correction;", ""),
    "warps": ("weight * shared.sum[w][g]", "shared.sum[w][g]"),
    "merge": ("shared.scale[g][s] * load_from_l2", "load_from_l2"),
    "slot": ("(slots[b]) * max_pages", "(b) * max_pages"),
    "new token": ("{largest, token, token * shared.v[d]}", "{largest, 0.0f, 0.0f}"),
    "scale of the new token": ("dot * SOFTMAX_SCALE : NO_SCORE", "dot : NO_SCORE"),
    "newest everywhere": ("newest = split == active - 1", "newest = true"),
    "page of the new row": ("table[position / PAGE_TOKENS]", "table[0]"),
    "row of the new row": ("PAGE_TOKENS + position % PAGE_TOKENS", "PAGE_TOKENS + position % 63"),
    "head of k": ("token + (NH + blockIdx.y) * HD", "token + NH * HD"),
    "head of v": ("(NH + NKV + blockIdx.y) * HD + i", "(NH + NKV) * HD + i"),
    "k not rounded": ("shared.k[i] = to_float(key);", "shared.k[i] *= 1.02f;"),
    "v of the cache": ("v_row[i] = value;", "v_row[i] = key;"),
    "rotation": ("y * rotation.angle[j].x + x", "y * rotation.angle[j].x - x"),
    "position of the angle": ("(position) * (HD / 2)", "(position - 1) * (HD / 2)"),
    "norm of k": ("has_key ? k_norm : q_norm", "q_norm"),
    "mean": ("warp_sum(squares) * (1.0f / HD)", "warp_sum(squares)"),
    "arrivals stay": ("*arrived = 0;", ""),
    "nobody is last": ("static_cast<unsigned>(active - 1)", "static_cast<unsigned>(active)"),
    "joined early": ("static_cast<unsigned>(active - 1)", "static_cast<unsigned>(active - 2)"),
    "row of arrivals": ("arrivals + b * NKV + blockIdx.y", "arrivals + blockIdx.y"),
}
# Heads so wide that a page is read in two parts.
FAULT_CASE = {
    "sizes": Sizes(NH=4, NKV=2, HD=128),
    "slots": [1, 0, 2],
    "splits": 3,
    "sharpness": 2.0,
    "orders": (0, 2),
}
FAULT_POSITIONS = [5, 330, 200]


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_is_seen(old, new):
    source = plant(old, new)
    with pytest.raises((AssertionError, EmulationError)):
        run(FAULT_POSITIONS, source=source, **FAULT_CASE)


@pytest.mark.emulation
def test_the_case_of_the_planted_faults_is_right_without_them():
    run(FAULT_POSITIONS, **FAULT_CASE)


# Not the one before the arrival: the emulation runs a block to its next barrier before another.
BARRIERS = [m.span() for m in re.finditer(r"__syncthreads\(\);(?!\n    if \(threadIdx)", SOURCE)]


@pytest.mark.emulation
@pytest.mark.parametrize(("start", "end"), BARRIERS)
def test_missing_barrier_is_seen(start, end):
    source = SOURCE[:start] + SOURCE[end:]
    with pytest.raises((AssertionError, EmulationError)):
        run([330, 5], source=source, orders=ORDERS)
