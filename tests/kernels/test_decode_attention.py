"""decode_attention.cu against float64: norm, rotation, where k and v land, attention, joining."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import EmulationError, Sizes, from_bf16, load_kernels, to_bf16
from tests.kernels.emulation.build import KERNELS
from tests.kernels.oracle_attention import NAN_BF16, PAGE_TOKENS, attention_of_values, paged_cache

THETA = 1e6
SOURCE = (KERNELS / "decode_attention.cu").read_text()
NORMED = Sizes(NH=4, NKV=2, HD=32)
PLAIN = Sizes(NH=4, NKV=2, HD=32, QK_NORM=0)
ORDERS = (0, 1, 2, 3)
UNTOUCHED = 0xFFFF  # what Guarded arrays start as, in 16 bits


class Step:
    """One decode step: a new token at `positions[b]` of `slots[b]`, after as many random ones.

    The rows of the new tokens, and all rows past them, hold NaN. There is room for `steps` tokens:
    the rope table and the pages end there.
    """

    def __init__(
        self, positions, *, slots=None, sizes=NORMED, splits=4, sharpness=1.0, steps=1
    ) -> None:
        self.sizes, self.splits, self.positions = sizes, splits, list(positions)
        self.slots = list(range(len(positions))) if slots is None else slots
        lengths = [1] * (max(self.slots) + 1)
        for slot, position in zip(self.slots, positions, strict=True):
            lengths[slot] = max(lengths[slot], position + steps)
        self.cache = paged_cache(sizes, lengths, seed=sum(positions) + 1000)
        for slot, position in zip(self.slots, positions, strict=True):
            for new in range(position, position + steps) if position >= 0 else ():
                page, row = self.place(slot, new)
                self.cache.k_pool[page, :, row] = self.cache.v_pool[page, :, row] = NAN_BF16
        rng = np.random.default_rng([7, len(positions)])
        heads, rows = sizes.NH + 2 * sizes.NKV, len(positions)
        self.qkv = rng.standard_normal((rows, heads * sizes.HD)).astype(np.float32)
        self.qkv[:, : sizes.NH * sizes.HD] *= sharpness
        self.q_norm = to_bf16(sharpness * rng.uniform(0.5, 2, sizes.HD))
        self.k_norm = to_bf16(rng.uniform(0.5, 2, sizes.HD))
        if not sizes.QK_NORM:  # must not be read
            self.q_norm = self.k_norm = np.full(1, UNTOUCHED, np.uint16)
        self.rope_table = oracle.rope_table(max(0, max(positions)) + steps, sizes.HD, THETA)
        self.k_pool, self.v_pool = self.cache.k_pool.copy(), self.cache.v_pool.copy()
        self.out = Guarded((rows, sizes.NH, sizes.HD), np.uint16)
        self.partial_out = Guarded((rows, sizes.NH, splits, sizes.HD), np.float32)
        self.partial_max = Guarded((rows, sizes.NH, splits), np.float32)
        self.partial_sum = Guarded((rows, sizes.NH, splits), np.float32)
        self.arrivals = Guarded((rows, sizes.NKV), np.uint32)
        self.arrivals.array[...] = 0

    def place(self, slot: int, position: int) -> tuple[int, int]:
        """Page and row of a position."""
        page = self.cache.block_table[slot, position // PAGE_TOKENS]
        return int(page), position % PAGE_TOKENS

    def advance(self) -> None:
        """Go on to the next position, after what the launch has appended."""
        for slot, position in zip(self.slots, self.positions, strict=True):
            page, row = self.place(slot, position)
            self.cache.keys[slot][position] = from_bf16(self.k_pool[page, :, row])
            self.cache.values[slot][position] = from_bf16(self.v_pool[page, :, row])
        self.cache.k_pool[...], self.cache.v_pool[...] = self.k_pool, self.v_pool
        self.positions = [position + 1 for position in self.positions]
        rng = np.random.default_rng(self.positions)
        self.qkv[...] = rng.standard_normal(self.qkv.shape)

    def launch(self, *, arch=900, source=None, **options) -> None:
        kernels = load_kernels(
            "decode_attention.cu",
            self.sizes,
            arch=arch,
            source=source,
            defines={"ATTENTION_SPLITS": self.splits},
        )
        outputs = [self.out, self.partial_out, self.partial_max, self.partial_sum, self.arrivals]
        args = [guarded.array for guarded in outputs]
        args += [self.k_pool, self.v_pool, self.qkv, self.q_norm, self.k_norm, self.rope_table]
        args += [np.array(self.positions, np.int32), np.array(self.slots, np.int32)]
        args += [self.cache.block_table, np.int32(self.cache.block_table.shape[1])]
        grid = (self.splits, self.sizes.NKV, len(self.positions))
        kernels.launch("decode_attention_bf16", grid, (256,), args, **options)
        for guarded in outputs:
            guarded.assert_guards_intact()

    def new_token(self, b: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Float64 q, k (normed, not rotated) and v of row b, [heads, HD]."""
        s = self.sizes
        heads = self.qkv[b].reshape(-1, s.HD).astype(np.float64)
        q, k, v = np.split(heads, [s.NH, s.NH + s.NKV])
        if s.QK_NORM:
            q = oracle.rms_norm(q, from_bf16(self.q_norm), s.RMS_NORM_EPS)
            k = oracle.rms_norm(k, from_bf16(self.k_norm), s.RMS_NORM_EPS)
        return q, k, v

    def check(self) -> None:
        """Everything that the launch must have written, and that it wrote nothing else."""
        self.check_cache()
        self.check_output()
        self.check_scratch()

    def check_cache(self) -> None:
        k_expected, v_expected = self.cache.k_pool.copy(), self.cache.v_pool.copy()
        for b, (slot, position) in enumerate(zip(self.slots, self.positions, strict=True)):
            if position < 0:
                continue
            page, row = self.place(slot, position)
            _, k, v = self.new_token(b)
            found = self.k_pool[page, :, row]
            assert_rounded(found, oracle.rotate(k, position, THETA), pair_lengths(k))
            k_expected[page, :, row] = found
            v_expected[page, :, row] = to_bf16(v.astype(np.float32))
        np.testing.assert_array_equal(self.k_pool, k_expected)
        np.testing.assert_array_equal(self.v_pool, v_expected)

    def check_output(self) -> None:
        for b, (slot, position) in enumerate(zip(self.slots, self.positions, strict=True)):
            if position < 0:
                assert (self.out.array[b] == UNTOUCHED).all(), "an idle row was written"
                continue
            page, row = self.place(slot, position)
            q = oracle.rotate(self.new_token(b)[0], position, THETA)
            # The new token's row as the cache holds it; check_cache has compared it.
            keys = self.cache.keys[slot][: position + 1].copy()
            values = self.cache.values[slot][: position + 1].copy()
            keys[position] = from_bf16(self.k_pool[page, :, row])
            values[position] = from_bf16(self.v_pool[page, :, row])
            expected = attention_of_values(q[None], keys, values, np.array([position]))[0]
            # One rounding, and a little of the largest |v| for fp32 sums and exponentials.
            tolerance = oracle.BF16_EPS * np.abs(expected) + 2.0**-14 * np.abs(values).max()
            assert_close(from_bf16(self.out.array[b]), expected, tolerance)

    def check_scratch(self) -> None:
        assert not self.arrivals.array.any(), "arrivals do not end as 0"
        for b, position in enumerate(self.positions):
            active = min(-(-position // PAGE_TOKENS), self.splits)
            used = active if active > 1 else 0  # one share alone goes straight to the output
            for guarded in (self.partial_out, self.partial_max, self.partial_sum):
                unwritten = guarded.array[b].view(np.uint32) == 0xFFFFFFFF
                assert not unwritten[:, :used].any(), "a share was not written"
                assert unwritten[:, used:].all(), "a share without positions was written"


def pair_lengths(x: np.ndarray) -> np.ndarray:
    """Lengths of the pairs that rotate, which fp32 errors of the result go with; as x."""
    half = x.shape[-1] // 2
    return np.tile(np.hypot(x[:, :half], x[:, half:]), 2)


def assert_rounded(found: np.ndarray, expected: np.ndarray, size: np.ndarray) -> None:
    """Fail unless `found` is `expected` rounded to bf16, up to an fp32 error before rounding."""
    error = 8 * oracle.FP32_EPS * size
    low, high = (from_bf16(to_bf16((expected + e).astype(np.float32))) for e in (-error, error))
    values = from_bf16(found)
    wrong = ~((values >= low) & (values <= high))
    assert not wrong.any(), f"{values[wrong]} is not the rounding of {expected[wrong]}"


def run(positions, *, arch=900, source=None, orders=(0,), sanitize=False, **case) -> Step:
    step = Step(positions, **case)
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
        alone = Step([300, 5, 64], slots=[1, 2, 0])
        alone.positions = [p if i == b else -1 for i, p in enumerate(alone.positions)]
        alone.launch(orders=(0,))
        np.testing.assert_array_equal(alone.out.array[b], together.out.array[b])


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
def test_a_reply_reads_back_what_it_appended_across_pages(sizes):
    step = Step([60, 190], sizes=sizes, splits=2, steps=10)
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
    step = Step([130, 130], sizes=PLAIN)
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
    apart, together = Step([330, 5]), Step([330, 5])
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
