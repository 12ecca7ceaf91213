// Operation   one matrix-vector product of a decode step, with what stands around it:
//               PRODUCT_NORM 1      x is normalised first: x[k] * norm[k] / sqrt(mean(x^2) + eps)
//               PRODUCT_KIND 0      out[b, n] = sum_k x[b, k] * weight[n, k]
//               PRODUCT_KIND 1      out[b, n] += that sum                        (residual)
//               PRODUCT_KIND 2      out[b, n] = silu(sum with weight[n]) * (sum with weight[N + n])
//             qkv: norm, 0. o and down: 1. gate_up: norm, 2. lm_head: norm, 0.
// Arguments   out     [B, N] fp32; with KIND 2 bf16
//             x       [B, K] bf16, 16-byte aligned; with NORM fp32 (the residual stream)
//             norm    [K] bf16, 16-byte aligned; not read without NORM
//             weight  [N, K] bf16, 16-byte aligned; with KIND 2 [2 N, K]
//             B       int32, 1 or more
//             batch   int32, 1 to 8: rows of x that are multiplied at a time
// Launch      grid: any number of blocks, block (32 WARPS), dynamic shared memory
//             TURNS * TILES * STAGED * 512 * WARPS bytes (before 8.0: 0) for weights, and for x
//             batch * (WARPS * STEPS * 32 + 32) * 2 bytes, with NORM twice that, where STEPS =
//             ceil(ceil(K / 32) / WARPS). A block takes TILES tiles of 8 rows of weight at a time
//             (KIND 2: half of them gate, half up), so with grid ceil(rows / (8 TILES)) one turn
//             does all.
//             -DPRODUCT_K, _N, _NORM, _KIND and the launch shape _WARPS, _TILES, _STAGED, _TURNS
// Assumes     K % 8 == 0; with KIND 2 TILES is even
// Numerics    exact products of bf16, fp32 sums; a row of the result depends neither on B nor on
//             batch, TILES, STAGED, TURNS and grid. With NORM x[k] * norm[k] enters as the sum of two
//             bf16 (relative error 2^-17), and the sum is scaled at the end.
// Source      bound by reading weight once. Each thread copies the 16-byte pieces that it will
//             multiply into shared memory of its own, in the background: no barrier, and on 9.0
//             and up the copies start before the previous kernel has ended (programmatic dependent
//             launch), since weights never change. A warp multiplies its share of K with mma: 8
//             rows of weight are the columns, up to 8 rows of x and their low parts the 16 rows.
//             The lanes' k run through memory in the order of their loads, for x and weight alike.
// Oracle      tests/kernels/test_decode_product.py
#include "common.cuh"

#ifndef PRODUCT_K
#define PRODUCT_K DIM_E
#define PRODUCT_N ((DIM_NH + 2 * DIM_NKV) * DIM_HD)
#define PRODUCT_NORM 1
#define PRODUCT_KIND 0
#endif
#ifndef PRODUCT_TILES
#define PRODUCT_WARPS 4
#define PRODUCT_TILES 2
#define PRODUCT_STAGED 8
#define PRODUCT_TURNS 1
#endif

enum Kind { STORE = 0, ADD = 1, SWIGLU = 2 };

constexpr int K = PRODUCT_K;
constexpr int N = PRODUCT_N;
constexpr bool NORM = PRODUCT_NORM != 0;
constexpr int KIND = PRODUCT_KIND;
constexpr int WARPS = PRODUCT_WARPS;
constexpr int THREADS = WARPS * WARP;
constexpr int TILE = 8;   // rows of weight of one mma
constexpr int BATCH = 8;  // rows of x of one mma
constexpr int TILES = PRODUCT_TILES;
constexpr int OUTPUT_TILES = KIND == SWIGLU ? TILES / 2 : TILES;
constexpr int OUTPUTS = OUTPUT_TILES * TILE;  // of a block in one turn
constexpr int GROUPS = (N + OUTPUTS - 1) / OUTPUTS;
constexpr int STEPS = ((K + WARP - 1) / WARP + WARPS - 1) / WARPS;  // of 32 values of k, per warp
constexpr int TURNS = PRODUCT_TURNS;                                // turns under way at a time
constexpr int STAGED = !HAS_CP_ASYNC ? 0 : PRODUCT_STAGED < STEPS ? PRODUCT_STAGED : STEPS;
// Blocks that fit a multiprocessor's registers: up to 96 a thread, and room for the next kernel's;
// 128 from 10.0 on, where 96 would spill.
constexpr int RESIDENT_THREADS = KERNEL_ARCH >= 1000 ? 512 : 640;
constexpr int RESIDENT = RESIDENT_THREADS / THREADS > 0 ? RESIDENT_THREADS / THREADS : 1;
constexpr int ROW = WARPS * STEPS * WARP;  // of x in shared memory, zeros from K on
constexpr int ROW_STRIDE = ROW + 32;       // so that 8 lanes that read two rows meet 32 banks
constexpr int ROW_VECTORS = (ROW / 8 + THREADS - 1) / THREADS;  // of 8 values, per thread

