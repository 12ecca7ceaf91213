"""qk_norm_rope.cu against float64: norms, rotation, and where k and v land."""

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import Sizes, from_bf16, load_kernels, to_bf16

THETA = 1e6
QWEN_HEADS = Sizes(E=64, NH=16, NKV=8, HD=128)
SMOL_HEADS = Sizes(E=64, NH=9, NKV=3, HD=64, QK_NORM=0)
TABLES = {hd: oracle.rope_table(40960, hd, THETA) for hd in (8, 64, 128)}


class Case:
    """Random inputs for tokens at (slot, position) pairs; pages are shuffled over the slots."""

    def __init__(self, sizes: Sizes, places: list[tuple[int, int]], max_pages: int) -> None:
        rng = np.random.default_rng(7)
        self.sizes, self.places, self.max_pages = sizes, places, max_pages
        self.slots = np.array([slot for slot, _ in places], np.int32)
        self.positions = np.array([position for _, position in places], np.int32)
        slot_count = int(self.slots.max()) + 1
        # Only pages that are used exist; the others of the table point far outside.
        self.block_table = np.full((slot_count, max_pages), 10**6, np.int32)
        used = sorted({(slot, position // 64) for slot, position in places if position >= 0})
        for page, (slot, index) in zip(rng.permutation(len(used)), used, strict=True):
            self.block_table[slot, index] = page
        heads = sizes.NH + 2 * sizes.NKV
        self.qkv = rng.normal(0, 3, (len(places), heads * sizes.HD)).astype(np.float32)
        self.q_norm = to_bf16(rng.uniform(0.5, 2, sizes.HD))
        self.k_norm = to_bf16(rng.uniform(0.5, 2, sizes.HD))
        pool = (max(1, len(used)), sizes.NKV, 64, sizes.HD)
        self.q = Guarded((len(places), sizes.NH, sizes.HD), np.uint16)
        self.k_pool, self.v_pool = Guarded(pool, np.uint16), Guarded(pool, np.uint16)

    def launch(self, **options) -> None:
        s, tokens = self.sizes, len(self.places)
        args = [self.q.array, self.k_pool.array, self.v_pool.array, self.qkv, self.q_norm]
        args += [self.k_norm, TABLES[s.HD], self.positions, self.slots, self.block_table]
        args += [np.int32(tokens), np.int32(self.max_pages)]
        grid = (tokens, (s.NH + 2 * s.NKV + 3) // 4)
        load_kernels("qk_norm_rope.cu", s).launch(
            "qk_norm_rope_bf16", grid, (128,), args, **options
        )

    def check(self) -> None:
        s = self.sizes
        written = np.zeros(self.k_pool.array.shape[:3], bool)
        for t, (slot, position) in enumerate(self.places):
            if position < 0:
                continue
            heads = self.qkv[t].reshape(-1, s.HD).astype(np.float64)
            q, k, v = np.split(heads, [s.NH, s.NH + s.NKV])
            if s.QK_NORM:
                q = oracle.rms_norm(q, from_bf16(self.q_norm), s.RMS_NORM_EPS)
                k = oracle.rms_norm(k, from_bf16(self.k_norm), s.RMS_NORM_EPS)
            page = self.block_table[slot, position // 64]
            place = (page, slice(None), position % 64)
            written[place] = True
            self._check_rotated(self.q.array[t], q, position)
            self._check_rotated(self.k_pool.array[place], k, position)
            np.testing.assert_array_equal(self.v_pool.array[place], to_bf16(v.astype(np.float32)))
        for pool in (self.k_pool, self.v_pool):
            assert (pool.array[~written] == 0xFFFF).all(), "a row of another token was written"
        for guarded in (self.q, self.k_pool, self.v_pool):
            guarded.assert_guards_intact()

    def _check_rotated(self, found: np.ndarray, x: np.ndarray, position: int) -> None:
        expected = oracle.rotate(x, position, THETA)
        half = self.sizes.HD // 2
        # fp32 errors go with the length of the rotated pair, the bf16 rounding with the result.
        length = np.tile(np.hypot(x[:, :half], x[:, half:]), 2)
        tolerance = oracle.BF16_EPS * np.abs(expected) + 8 * oracle.FP32_EPS * length
        assert_close(from_bf16(found), expected, tolerance)


def test_first_tokens_of_two_slots():
    case = Case(Sizes(NH=2, NKV=1, HD=64), [(0, 0), (0, 1), (1, 0)], 2)
    case.launch()
    case.check()


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [QWEN_HEADS, SMOL_HEADS, Sizes(NH=3, NKV=3, HD=8)])
def test_positions_to_the_end_of_the_context(sizes):
    places = [(1, p) for p in (0, 1, 63, 64, 32767, 40958, 40959)] + [(0, 40959)]
    case = Case(sizes, places, 640)
    case.launch()
    case.check()


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [QWEN_HEADS, SMOL_HEADS])
def test_a_whole_chunk_of_one_slot_fills_its_pages(sizes):
    case = Case(sizes, [(0, 60 + i) for i in range(70)], 3)
    case.launch(orders=(0, 2))
    case.check()


def test_an_idle_row_appends_nothing():
    case = Case(Sizes(NH=2, NKV=1, HD=64), [(0, -1), (0, 5)], 1)
    case.launch()
    case.check()


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [QWEN_HEADS, SMOL_HEADS])
def test_clean_under_the_sanitizer_at_the_last_position(sizes):
    case = Case(sizes, [(0, 40959), (0, -1)], 640)
    case.launch(sanitize=True)
    case.check()
