"""wgmma.cuh on the emulation: descriptors, fragments and the order of starting and waiting."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.emulation import EmulationError, Sizes, from_bf16, load_kernels, to_bf16

# One warpgroup: out[64, 128] = a[64, K] * b[K, 128] (+ the same once more), b given as [128, K] or,
# transposed, as [K, 128].
SOURCE = """
#include "common.cuh"
#include "wgmma.cuh"

constexpr int K = 64;

__device__ void place(unsigned char* tile, const bf16* matrix, int rows, int columns) {
    for (int i = threadIdx.x; i < rows * columns; i += 128) {
        const int row = i / columns, column = i % columns;
        unsigned char* half = tile + column / 64 * rows * ROW_BYTES;
        const int chunk = column % 64 / 8 ^ row % 8;
        reinterpret_cast<bf16*>(half + row * ROW_BYTES + chunk * 16)[column % 8] = matrix[i];
    }
}

__device__ void store(float* out, const float (&sums)[64]) {
    for (int i = 0; i < 64; ++i) {
        const int row = lane_row() + i / 2 % 2 * 8;
        out[row * 128 + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = sums[i];
    }
}

extern "C" __global__ void __launch_bounds__(128)
    both_shared(float* out, const bf16* a, const bf16* b) {
    DYNAMIC_SHARED(unsigned char, unaligned);
    unsigned char* const shared = align_to_atom(unaligned);
    place(shared, a, 64, K);
    place(shared + 8192, b, 128, K);
    fence_for_tensor_core();
    __syncthreads();
    float sums[64];
    wgmma_begin();
    for (int step = 0; step < 2 * K / 16; ++step) {
        const int bytes = step % 4 * 32;
        wgmma(sums, advance(matrix_descriptor(shared), bytes),
              advance(matrix_descriptor(shared + 8192), bytes), step > 0);
    }
    wgmma_commit();
    wgmma_wait<0>();
    settle(sums);
    store(out, sums);
}

extern "C" __global__ void __launch_bounds__(128)
    a_in_registers(float* out, const bf16* a, const bf16* b) {
    DYNAMIC_SHARED(unsigned char, unaligned);
    unsigned char* const shared = align_to_atom(unaligned);
    place(shared, b, K, 128);
    fence_for_tensor_core();
    __syncthreads();
    float sums[64] = {};
    wgmma_begin();
    for (int step = 0; step < K / 16; ++step) {
        unsigned fragment[4];
        for (int part = 0; part < 4; ++part) {
            const int row = lane_row() + part % 2 * 8;
            const int column = step * 16 + part / 2 * 8 + threadIdx.x % 4 * 2;
            fragment[part] = *reinterpret_cast<const unsigned*>(a + row * K + column);
        }
        const unsigned long long operand = matrix_descriptor(shared, K * ROW_BYTES);
        wgmma_transposed(sums, fragment, advance(operand, step * 16 * ROW_BYTES));
    }
    wgmma_commit();
    wgmma_wait<0>();
    settle(sums);
    store(out, sums);
}
"""


def run(entry, source=SOURCE):
    """What the kernel computed and what it should have: a @ b, once or twice."""
    random = np.random.default_rng(1)
    a = to_bf16(random.integers(-8, 8, (64, 64)).astype(np.float32))
    b = to_bf16(random.integers(-8, 8, (64, 128)).astype(np.float32))
    shared = entry == "both_shared"
    given = np.ascontiguousarray(b.T) if shared else b
    out = np.full((64, 128), np.nan, np.float32)
    load_kernels(source=source, sizes=Sizes()).launch(
        entry, (1,), (128,), [out, a, given], shared_bytes=25600
    )
    return out, (2 if shared else 1) * from_bf16(a) @ from_bf16(b)


@pytest.mark.emulation
@pytest.mark.parametrize("entry", ["both_shared", "a_in_registers"])
def test_small_whole_numbers_are_multiplied_exactly(entry):
    found, expected = run(entry)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.emulation
@pytest.mark.parametrize("entry", ["both_shared", "a_in_registers"])
def test_sums_are_not_there_before_the_wait(entry):
    with pytest.raises(EmulationError, match="thread orders"):
        run(entry, SOURCE.replace("wgmma_wait<0>();", ""))


@pytest.mark.emulation
def test_an_operand_that_is_overwritten_too_early_shows():
    source = SOURCE.replace("wgmma_wait<0>();", "shared[0] = 1; wgmma_wait<0>();")
    with pytest.raises(EmulationError, match="thread orders"):
        run("both_shared", source)


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1ull << 62", "2ull << 62", "128-byte swizzle"),
        ("bytes = step % 4 * 32", "bytes = step * 8192", "outside dynamic shared memory"),
        ("wgmma_begin();", "if (threadIdx.x == 5) return; wgmma_begin();", "divergent"),
    ],
)
def test_what_the_device_forbids_is_an_error(old, new, message):
    from tests.kernels.emulation.build import KERNELS
    from tests.kernels.nvrtc import inline_includes

    header = inline_includes(KERNELS / "wgmma.cuh")
    source = SOURCE.replace('#include "wgmma.cuh"', header).replace(old, new)
    with pytest.raises(EmulationError, match=message):
        run("both_shared", source)


BARRIER = """
#include "common.cuh"
#include "wgmma.cuh"

extern "C" __global__ void __launch_bounds__(128) relay(int* out) {
    DYNAMIC_SHARED(unsigned long long, barriers);
    int* const values = reinterpret_cast<int*>(barriers + 2);
    const int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) {
        barrier_init(barriers, 32);
        barrier_init(barriers + 1, 96);
    }
    __syncthreads();
    for (int round = 0; round < 5; ++round) {
        if (warp == 0) {
            if (round > 0) {
                barrier_wait(barriers + 1, (round - 1) % 2);
            }
            values[threadIdx.x] = round * 100 + threadIdx.x;
            barrier_arrive(barriers);
        } else {
            barrier_wait(barriers, round % 2);
            out[round * 96 + threadIdx.x - 32] = values[threadIdx.x % 32];
            barrier_arrive(barriers + 1);
        }
    }
}
"""


@pytest.mark.emulation
def test_threads_that_wait_see_what_those_that_arrived_have_written():
    out = np.zeros((5, 3, 32), np.int32)
    kernels = load_kernels(source=BARRIER, sizes=Sizes())
    kernels.launch("relay", (1,), (128,), [out], shared_bytes=144, orders=(0, 1, 2, 3, 4))
    expected = np.arange(5)[:, None, None] * 100 + np.arange(32)
    np.testing.assert_array_equal(out, np.broadcast_to(expected, out.shape))


@pytest.mark.emulation
def test_a_wait_for_too_few_arrivals_never_ends():
    source = BARRIER.replace("barriers + 1, 96", "barriers + 1, 97")
    with pytest.raises(EmulationError, match="never ends"):
        load_kernels(source=source, sizes=Sizes()).launch(
            "relay", (1,), (128,), [np.zeros(480, np.int32)], shared_bytes=144
        )
