// Operation   one matrix-vector product of a decode step, with what stands around it:
//               PRODUCT_NORM 1      x is normalised first: x[k] * norm[k] / sqrt(mean(x^2) + eps)
//               PRODUCT_KIND 0      out[b, n] = sum_k x[b, k] * weight[n, k]
//               PRODUCT_KIND 1      out[b, n] += that sum                        (residual)
//               PRODUCT_KIND 2      out[b, n] = silu(sum with weight[n]) * (sum with weight[N + n])
//             qkv: norm, 0. o and down: 1. gate_up: norm, 2. lm_head: norm, 0.
// Arguments   out     [B, N] fp32; with KIND 2 bf16
//             x       [B, K] bf16, 16-byte aligned; with NORM fp32 (the residual stream)
//             norm    [K] bf16; not read without NORM
//             weight  [N, K] bf16, 16-byte aligned; with KIND 2 [2 N, K]
//             B       int32, 1 or more
// Launch      grid: any number of blocks, block (32 WARPS), dynamic shared memory
//             TURNS * ROWS * STAGED * 512 * WARPS bytes (0 before 8.0). A warp takes ROWS rows of
//             weight at a time; WARPS * ROWS rows per block and turn, so with grid
//             ceil(rows / (WARPS * ROWS)) one turn does all.
//             -DPRODUCT_K, _N, _NORM, _KIND and the launch shape _WARPS, _ROWS, _STAGED, _TURNS
// Assumes     K % 8 == 0; with KIND 2 ROWS is even
// Numerics    fp32 sums of exact bf16 weights, one order for each K, so a row's result changes
//             neither with B nor with the launch shape. With NORM the sum is scaled at the end, so
//             the normalised vector is never rounded.
// Source      bound by reading weight once. Each thread copies the 16-byte pieces that it will
//             multiply into shared memory of its own, in the background: no block barrier, and on
//             9.0 and up the copies start before the previous kernel has ended (programmatic
//             dependent launch), since weights never change.
// Oracle      tests/kernels/test_decode_product.py
#include "common.cuh"

#ifndef PRODUCT_K
#define PRODUCT_K DIM_E
#define PRODUCT_N ((DIM_NH + 2 * DIM_NKV) * DIM_HD)
#define PRODUCT_NORM 1
#define PRODUCT_KIND 0
#endif
#ifndef PRODUCT_ROWS
#define PRODUCT_WARPS 4
#define PRODUCT_ROWS 4
#define PRODUCT_STAGED 4
#define PRODUCT_TURNS 1
#endif

enum Kind { STORE = 0, ADD = 1, SWIGLU = 2 };

constexpr int K = PRODUCT_K;
constexpr int N = PRODUCT_N;
constexpr bool NORM = PRODUCT_NORM != 0;
constexpr int KIND = PRODUCT_KIND;
constexpr int WARPS = PRODUCT_WARPS;
constexpr int THREADS = WARPS * WARP;
constexpr int ROWS = PRODUCT_ROWS;
constexpr int OUTPUTS = KIND == SWIGLU ? ROWS / 2 : ROWS;  // of a warp in one turn
constexpr int GROUPS = (N + OUTPUTS - 1) / OUTPUTS;
constexpr int VECTORS = (K / 8 + WARP - 1) / WARP;  // of 8 weights, per lane and row
constexpr int TURNS = PRODUCT_TURNS;                // turns under way at a time
constexpr int STAGED = !HAS_CP_ASYNC ? 0 : PRODUCT_STAGED < VECTORS ? PRODUCT_STAGED : VECTORS;
// The input is held in registers for all rows where it fits there. For 10.0 and up ptxas moves all
// loads of an unrolled loop to its front, so less fits, and longer rows must not be unrolled whole.
constexpr bool FRONT_LOADS = KERNEL_ARCH >= 1000;
constexpr bool HELD = VECTORS <= (FRONT_LOADS ? (NORM ? 4 : 0) : NORM ? 8 : 12);
constexpr int UNROLLED = FRONT_LOADS && !HELD ? 4 : VECTORS;