static_assert(K % 8 == 0 && TURNS >= 1, "decode_product: unsupported shape");
static_assert(KIND != SWIGLU || TILES % 2 == 0, "decode_product: gate and up come in pairs");

using Input = typename Choose<NORM, float, bf16>::type;
using Output = typename Choose<KIND == SWIGLU, bf16, float>::type;

// Sums of the block's warps, of 8 rows of x.
struct Partials {
    float sums[WARPS][TILES][BATCH][TILE];
    float squares[WARPS][BATCH];
};

// This lane's first k of step i; a warp has a run of k, a lane every fourth 8 of it.
__device__ __forceinline__ int place_of(int i) {
    const int warp = threadIdx.x / WARP;
    return (warp * STEPS + i) * WARP + static_cast<int>(threadIdx.x) % 4 * 8;
}

// Start of this lane's row of weight in one tile.
__device__ __forceinline__ size_t weight_row(int group, int tile) {
    constexpr int ALL = KIND == SWIGLU ? 2 * N : N;
    const int half = tile < OUTPUT_TILES ? 0 : N;
    const int row = half + group * OUTPUTS + tile % OUTPUT_TILES * TILE +
                    static_cast<int>(threadIdx.x) % WARP / 4;
    return static_cast<size_t>(row < ALL ? row : ALL - 1) * K;  // past the end: not used
}

// Begins to copy the weights of one turn; the caller commits.
__device__ __forceinline__ void stage(uint4* slots, const bf16* weight, int group) {
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
        const bf16* row = weight + weight_row(group, tile);
#pragma unroll
        for (int i = 0; i < STAGED; ++i) {
            const bool valid = place_of(i) < K;
            cp_async_16(slots + (tile * STAGED + i) * THREADS + threadIdx.x,
                        row + (valid ? place_of(i) : 0), valid);
        }
    }
}

// Eight weights of this lane's row: what was staged, else straight from memory.
__device__ __forceinline__ uint4 weight_vector(const uint4* slots, const bf16* weight, int group,
                                               int tile, int i) {
    if (i < STAGED) {
        return slots[(tile * STAGED + i) * THREADS + threadIdx.x];
    }
    return place_of(i) < K ? load_16_bytes_streaming(weight + weight_row(group, tile) + place_of(i))
                           : make_uint4(0, 0, 0, 0);
}

// Vector v of this thread, of a row of x; 8 values from this k on.
__device__ __forceinline__ int input_place(int v) {
    return (v * THREADS + static_cast<int>(threadIdx.x)) * 8;
}

__device__ __forceinline__ uint4 norm_vector(const bf16* norm, int v) {
    return input_place(v) < K ? load_16_bytes(norm + input_place(v)) : make_uint4(0, 0, 0, 0);
}

// Eight values times the norm's weights as two bf16 each; adds the squares of the raw values.
__device__ __forceinline__ void load_input(uint4& high, uint4& low, const float* row, uint4 norm,
                                           int v, float& squares) {
    float values[8] = {};
    float factors[8];
    if (input_place(v) < K) {
        load_8_floats(values, row + input_place(v));
    }
    unpack_8_bf16(factors, norm);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        squares = fmaf(values[i], values[i], squares);
        values[i] *= factors[i];
    }
    high = pack_8_bf16(values);
    unpack_8_bf16(factors, high);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        values[i] -= factors[i];
    }
    low = pack_8_bf16(values);
}

