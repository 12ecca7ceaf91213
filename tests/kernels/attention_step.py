"""One decode step's attention: inputs, launch, and all that it must have written, in float64."""

from __future__ import annotations

import numpy as np

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import Sizes, from_bf16, load_kernels, to_bf16
from tests.kernels.oracle_attention import NAN_BF16, PAGE_TOKENS, attention_of_values, paged_cache

THETA = 1e6
NORMED = Sizes(NH=4, NKV=2, HD=32)
PLAIN = Sizes(NH=4, NKV=2, HD=32, QK_NORM=0)
UNTOUCHED = 0xFFFF  # what Guarded arrays start as, in 16 bits


class AttentionStep:
    """One decode step: a new token at `positions[b]` of `slots[b]`, after as many random ones.

    The rows of the new tokens, and all rows past them, hold NaN. There is room for `steps` tokens:
    the rope table and the pages end there. `product_size` is what fp32 errors of q, k and v go with
    where the launch makes them itself.
    """

    product_size = 0.0

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
            size = pair_lengths(k) + self.product_size
            assert_rounded(found, oracle.rotate(k, position, THETA), size)
            k_expected[page, :, row] = found
            if self.product_size:
                assert_rounded(self.v_pool[page, :, row], v, np.abs(v) + self.product_size)
                v_expected[page, :, row] = self.v_pool[page, :, row]
            else:
                v_expected[page, :, row] = to_bf16(v.astype(np.float32))
        np.testing.assert_array_equal(self.k_pool, k_expected)
        np.testing.assert_array_equal(self.v_pool, v_expected)

    def attention(self, b: int) -> tuple[np.ndarray, float]:
        """Float64 attention of row b, [NH, HD], and its error from fp32 sums and exponentials."""
        slot, position = self.slots[b], self.positions[b]
        page, row = self.place(slot, position)
        q = oracle.rotate(self.new_token(b)[0], position, THETA)
        # The new token's row as the cache holds it; check_cache has compared it.
        keys = self.cache.keys[slot][: position + 1].copy()
        values = self.cache.values[slot][: position + 1].copy()
        keys[position] = from_bf16(self.k_pool[page, :, row])
        values[position] = from_bf16(self.v_pool[page, :, row])
        expected = attention_of_values(q[None], keys, values, np.array([position]))[0]
        return expected, 2.0**-14 * np.abs(values).max()

    def check_output(self) -> None:
        for b, position in enumerate(self.positions):
            if position < 0:
                assert (self.out.array[b] == UNTOUCHED).all(), "an idle row was written"
                continue
            expected, error = self.attention(b)
            tolerance = oracle.BF16_EPS * np.abs(expected) + error
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