static_assert(K % 8 == 0 && TURNS >= 1, "decode_product: unsupported shape");
static_assert(KIND != SWIGLU || ROWS % 2 == 0, "decode_product: gate and up come in pairs");

using Input = typename Choose<NORM, float, bf16>::type;
using Output = typename Choose<KIND == SWIGLU, bf16, float>::type;

// This lane's eight values of vector v, zeros past K.
struct Values {
    float of[8];
};

__device__ __forceinline__ bool inside(int v) {
    return v * WARP + static_cast<int>(threadIdx.x) % WARP < K / 8;
}

__device__ __forceinline__ int place_of(int v) {
    return (v * WARP + static_cast<int>(threadIdx.x) % WARP) * 8;
}

__device__ __forceinline__ size_t weight_row(int group, int r) {
    constexpr int ALL = KIND == SWIGLU ? 2 * N : N;
    const int row = r < OUTPUTS ? group * OUTPUTS + r : N + group * OUTPUTS + r - OUTPUTS;
    return static_cast<size_t>(row < ALL ? row : ALL - 1) * K;  // past the end: not used
}

// Begins to copy the weights of one turn; the caller commits.
__device__ __forceinline__ void stage(uint4* slots, const bf16* weight, int group) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int v = 0; v < STAGED; ++v) {
            cp_async_16(slots + (r * STAGED + v) * THREADS + threadIdx.x,
                        weight + weight_row(group, r) + (inside(v) ? place_of(v) : 0), inside(v));
        }
    }
}

__device__ __forceinline__ uint4 norm_vector(const bf16* norm, int v) {
    return NORM && inside(v) ? load_16_bytes(norm + place_of(v)) : make_uint4(0, 0, 0, 0);
}

__device__ __forceinline__ void load_8(float (&out)[8], const float* x) { load_8_floats(out, x); }
__device__ __forceinline__ void load_8(float (&out)[8], const bf16* x) {
    unpack_8_bf16(out, load_16_bytes(x));
}

// Vector v of the input, times the norm's weights; adds the squares of the raw values.
template <typename X>
__device__ __forceinline__ Values input_vector(const X* x, uint4 norm, int v, float& squares) {
    Values values = {};
    if (inside(v)) {
        load_8(values.of, x + place_of(v));
        if constexpr (NORM) {
            float factors[8];
            unpack_8_bf16(factors, norm);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                squares = fmaf(values.of[i], values.of[i], squares);
                values.of[i] *= factors[i];
            }
        }
    }
    return values;
}

__device__ __forceinline__ void add_products(float (&sums)[ROWS], const uint4* slots,
                                             const bf16* weight, int group, int v,
                                             const Values& values) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        uint4 packed = make_uint4(0, 0, 0, 0);
        if (v < STAGED) {
            packed = slots[(r * STAGED + v) * THREADS + threadIdx.x];
        } else if (inside(v)) {
            packed = load_16_bytes_streaming(weight + weight_row(group, r) + place_of(v));
        }
        float weights[8];
        unpack_8_bf16(weights, packed);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            sums[r] = fmaf(weights[i], values.of[i], sums[r]);
        }
    }
}

__device__ __forceinline__ void put(float* out, float value) { *out = value; }
__device__ __forceinline__ void put(bf16* out, float value) { *out = to_bf16(value); }

// What is added to the output that this lane will write; asked for early, since the way to L2 takes
// longer than the sums.
__device__ __forceinline__ float residual(const float* out, int group) {
    const int lane = threadIdx.x % WARP;
    const int n = group * OUTPUTS + lane;
    return KIND == ADD && lane < OUTPUTS && n < N ? out[n] : 0.0f;
}
__device__ __forceinline__ float residual(const bf16*, int) {
    return 0.0f;  // nothing is added to what SWIGLU makes
}