__device__ __forceinline__ void load_input(uint4& high, uint4&, const bf16* row, uint4, int v,
                                           float&) {
    high = input_place(v) < K ? load_16_bytes(row + input_place(v)) : make_uint4(0, 0, 0, 0);
}

// Up to `batch` rows of x in shared memory: the high parts of all, then, with NORM, the low parts.
__device__ __forceinline__ void share_input(bf16* shared_x, Partials& partials, const Input* x,
                                            const uint4 (&norms)[ROW_VECTORS], int rows,
                                            int batch) {
    for (int b = 0; b < rows; ++b) {
        float squares = 0.0f;
#pragma unroll
        for (int v = 0; v < ROW_VECTORS; ++v) {
            if (input_place(v) >= ROW) {
                continue;
            }
            uint4 high;
            uint4 low;
            load_input(high, low, x + static_cast<size_t>(b) * K, norms[v], v, squares);
            store_16_bytes(shared_x + b * ROW_STRIDE + input_place(v), high);
            if constexpr (NORM) {
                store_16_bytes(shared_x + (batch + b) * ROW_STRIDE + input_place(v), low);
            }
        }
        if constexpr (NORM) {
            squares = warp_sum(squares);
            if (threadIdx.x % WARP == 0) {
                partials.squares[threadIdx.x / WARP][b] = squares;
            }
        }
    }
}

#if HAS_BF16_MMA
// This warp's sums of one tile: by step and half of its vectors, so that four mma can be under way.
struct Sums {
    float of[4][4];
};

// Multiplies this warp's share of K; leaves the sums in the block's partials.
__device__ __forceinline__ void multiply(Partials& partials, const bf16* shared_x,
                                         const uint4* slots, const bf16* weight, int group,
                                         int rows, int batch) {
    const int b = threadIdx.x % WARP / 4;
    Sums tiles[TILES] = {};
#pragma unroll(STEPS <= 24 ? STEPS : 4)
    for (int i = 0; i < STEPS; ++i) {
        uint4 high = make_uint4(0, 0, 0, 0);
        uint4 low = make_uint4(0, 0, 0, 0);
        if (b < rows) {
            high = load_16_bytes(shared_x + b * ROW_STRIDE + place_of(i));
            if constexpr (NORM) {
                low = load_16_bytes(shared_x + (batch + b) * ROW_STRIDE + place_of(i));
            }
        }
        const unsigned first[4] = {high.x, low.x, high.y, low.y};
        const unsigned second[4] = {high.z, low.z, high.w, low.w};
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
            const uint4 w = weight_vector(slots, weight, group, tile, i);
            const unsigned first_weights[2] = {w.x, w.y};
            const unsigned second_weights[2] = {w.z, w.w};
            mma_m16n8k16(tiles[tile].of[i % 2 * 2], first, first_weights);
            mma_m16n8k16(tiles[tile].of[i % 2 * 2 + 1], second, second_weights);
        }
    }
    const int column = threadIdx.x % 4 * 2;
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
        const float(&s)[4][4] = tiles[tile].of;
#pragma unroll
        for (int e = 0; e < 2; ++e) {
            partials.sums[threadIdx.x / WARP][tile][b][column + e] =
                ((s[0][e] + s[1][e]) + (s[2][e] + s[3][e])) +
                ((s[0][e + 2] + s[1][e + 2]) + (s[2][e + 2] + s[3][e + 2]));
        }
    }
}
#else
// Before 8.0: the same products one by one; a lane has every fourth 8 of a row's k.
__device__ __forceinline__ void multiply(Partials& partials, const bf16* shared_x,
                                         const uint4* slots, const bf16* weight, int group,
                                         int rows, int batch) {
    for (int b = 0; b < rows; ++b) {
        float sums[TILES] = {};
        for (int i = 0; i < STEPS; ++i) {
            float values[8];
            unpack_8_bf16(values, load_16_bytes(shared_x + b * ROW_STRIDE + place_of(i)));
            if constexpr (NORM) {
                float low[8];
                unpack_8_bf16(low, load_16_bytes(shared_x + (batch + b) * ROW_STRIDE + place_of(i)));
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    values[j] += low[j];
                }
            }
#pragma unroll
            for (int tile = 0; tile < TILES; ++tile) {
                float weights[8];
                unpack_8_bf16(weights, weight_vector(slots, weight, group, tile, i));
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    sums[tile] = fmaf(weights[j], values[j], sums[tile]);
                }
            }
        }
