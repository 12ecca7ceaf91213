// Operation   out[t, e] = weight[e] * hidden[t, e] / sqrt(mean_e(hidden[t, :]^2) + RMS_NORM_EPS)
// Arguments   out     [T, E] bf16, written
//             hidden  [T, E] fp32, 16-byte aligned
//             weight  [E] bf16, 16-byte aligned
//             T       int32
// Launch      grid (T), block (256), no dynamic shared memory
// Assumes     E % 8 == 0
// Numerics    sum of squares in fp32 (per thread, then a fixed tree); the product is rounded to
//             bf16 once. Hugging Face rounds hidden / rms to bf16 before the product with weight.
// Source      Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"
// Oracle      tests/kernels/test_rms_norm.py
#include "common.cuh"

constexpr int RMS_NORM_THREADS = 256;

extern "C" __global__ void __launch_bounds__(RMS_NORM_THREADS)
    rms_norm_bf16(bf16* __restrict__ out, const float* __restrict__ hidden,
                  const bf16* __restrict__ weight, int T) {
    __shared__ float scratch[WARP];
    // Each thread owns groups of eight neighbours: two 16-byte loads of hidden, one of weight.
    constexpr int GROUPS = E / 8;
    constexpr int ROUNDS = (GROUPS + RMS_NORM_THREADS - 1) / RMS_NORM_THREADS;
    const size_t row = static_cast<size_t>(blockIdx.x) * E;
    float values[ROUNDS][8];
    float squares = 0.0f;
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const int group = r * RMS_NORM_THREADS + threadIdx.x;
        if (group < GROUPS) {
            const float* source = hidden + row + group * 8;
            load_8_floats(values[r], source);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                squares += values[r][i] * values[r][i];
            }
        }
    }
    const float mean = block_sum(squares, scratch) / E;
    const float scale = 1.0f / sqrtf(mean + RMS_NORM_EPS);
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const int group = r * RMS_NORM_THREADS + threadIdx.x;
        if (group < GROUPS) {
            float weights[8];
            unpack_8_bf16(weights, load_16_bytes_read_only(weight + group * 8));
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                values[r][i] *= scale * weights[i];
            }
            store_16_bytes(out + row + group * 8, pack_8_bf16(values[r]));
        }
    }
}