__device__ __forceinline__ void write(Output* out, float (&sums)[ROWS], float squares, int group,
                                      float before) {
    float scale = 1.0f;
    if constexpr (NORM) {
        scale = fast_reciprocal_root(warp_sum(squares) * (1.0f / K) + RMS_NORM_EPS);
    }
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        sums[r] = warp_sum(sums[r]) * scale;
    }
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < OUTPUTS; ++r) {
        const int n = group * OUTPUTS + r;
        // Every lane has all sums; one lane per row writes.
        if (lane == r && n < N) {
            float value = sums[r];
            if constexpr (KIND == SWIGLU) {
                value = fast_silu(value) * sums[OUTPUTS + r];
            }
            put(out + n, KIND == ADD ? before + value : value);
        }
    }
}

// All vectors of the input, where they are held: of bf16 the bits, which take half the registers.
using Held = typename Choose<NORM, Values, uint4>::type;

template <int COUNT>
__device__ __forceinline__ void hold(Values (&held)[COUNT], const float* x,
                                     const uint4 (&norms)[COUNT], float& squares) {
    squares = 0.0f;
#pragma unroll
    for (int v = 0; v < COUNT; ++v) {
        held[v] = input_vector(x, norms[v], v, squares);
    }
}
template <int COUNT>
__device__ __forceinline__ void hold(uint4 (&held)[COUNT], const bf16* x, const uint4 (&)[COUNT],
                                     float&) {
#pragma unroll
    for (int v = 0; v < COUNT; ++v) {
        held[v] = inside(v) ? load_16_bytes(x + place_of(v)) : make_uint4(0, 0, 0, 0);
    }
}

__device__ __forceinline__ const Values& values_of(const Values& held) { return held; }
__device__ __forceinline__ Values values_of(uint4 held) {
    Values values;
    unpack_8_bf16(values.of, held);
    return values;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    decode_product_bf16(Output* out, const Input* x, const bf16* norm, const bf16* weight, int B) {
    DYNAMIC_SHARED(uint4, ring);
    const int warps = gridDim.x * WARPS;
    int group = blockIdx.x * WARPS + threadIdx.x / WARP;
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
        if (group + turn * warps < GROUPS) {
            stage(ring + turn * ROWS * STAGED * THREADS, weight, group + turn * warps);
        }
        cp_async_commit();
    }
    uint4 norms[HELD ? VECTORS : 1];
#pragma unroll
    for (int v = 0; HELD && v < VECTORS; ++v) {
        norms[v] = norm_vector(norm, v);
    }
    let_next_kernel_start();
    wait_for_previous_kernel();

    Held held[HELD ? VECTORS : 1];
    float squares = 0.0f;
    for (int turn = 0; group < GROUPS; group += warps, turn = turn + 1 < TURNS ? turn + 1 : 0) {
        uint4* slots = ring + turn * ROWS * STAGED * THREADS;
        const bool first = group < warps;
        for (int b = 0; b < B; ++b) {
            const Input* row = x + static_cast<size_t>(b) * K;
            Output* result = out + static_cast<size_t>(b) * N;
            float sums[ROWS] = {};
            if constexpr (HELD) {
                if (first || B > 1) {
                    hold(held, row, norms, squares);
                }
            } else {
                squares = 0.0f;
            }
            const float before = residual(result, group);
            if (b == 0) {
                cp_async_wait<TURNS - 1>();
            }
#pragma unroll UNROLLED
            for (int v = 0; v < VECTORS; ++v) {
                if constexpr (HELD) {
                    add_products(sums, slots, weight, group, v, values_of(held[v]));
                } else {
                    const uint4 factors = norm_vector(norm, v);
                    add_products(sums, slots, weight, group, v,
                                 input_vector(row, factors, v, squares));
                }
            }
            write(result, sums, squares, group, before);
        }
        if (group + TURNS * warps < GROUPS) {
            stage(slots, weight, group + TURNS * warps);
        }
        cp_async_commit();
    }
}
