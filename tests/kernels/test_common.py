"""common.cuh: bf16 conversion, reductions, and the stand-ins of the tensor core instructions."""

import numpy as np
import pytest

from tests.kernels.emulation import from_bf16, load_kernels, to_bf16

HEAD = '#include "common.cuh"\n'

CONVERT = """
extern "C" __global__ void convert(bf16* out, unsigned* packed, const float* in, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[i] = to_bf16(in[i]);
        packed[i] = pack_bf16(in[i], -1.5f);
    }
}
"""


def test_bf16_rounds_to_nearest_even_and_keeps_nan_and_infinity():
    bits = [0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7F800000, 0xFF800000]
    bits += [0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0x00000001, 0x80000000, 0x00008001]
    expected = [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7F80, 0xFF80, 0x7FFF, 0x7FFF, 0x7FFF]
    expected += [0, 0x8000, 0x0001]
    values = np.array(bits, np.uint32).view(np.float32)
    out, packed = np.zeros(len(bits), np.uint16), np.zeros(len(bits), np.uint32)
    args = [out, packed, values, np.int32(len(bits))]
    load_kernels(source=HEAD + CONVERT).launch("convert", (1,), (32,), args)
    assert out.tolist() == expected
    assert packed.tolist() == [0xBFC00000 | e for e in expected]
    np.testing.assert_array_equal(to_bf16(values), out)


@pytest.mark.emulation
@pytest.mark.parametrize("threads", [32, 64, 96, 1024])
def test_block_reductions_reach_every_thread_and_may_follow_each_other(threads):
    source = """
extern "C" __global__ void reduce(float* out, const float* in) {
    __shared__ float scratch[32];
    const float total = block_sum(in[threadIdx.x], scratch);
    const float highest = block_max(in[threadIdx.x], scratch);
    out[threadIdx.x] = total + block_sum(highest, scratch);
}
"""
    values = np.random.default_rng(0).integers(-50, -1, threads).astype(np.float32)
    out = np.full(threads, np.nan, np.float32)
    load_kernels(source=HEAD + source).launch("reduce", (1,), (threads,), [out, values])
    assert (out == values.sum() + values.max() * threads).all()


MMA = """
extern "C" __global__ void tile(float* d, const bf16* a, const bf16* b) {
    __shared__ __align__(16) bf16 rows_a[16 * 16];
    __shared__ __align__(16) bf16 rows_b[16 * 16];
    const int lane = threadIdx.x;
    cp_async_16(rows_a + lane * 8, a + lane * 8);
    cp_async_16(rows_b + lane * 8, b + lane * 8, lane < 16);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    unsigned fragment_a[4];
    unsigned fragment_b[2];
    float sums[4] = {1.0f, 1.0f, 1.0f, 1.0f};
    ldmatrix<4, false>(fragment_a, rows_a + lane % 16 * 16 + lane / 16 * 8);
    %s
    mma_m16n8k16(sums, fragment_a, fragment_b);
    for (int i = 0; i < 4; ++i) {
        d[(lane / 4 + i / 2 * 8) * 8 + lane %% 4 * 2 + i %% 2] = sums[i];
    }
}
"""
# B as rows of its transpose [8, 16], and as it is [16, 8].
B_TRANSPOSED = "ldmatrix<2, false>(fragment_b, rows_b + lane % 8 * 16 + lane / 8 % 2 * 8);"
B_PLAIN = "ldmatrix<2, true>(fragment_b, rows_b + lane % 16 * 8);"


@pytest.mark.emulation
@pytest.mark.parametrize(("load", "transposed"), [(B_TRANSPOSED, True), (B_PLAIN, False)])
def test_matrix_fragments_meet_in_the_product(load, transposed):
    rng = np.random.default_rng(1)
    a, b = rng.integers(-8, 8, (16, 16)), rng.integers(-8, 8, (16, 8))
    out = np.full((16, 8), np.nan, np.float32)
    stored_b = to_bf16(np.ascontiguousarray(b.T if transposed else b))
    kernels = load_kernels(source=HEAD + MMA.replace("%s", load).replace("%%", "%"))
    kernels.launch("tile", (1,), (32,), [out, to_bf16(a), stored_b])
    np.testing.assert_array_equal(out, 1 + a @ b)
    assert (from_bf16(to_bf16(a)) == a).all()
