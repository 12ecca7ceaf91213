"""The emulation finds what CUDA leaves undefined: planted faults, each next to its sound twin."""

import numpy as np
import pytest

from tests.kernels.emulation import EmulationError, SanitizerError, load_kernels

HEAD = '#include "common.cuh"\n'

REVERSE = """
extern "C" __global__ void reverse(int* out, const int* in) {
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    %s
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
"""

SHIFT = """
extern "C" __global__ void shift(float* out, const float* in, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i + %d];
    }
}
"""

BODY = """
extern "C" __global__ void kernel(int* out) {
    __shared__ int tile[32];
    %s
    out[threadIdx.x] = 1;
}
"""


def launch(source: str, name: str, args: list, block: int = 64, grid: int = 1, **options) -> None:
    load_kernels(source=HEAD + source).launch(name, (grid,), (block,), args, **options)


def run_body(statement: str, block: int = 64, **options) -> None:
    launch(BODY % statement, "kernel", [np.zeros(block, np.int32)], block, **options)


def test_a_missing_barrier_shows_as_a_difference_between_thread_orders():
    values = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    launch(REVERSE % "__syncthreads();", "reverse", [out, values])
    np.testing.assert_array_equal(out, values[::-1])
    with pytest.raises(EmulationError, match="differs between thread orders"):
        launch(REVERSE % "", "reverse", [out, values])


DIVERGENT = {
    "some threads end": "if (threadIdx.x < 40) return; __syncthreads();",
    "some wait elsewhere": (
        "if (threadIdx.x < 32) {\n__syncthreads();\n} else {\n__syncthreads();\n}"
    ),
}


@pytest.mark.emulation
@pytest.mark.parametrize("statement", DIVERGENT.values(), ids=DIVERGENT.keys())
@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_divergent_barrier_is_named(statement, order):
    with pytest.raises(EmulationError, match=r"divergent barrier: thread \d+ of block .* waits in"):
        run_body(statement, orders=(order,))


def test_a_divergent_barrier_fails():
    with pytest.raises(EmulationError, match=r"divergent barrier.*has ended"):
        run_body("if (threadIdx.x == 63) return; __syncthreads();")


WARP_FAULTS = {
    "a lane never comes": ("if (threadIdx.x != 5) __syncwarp();", "divergent warp operation"),
    "lanes at different lines": (
        "if (threadIdx.x % 2) {\n__syncwarp();\n} else {\n__syncwarp();\n}",
        "divergent warp operation",
    ),
    "some wait at the barrier": (
        "if (threadIdx.x < 48) { __syncthreads(); } else { __syncwarp(); }",
        "divergent warp operation.*__syncthreads",
    ),
    "different masks": (
        "__syncwarp(threadIdx.x % 32 < 16 ? 0xFFFFu : 0xFFFFFFFFu);",
        "another mask|never|divergent warp operation",
    ),
    "not in the own mask": ("__syncwarp(0xFFFEu);", "not in its own mask"),
    "reading a lane outside the mask": (
        "if (threadIdx.x % 32 < 16) out[0] = __shfl_sync(0xFFFFu, 1, 20);",
        "reads lane 20, which takes no part",
    ),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("statement", "message"), WARP_FAULTS.values(), ids=WARP_FAULTS.keys())
@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_wrong_warp_operation_fails(statement, message, order):
    with pytest.raises(EmulationError, match=message):
        run_body(statement, orders=(order,))


@pytest.mark.emulation
def test_a_mask_beyond_a_short_block_fails():
    with pytest.raises(EmulationError, match="lane that does not exist"):
        run_body("__syncwarp();", block=17)


@pytest.mark.emulation
def test_shuffles_ballots_and_votes_give_what_cuda_gives():
    source = """
extern "C" __global__ void warp(int* out) {
    const int lane = threadIdx.x;
    int* row = out + lane * 8;
    row[0] = __shfl_sync(FULL_MASK, lane * 10, 33);          // 33 % 32
    row[1] = __shfl_xor_sync(FULL_MASK, lane, 3);
    row[2] = __shfl_up_sync(FULL_MASK, lane, 2, 8);
    row[3] = __shfl_down_sync(FULL_MASK, lane, 2, 8);
    row[4] = static_cast<int>(__ballot_sync(FULL_MASK, lane % 3 == 0));
    row[5] = __any_sync(FULL_MASK, lane == 31) + 2 * __all_sync(FULL_MASK, lane < 31);
    row[6] = __syncthreads_count(lane < 7);
    row[7] = __syncthreads_or(lane == 9) + 2 * __syncthreads_and(lane != 9);
}
"""
    out = np.full((32, 8), -1, np.int32)
    launch(source, "warp", [out], block=32)
    lanes = np.arange(32)
    ballot = np.uint32(sum(1 << lane for lane in range(0, 32, 3))).astype(np.int32)
    expected = [np.full(32, 10), lanes ^ 3, np.where(lanes % 8 >= 2, lanes - 2, lanes)]
    expected += [np.where(lanes % 8 < 6, lanes + 2, lanes), np.full(32, ballot)]
    expected += [np.full(32, 1), np.full(32, 7), np.full(32, 1)]
    np.testing.assert_array_equal(out, np.stack(expected, axis=1))


