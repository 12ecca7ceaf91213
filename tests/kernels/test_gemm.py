"""gemm.cu on the CPU emulation against float64, and compiled for every architecture."""

from __future__ import annotations

import re

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
from tests.kernels.oracle_attention import product, product_tolerance

# Name: (TILE_T, TILE_N, threads, dynamic shared bytes), as in the header of gemm.cu.
ENTRIES = {
    "gemm_bf16_32x16": (32, 16, 256, 16384),
    "gemm_bf16": (64, 64, 128, 49152),
    "gemm_bf16_128x128": (128, 128, 128, 49152),
    "gemm_bf16_128x256": (128, 256, 256, 98304),
}
GUARD = 64
SOURCE = (KERNELS / "gemm.cu").read_text()


def run_gemm(entry, T, N, K, *, accumulate=0, arch=900, orders=(0,), sanitize=False, source=None):
    """Worst ratio of error to tolerance; also checks that only [T, N] was written."""
    tile_t, tile_n, threads, shared_bytes = ENTRIES[entry]
    random = np.random.default_rng(T * 1000 + N + K)
    x = to_bf16(random.standard_normal((T, K)))
    weight = to_bf16(random.standard_normal((N, K)))
    old = random.standard_normal((T, N)).astype(np.float32)
    out = np.full(T * N + (0 if sanitize else GUARD), np.nan, np.float32)
    if accumulate:
        out[: T * N] = old.ravel()
    load_kernels("gemm.cu", Sizes(), arch=arch, source=source).launch(
        entry,
        grid=(-(-T // tile_t), -(-N // tile_n)),
        block=(threads,),
        args=[out, x, weight, *map(np.int32, (T, N, K, accumulate))],
        shared_bytes=min(shared_bytes, 49152) if arch < 800 else shared_bytes,
        orders=orders,
        sanitize=sanitize,
    )
    assert np.isnan(out[T * N :]).all(), "wrote past the end of out"
    expected = product(x, weight) + (old if accumulate else 0)
    with np.errstate(over="ignore"):  # a planted fault may read anything
        error = np.abs(out[: T * N].reshape(T, N) - expected) / product_tolerance(x, weight)
    return float(np.max(np.nan_to_num(error, nan=np.inf)))


def test_header_states_the_launch_of_every_entry_point():
    rows = re.findall(r"^// +(gemm_bf16\w*) +(\d+) +(\d+) +(\d+) +([\d,]+)$", SOURCE, re.MULTILINE)
    stated = {name: tuple(int(n.replace(",", "")) for n in numbers) for name, *numbers in rows}
    assert stated == ENTRIES


@pytest.mark.parametrize("entry", ["gemm_bf16", "gemm_bf16_32x16"])
@pytest.mark.parametrize("T", [1, 17])
def test_product_matches_float64_at_edges(entry, T):
    assert run_gemm(entry, T, 24, 72) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("T", "N", "K"),
    [(1, 8, 8), (2, 72, 64), (15, 16, 136), (16, 64, 32), (63, 40, 24), (65, 72, 200)],
)
def test_every_entry_point_matches_float64(entry, arch, T, N, K):
    assert run_gemm(entry, T, N, K, arch=arch) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
def test_more_than_one_tile_each_way(entry, arch):
    tile_t, tile_n, _, _ = ENTRIES[entry]
    assert run_gemm(entry, tile_t + 2, tile_n + 8, 104, arch=arch) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
def test_accumulate_adds_to_what_is_there(entry, arch):
    assert run_gemm(entry, 17, 24, 40, accumulate=1, arch=arch) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
def test_result_does_not_depend_on_thread_order(entry, arch):
    assert run_gemm(entry, 33, 24, 200, arch=arch, orders=(0, 1, 2, 3)) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize("entry", ENTRIES)
def test_reads_and_writes_stay_inside_the_arrays(entry, arch):
    assert run_gemm(entry, 17, 24, 40, arch=arch, sanitize=True) <= 1


@pytest.mark.emulation
def test_smollm2_inputs_of_576():
    assert run_gemm("gemm_bf16", 3, 72, 576) <= 1


def plant(old, new):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times in gemm.cu"
    return SOURCE.replace(old, new)


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("entry", "old", "new"),
    [
        ("gemm_bf16", "k_tile * TILE_K < K; ++k_tile", "(k_tile + 1) * TILE_K < K; ++k_tile"),
        ("gemm_bf16", "stage + (x_place ^ step * 2)", "stage + (x_place + step * 2)"),
        ("gemm_bf16", "fragments.weight[j][1] = pair[1]", "fragments.weight[j][1] = pair[2]"),
        ("gemm_bf16", "&& columns_left > 0", ""),
        ("gemm_bf16_32x16", "for (int w = 0; w < WARPS; ++w)", "for (int w = 1; w < WARPS; ++w)"),
        ("gemm_bf16_32x16", "if (row >= rows || k >= K)", "if (row >= rows)"),
    ],
)
def test_planted_fault_is_seen(entry, old, new):
    assert run_gemm(entry, 17, 24, 72, source=plant(old, new)) > 10


@pytest.mark.emulation
def test_missing_barrier_is_seen():
    source = plant(
        "cp_async_wait<STAGES - 2>();\n                    __syncthreads();",
        "cp_async_wait<STAGES - 2>();",
    )
    with pytest.raises(EmulationError, match="thread orders"):
        run_gemm("gemm_bf16", 17, 24, 200, source=source, orders=(0, 1, 2))


@pytest.mark.emulation
@pytest.mark.skipif(find_nvrtc() is None, reason="nvidia-cuda-nvrtc-cu12 is not installed")
@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("sizes", [QWEN3_0_6B, SMOLLM2_135M], ids=["qwen3", "smollm2"])
def test_compiles_without_spills(sizes, arch):
    source = inline_includes(KERNELS / "gemm.cu")
    _, kernels = compile_cubin(source, "gemm.cu", arch, sizes.defines())
    assert {kernel.name for kernel in kernels} == set(ENTRIES)
    assert [kernel for kernel in kernels if kernel.spill_bytes] == []
