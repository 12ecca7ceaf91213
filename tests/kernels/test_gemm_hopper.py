"""gemm_hopper.cu on the CPU emulation against float64: products and what follows each of them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import (
    EmulationError,
    SanitizerError,
    Sizes,
    from_bf16,
    load_kernels,
    to_bf16,
)
from tests.kernels.emulation.build import KERNELS
from tests.kernels.oracle_attention import product, product_tolerance

# Name: (TILE_T, TILE_N, threads, dynamic shared bytes), as in the header of gemm_hopper.cu.
ENTRIES = {
    "gemm_hopper_64x128": (64, 128, 128, 99328),
    "qkv_hopper_64x128": (64, 128, 128, 99328),
    "qkv_hopper_128x256": (128, 256, 256, 197632),
    "gate_up_hopper_64x128": (64, 128, 128, 99328),
    "gate_up_hopper_128x256": (128, 256, 256, 197632),
}
SOURCE = (KERNELS / "gemm_hopper.cu").read_text()
SIZES = Sizes(E=128, F=128, NH=2, NKV=1, HD=128)
THETA = 1e6
TABLE = oracle.rope_table(40960, 128, THETA)


def of(kind):
    return [name for name in ENTRIES if name.startswith(kind)]


def launch(entry, T, columns, args, sizes, *, parts=1, source=None, **options):
    tile_t, tile_n, threads, shared_bytes = ENTRIES[entry]
    load_kernels("gemm_hopper.cu", sizes, source=source).launch(
        entry,
        grid=(-(-T // tile_t), columns // tile_n, parts),
        block=(threads,),
        args=args,
        shared_bytes=shared_bytes,
        **options,
    )


def run_gemm(entry, T, N, K, *, parts=1, source=None, orders=(0,), sanitize=False):
    """Worst ratio of error to tolerance over all parts of k; checks guards."""
    random = np.random.default_rng(T * 1000 + N + K)
    x = to_bf16(random.standard_normal((T, K)))
    weight = to_bf16(random.standard_normal((N, K)))
    out = Guarded((parts, T, N), np.float32)
    args = [out.array, x, weight, *map(np.int32, (T, N, K))]
    options = {"parts": parts, "source": source, "orders": orders, "sanitize": sanitize}
    launch(entry, T, N, args, SIZES, **options)
    out.assert_guards_intact()
    worst = 0.0
    for part in range(parts):
        tiles = K // 64
        k = slice(tiles * part // parts * 64, tiles * (part + 1) // parts * 64)
        x_part, weight_part = x[:, k].copy(), weight[:, k].copy()
        error = np.abs(out.array[part] - product(x_part, weight_part))
        ratio = error / product_tolerance(x_part, weight_part)
        worst = max(worst, float(np.max(np.nan_to_num(ratio, nan=np.inf))))
    return worst


def test_header_states_the_launch_of_every_entry_point():
    rows = re.findall(r"^// +(\w+_hopper\w*) +(\d+) +(\d+) +(\d+) +([\d,]+)$", SOURCE, re.MULTILINE)
    stated = {name: tuple(int(n.replace(",", "")) for n in numbers) for name, *numbers in rows}
    assert stated == ENTRIES


def test_a_product_of_one_row_matches_float64():
    assert run_gemm("gemm_hopper_64x128", 1, 128, 64) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("entry", of("gemm"))
@pytest.mark.parametrize(
    ("T", "N", "K"), [(2, 128, 128), (63, 256, 192), (65, 128, 256), (130, 128, 576)]
)
def test_products_match_float64(entry, T, N, K):
    assert run_gemm(entry, T, N, K) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("entry", of("gemm"))
@pytest.mark.parametrize("parts", [2, 3, 5])
def test_parts_of_k_are_products_of_their_own(entry, parts):
    assert run_gemm(entry, 70, 128, 320, parts=parts) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("entry", of("gemm"))
def test_result_does_not_depend_on_thread_order(entry):
    assert run_gemm(entry, 66, 128, 448, orders=(0, 1, 2, 3)) <= 1


@pytest.mark.emulation
def test_reads_and_writes_stay_inside_the_arrays():
    assert run_gemm("gemm_hopper_64x128", 66, 128, 192, parts=2, sanitize=True) <= 1


class QkvCase:
    """`T` tokens from `first_position` on, in shuffled pages of one slot."""

    def __init__(self, sizes, T, first_position):
        rng = np.random.default_rng(T + first_position)
        self.sizes, self.T, self.first_position = sizes, T, first_position
        heads = sizes.NH + 2 * sizes.NKV
        self.x = to_bf16(rng.standard_normal((T, sizes.E)))
        self.weight = to_bf16(rng.standard_normal((heads * sizes.HD, sizes.E)))
        self.q_norm = to_bf16(rng.uniform(0.5, 2, sizes.HD))
        self.k_norm = to_bf16(rng.uniform(0.5, 2, sizes.HD))
        first_page, last_page = first_position // 64, (first_position + T - 1) // 64
        self.block_table_row = np.full(last_page + 1, 10**6, np.int32)
        pages = last_page - first_page + 1
        self.block_table_row[first_page:] = rng.permutation(pages)
        pool = (pages, sizes.NKV, 64, sizes.HD)
        self.q = Guarded((T, sizes.NH, sizes.HD), np.uint16)
        self.k_pool, self.v_pool = Guarded(pool, np.uint16), Guarded(pool, np.uint16)

    def launch(self, entry, **options):
        args = [self.q.array, self.k_pool.array, self.v_pool.array, self.x, self.weight]
        args += [self.q_norm, self.k_norm, TABLE, self.block_table_row]
        args += [np.int32(self.T), np.int32(self.first_position)]
        launch(entry, self.T, len(self.weight), args, self.sizes, **{"orders": (0,)} | options)

    def check(self):
        s = self.sizes
        sums = product(self.x, self.weight).reshape(self.T, -1, s.HD)
        slack = product_tolerance(self.x, self.weight).reshape(sums.shape).max()
        written = np.zeros(self.k_pool.array.shape[:3], bool)
        for t, heads in enumerate(sums):
            position = self.first_position + t
            q, k, v = np.split(heads, [s.NH, s.NH + s.NKV])
            place = (self.block_table_row[position // 64], slice(None), position % 64)
            written[place] = True
            self._check_head(self.q.array[t], q, self.q_norm, position, slack)
            self._check_head(self.k_pool.array[place], k, self.k_norm, position, slack)
            tolerance = oracle.BF16_EPS * np.abs(v) + slack
            assert_close(from_bf16(self.v_pool.array[place]), v, tolerance)
        for pool in (self.k_pool, self.v_pool):
            assert (pool.array[~written] == 0xFFFF).all(), "a row of another token was written"
        for guarded in (self.q, self.k_pool, self.v_pool):
            guarded.assert_guards_intact()

    def _check_head(self, found, x, norm, position, slack):
        if self.sizes.QK_NORM:
            scale = 2 / np.sqrt(np.mean(x * x, axis=-1, keepdims=True))
            x, slack = oracle.rms_norm(x, from_bf16(norm), self.sizes.RMS_NORM_EPS), slack * scale
        expected = oracle.rotate(x, position, THETA)
        length = np.tile(np.hypot(x[:, :64], x[:, 64:]), 2)
        tolerance = oracle.BF16_EPS * np.abs(expected) + 10 * oracle.FP32_EPS * length + 2 * slack
        assert_close(from_bf16(found), expected, tolerance)


@pytest.mark.emulation
@pytest.mark.parametrize("entry", of("qkv"))
@pytest.mark.parametrize(
    ("sizes", "T", "first_position"),
    [
        (Sizes(E=64, NH=4, NKV=2, HD=128), 3, 62),
        (Sizes(E=192, NH=4, NKV=1, HD=128, QK_NORM=0), 70, 40890),
        (Sizes(E=64, NH=2, NKV=2, HD=128), 130, 0),
    ],
)
def test_q_k_and_v_are_normed_rotated_and_appended(entry, sizes, T, first_position):
    case = QkvCase(sizes, T, first_position)
    case.launch(entry)
    case.check()


@pytest.mark.emulation
def test_qkv_does_not_depend_on_thread_order_and_stays_inside():
    for options in ({"orders": (0, 1, 3)}, {"sanitize": True}):
        case = QkvCase(SIZES, 5, 126)
        case.launch("qkv_hopper_64x128", **options)
        case.check()


def run_gate_up(entry, T, sizes=SIZES, source=None, scale=1.0, **options):
    rng = np.random.default_rng(T)
    x = to_bf16(scale * rng.standard_normal((T, sizes.E)))
    weight = to_bf16(rng.standard_normal((2 * sizes.F, sizes.E)))
    out = Guarded((T, sizes.F), np.uint16)
    args = [out.array, x, weight, np.int32(T)]
    launch(entry, T, 2 * sizes.F, args, sizes, source=source, **{"orders": (0,)} | options)
    out.assert_guards_intact()
    gate, up = np.split(product(x, weight), 2, axis=1)
    gate_slack, up_slack = np.split(product_tolerance(x, weight), 2, axis=1)
    expected = oracle.swiglu(gate, up)
    # |silu'| <= 1.1; the rest are roundings of the two factors and of the result.
    slack = 1.1 * gate_slack * np.abs(up) + up_slack * np.abs(gate) + 1e-30
    slack += 8 * oracle.FP32_EPS * np.abs(gate * up)
    assert_close(from_bf16(out.array), expected, oracle.BF16_EPS * np.abs(expected) + slack)


@pytest.mark.emulation
@pytest.mark.parametrize("entry", of("gate_up"))
@pytest.mark.parametrize(("T", "scale"), [(1, 1.0), (70, 0.1), (129, 20.0)])
def test_gates_and_ups_meet(entry, T, scale):
    run_gate_up(entry, T, Sizes(E=64, F=256, NH=2, NKV=1, HD=128), scale=scale)


@pytest.mark.emulation
def test_gate_up_does_not_depend_on_thread_order_and_stays_inside():
    run_gate_up("gate_up_hopper_64x128", 9, orders=(0, 1, 3))
    run_gate_up("gate_up_hopper_64x128", 9, sanitize=True)


def plant(old, new):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times in gemm_hopper.cu"
    return SOURCE.replace(old, new)


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tile + k > 0", "k > 0"),
        ("chunk ^ row % 8", "chunk"),
        ("next = tile + STAGES - 2", "next = tile + STAGES - 1"),
        ("wgmma_wait<0>();\n        settle", "settle"),
        ("cp_async_wait<STAGES - 3>()", "cp_async_wait<STAGES - 2>()"),
    ],
    ids=["forgets", "no swizzle", "one stage early", "no wait", "copy not here"],
)
def test_planted_fault_is_seen(old, new):
    try:
        worst = run_gemm("gemm_hopper_64x128", 17, 128, 448, source=plant(old, new))
    except AssertionError:
        return
    assert worst > 10


@pytest.mark.emulation
def test_rows_past_the_end_are_not_read():
    source = plant("pass * ROWS_PER_PASS < rows_left", "true")
    with pytest.raises(SanitizerError, match="heap-buffer-overflow"):
        run_gemm("gemm_hopper_64x128", 17, 128, 64, source=source, sanitize=True)


@pytest.mark.emulation
def test_missing_barrier_is_seen():
    source = plant("fence_for_tensor_core();\n            __syncthreads();", "")
    with pytest.raises(EmulationError, match="thread orders"):
        run_gemm("gemm_hopper_64x128", 17, 128, 448, source=source, orders=(0, 1, 3))