GRID_BARRIER = """
extern "C" __global__ void grid_barrier(int* counter, int* out) {
    if (threadIdx.x == 0) {
        atomicAdd(counter, 1);
        while (*static_cast<volatile int*>(counter) < static_cast<int>(gridDim.x)) {
            spin_wait();
        }
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = *static_cast<volatile int*>(counter);
}
"""


@pytest.mark.emulation
def test_a_grid_wide_barrier_runs_with_all_blocks_resident_and_is_stuck_otherwise():
    out = np.zeros(5 * 64, np.int32)
    launch(GRID_BARRIER, "grid_barrier", [np.zeros(1, np.int32), out], grid=5, resident=True)
    assert (out == 5).all()
    with pytest.raises(EmulationError, match="never ends"):
        launch(GRID_BARRIER, "grid_barrier", [np.zeros(1, np.int32), out], grid=5)


@pytest.mark.emulation
def test_resident_blocks_have_their_own_shared_memory():
    source = """
extern "C" __global__ void own(int* counter, int* out) {
    __shared__ int tile[64];
    DYNAMIC_SHARED(int, dynamic);
    tile[threadIdx.x] = blockIdx.x;
    dynamic[threadIdx.x] = blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(counter, 1);
        while (*static_cast<volatile int*>(counter) < static_cast<int>(gridDim.x)) {
            spin_wait();
        }
    }
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] = tile[63 - threadIdx.x] * 100 + dynamic[threadIdx.x];
}
"""
    out = np.zeros((4, 64), np.int32)
    args = [np.zeros(1, np.int32), out]
    launch(source, "own", args, grid=4, resident=True, shared_bytes=256)
    np.testing.assert_array_equal(out, np.repeat([[0], [101], [202], [303]], 64, axis=1))


@pytest.mark.emulation
def test_shared_memory_starts_poisoned_in_every_block():
    source = """
extern "C" __global__ void peek(int* out) {
    __shared__ int tile[64];
    out[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];
    __syncthreads();
    tile[threadIdx.x] = 7;
}
"""
    out = np.zeros(128, np.int32)
    launch(source, "peek", [out], grid=2)
    assert (out == -1).all()


@pytest.mark.emulation
def test_a_copy_that_is_not_waited_for_reads_poison():
    source = """
extern "C" __global__ void copy(float* out, const float* in) {
    __shared__ __align__(16) float tile[128];
    cp_async_16(tile + threadIdx.x * 4, in + threadIdx.x * 4);
    cp_async_commit();
    %s
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
    values, out = np.arange(128, dtype=np.float32), np.zeros(32, np.float32)
    launch(source % "cp_async_wait<0>();", "copy", [out, values], block=32)
    np.testing.assert_array_equal(out, values[:32])
    launch(source % "cp_async_wait<1>();", "copy", [out, values], block=32)
    assert np.isnan(out).all()


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([np.zeros(4, np.float32)], "expected 3 arguments, got 1"),
        ([np.zeros(4, np.float32)] * 2 + [np.int64(4)], "argument 2: expected 4 bytes, got 8"),
    ],
)
def test_arguments_that_do_not_fit_the_signature_are_refused(args, message):
    with pytest.raises(EmulationError, match=message):
        launch(SHIFT % 0, "shift", args)


# ------------------------------------------------------------- sanitizers


@pytest.mark.emulation
@pytest.mark.parametrize("offset", [1, -1])
def test_a_global_read_that_is_off_by_one_is_found(offset):
    values, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    args = [out, values, np.int32(100)]
    launch(SHIFT % 0, "shift", args, grid=2, sanitize=True)
    np.testing.assert_array_equal(out, values)
    with pytest.raises(SanitizerError, match="heap-buffer-overflow"):
        launch(SHIFT % offset, "shift", args, grid=2, sanitize=True)


SHARED_FAULTS = {
    "array": ("tile[threadIdx.x] = 0;", 33),
    "pointer": ("int* last = tile + threadIdx.x; *last = 0;", 33),
    "dynamic": ("DYNAMIC_SHARED(int, dynamic); dynamic[threadIdx.x] = 0;", 33),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("statement", "block"), SHARED_FAULTS.values(), ids=SHARED_FAULTS.keys())
def test_a_shared_access_past_the_end_is_found(statement, block):
    run_body(statement, block=32, sanitize=True, shared_bytes=128)
    with pytest.raises(SanitizerError, match=r"overflow|out of bounds|insufficient space"):
        run_body(statement, block=block, sanitize=True, shared_bytes=128)


@pytest.mark.emulation
def test_a_misaligned_vector_load_is_found():
    source = """
extern "C" __global__ void load(float* out, const float* in, int offset) {
    float values[8];
    load_8_floats(values, in + offset);
    out[threadIdx.x] = values[7];
}
"""
    out, values = np.zeros(1, np.float32), np.zeros(16, np.float32)
    launch(source, "load", [out, values, np.int32(4)], block=1, sanitize=True)
    with pytest.raises(SanitizerError, match="misaligned address"):
        launch(source, "load", [out, values, np.int32(1)], block=1, sanitize=True)


@pytest.mark.emulation
def test_a_divergent_barrier_fails_under_the_sanitizer_too():
    with pytest.raises(EmulationError, match="divergent barrier"):
        run_body("if (threadIdx.x < 40) return; __syncthreads();", sanitize=True)