#pragma unroll
        for (int tile = 0; tile < TILES; ++tile) {
            sums[tile] += __shfl_xor_sync(FULL_MASK, sums[tile], 1);
            sums[tile] += __shfl_xor_sync(FULL_MASK, sums[tile], 2);
            if (threadIdx.x % 4 == 0) {
                partials.sums[threadIdx.x / WARP][tile][b][threadIdx.x % WARP / 4] = sums[tile];
            }
        }
    }
}
#endif

__device__ __forceinline__ float sum_of(const Partials& partials, int tile, int b, int row) {
    float sum = 0.0f;
#pragma unroll
    for (int warp = 0; warp < WARPS; ++warp) {
        sum += partials.sums[warp][tile][b][row];
    }
    return sum;
}

__device__ __forceinline__ void put(float* out, float value) {
    *out = KIND == ADD ? *out + value : value;
}
__device__ __forceinline__ void put(bf16* out, float value) { *out = to_bf16(value); }

// Joins the warps' sums and writes the block's outputs of some rows of x.
__device__ __forceinline__ void write(Output* out, const Partials& partials, int group, int rows) {
    for (int index = threadIdx.x; index < rows * OUTPUTS; index += THREADS) {
        const int b = index / OUTPUTS;
        const int output = index % OUTPUTS;
        const int n = group * OUTPUTS + output;
        float scale = 1.0f;
        if constexpr (NORM) {
            float squares = 0.0f;
#pragma unroll
            for (int warp = 0; warp < WARPS; ++warp) {
                squares += partials.squares[warp][b];
            }
            scale = 1.0f / sqrtf(squares * (1.0f / K) + RMS_NORM_EPS);
        }
        float value = sum_of(partials, output / TILE, b, output % TILE) * scale;
        if constexpr (KIND == SWIGLU) {
            const float up = sum_of(partials, OUTPUT_TILES + output / TILE, b, output % TILE);
            value = value / (1.0f + expf(-value)) * (up * scale);
        }
        if (n < N) {
            put(out + static_cast<size_t>(b) * N + n, value);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
    decode_product_bf16(Output* out, const Input* x, const bf16* norm, const bf16* weight, int B,
                        int batch) {
    DYNAMIC_SHARED(uint4, ring);
    __shared__ Partials partials;
    constexpr int TURN_SLOTS = TILES * STAGED * THREADS;
    bf16* shared_x = reinterpret_cast<bf16*>(ring + TURNS * TURN_SLOTS);
    const int blocks = gridDim.x;
    int group = blockIdx.x;
#pragma unroll
    for (int turn = 0; turn < TURNS; ++turn) {
        if (group + turn * blocks < GROUPS) {
            stage(ring + turn * TURN_SLOTS, weight, group + turn * blocks);
        }
        cp_async_commit();
    }
    uint4 norms[ROW_VECTORS] = {};
#pragma unroll
    for (int v = 0; NORM && v < ROW_VECTORS; ++v) {
        norms[v] = norm_vector(norm, v);
    }
    let_next_kernel_start();
    wait_for_previous_kernel();

    for (int turn = 0; group < GROUPS; group += blocks, turn = turn + 1 < TURNS ? turn + 1 : 0) {
        uint4* slots = ring + turn * TURN_SLOTS;
        const bool first_turn = group < blocks;
        for (int first_b = 0; first_b < B; first_b += batch) {
            const int rows = B - first_b < batch ? B - first_b : batch;
            if (!first_turn || first_b > 0) {
                __syncthreads();  // what other warps still read: x, partials
            }
            if (first_turn || B > batch) {
                share_input(shared_x, partials, x + static_cast<size_t>(first_b) * K, norms, rows,
                            batch);
                __syncthreads();
            }
            cp_async_wait<TURNS - 1>();
            multiply(partials, shared_x, slots, weight, group, rows, batch);
            __syncthreads();
            write(out + static_cast<size_t>(first_b) * N, partials, group, rows);
        }
        if (group + TURNS * blocks < GROUPS) {
            stage(slots, weight, group + TURNS * blocks);
        }
        cp_async_commit();
    }
}
