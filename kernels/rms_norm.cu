// Operation   out[t, e] = weight[e] * hidden[t, e] / sqrt(mean_e(hidden[t, :]^2) + RMS_NORM_EPS)
//             rms_norm_add: first hidden[t, :] += parts[0, t, :] + parts[1, t, :] + ...
// Arguments   out        [T, E] bf16, written
//             hidden     [T, E] fp32, 16-byte aligned; rms_norm_add: written too
//             parts      [part_count, T, E] fp32, 16-byte aligned: a product in parts of k
//             weight     [E] bf16, 16-byte aligned
//             T, part_count int32; part_count may be 0
//             first_row  int32: block b has row first_row + b
// Launch      grid (T), or fewer rows, no dynamic shared memory; block (256), rms_norm_add (128)
// Assumes     E % 8 == 0
// Numerics    sum of squares in fp32 (per thread, then a fixed tree); the product is rounded to
//             bf16 once. Hugging Face rounds hidden / rms to bf16 before the product with weight.
// Source      Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"
// Oracle      tests/kernels/test_rms_norm.py
#include "common.cuh"

// One row by THREADS threads: each owns groups of eight neighbours, so two 16-byte loads of hidden
// and one of weight at a time.
template <int THREADS>
struct NormRow {
    static constexpr int GROUPS = E / 8;
    static constexpr int ROUNDS = (GROUPS + THREADS - 1) / THREADS;
    float values[ROUNDS][8];

    __device__ __forceinline__ void load(const float* hidden) {
#pragma unroll
        for (int r = 0; r < ROUNDS; ++r) {
            const int group = r * THREADS + threadIdx.x;
            if (group < GROUPS) {
                load_8_floats(values[r], hidden + group * 8);
            }
        }
    }

    __device__ __forceinline__ void add(const float* part) {
#pragma unroll
        for (int r = 0; r < ROUNDS; ++r) {
            const int group = r * THREADS + threadIdx.x;
            if (group < GROUPS) {
                float more[8];
                load_8_floats(more, part + group * 8);
#pragma unroll
                for (int i = 0; i < 8; ++i) {
                    values[r][i] += more[i];
                }
            }
        }
    }

    __device__ __forceinline__ void store(float* hidden) const {
#pragma unroll
        for (int r = 0; r < ROUNDS; ++r) {
            const int group = r * THREADS + threadIdx.x;
            if (group < GROUPS) {
                store_8_floats(hidden + group * 8, values[r]);
            }
        }
    }

    __device__ __forceinline__ void store_normed(bf16* out, const bf16* weight, float* scratch) {
        float squares = 0.0f;
#pragma unroll
        for (int r = 0; r < ROUNDS; ++r) {
            if (r * THREADS + static_cast<int>(threadIdx.x) < GROUPS) {
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
            const int group = r * THREADS + threadIdx.x;
            if (group < GROUPS) {
                float weights[8];
                unpack_8_bf16(weights, load_16_bytes_read_only(weight + group * 8));
#pragma unroll
                for (int i = 0; i < 8; ++i) {
                    values[r][i] *= scale * weights[i];
                }
                store_16_bytes(out + group * 8, pack_8_bf16(values[r]));
            }
        }
    }
};

extern "C" __global__ void __launch_bounds__(256)
    rms_norm_bf16(bf16* __restrict__ out, const float* __restrict__ hidden,
                  const bf16* __restrict__ weight, int T) {
    __shared__ float scratch[WARP];
    const size_t place = static_cast<size_t>(blockIdx.x) * E;
    NormRow<256> row;
    row.load(hidden + place);
    row.store_normed(out + place, weight, scratch);
}

extern "C" __global__ void __launch_bounds__(128)
    rms_norm_add_bf16(bf16* __restrict__ out, float* __restrict__ hidden,
                      const float* __restrict__ parts, const bf16* __restrict__ weight, int T,
                      int part_count, int first_row) {
    __shared__ float scratch[WARP];
    let_next_kernel_start();
    wait_for_previous_kernel();
    const size_t place = static_cast<size_t>(first_row + blockIdx.x) * E;
    NormRow<128> row;
    row.load(hidden + place);
    for (int part = 0; part < part_count; ++part) {
        row.add(parts + static_cast<size_t>(part) * T * E + place);
    }
    if (part_count > 0) {
        row.store(hidden + place);
    }
    row.store_normed(out + place, weight, scratch);
}
