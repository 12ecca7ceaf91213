// The products of self_attention_cluster.cu: a cluster's rows of qkv_proj, and its columns of o_proj.
//
// Operation   none by itself
// Assumes     common.cuh, cluster.cuh and attention_share.cuh before it; E <= 2048
// Numerics    fp32 sums of exact bf16 weights; the order is fixed
// Source      as decode_product.cuh: a thread stages what it will multiply itself
// Oracle      tests/kernels/test_self_attention_cluster.py
#pragma once

#ifndef ATTENTION_CLUSTER
#define ATTENTION_CLUSTER 16
#endif
#ifndef ATTENTION_STAGES
#define ATTENTION_STAGES 2
#endif

constexpr int CLUSTER = ATTENTION_CLUSTER;
constexpr int STAGES = ATTENTION_STAGES;  // units of cached rows under way at a time
constexpr int THREADS = DECODE_WARPS * WARP;

constexpr int TOKEN = (GROUP + 2) * HD;  // values of the new token that belong to one kv head
constexpr int BLOCK_ROWS = (TOKEN + CLUSTER - 1) / CLUSTER;  // of weight
constexpr int ROWS = (BLOCK_ROWS + DECODE_WARPS - 1) / DECODE_WARPS;  // of a warp
constexpr int VECTORS = (E / 8 + WARP - 1) / WARP;  // of 8 weights, per lane and row
constexpr int HEADS = GROUP * HD;         // values of the attention's output
constexpr int OUTPUTS = HEADS / CLUSTER;  // of them that this block joins
constexpr int HALF = HEAD_CHUNKS / 2;
constexpr int O_BLOCK_ROWS = (E + CLUSTER - 1) / CLUSTER;  // of o_proj
constexpr int O_ROWS = (O_BLOCK_ROWS + DECODE_WARPS - 1) / DECODE_WARPS;
constexpr int O_VECTORS = (HEADS / 8 + WARP - 1) / WARP;

static_assert(KEY_LANES == HEAD_CHUNKS, "self_attention_cluster: heads are powers of two");
static_assert(E <= 2048, "self_attention_cluster: the input is held in registers");
static_assert(HEADS % CLUSTER == 0 && CLUSTER <= HD && WARP % CLUSTER == 0,
              "self_attention_cluster: unsupported cluster");

// What the blocks of a cluster write to each other, and the shares of this block's warps.
struct __align__(16) Exchange {
    float token[TOKEN];  // q, k, v before norm and rotation
    float joined[HEADS];  // the attention's output
    float out[DECODE_WARPS][GROUP][HD];
    float parts[CLUSTER][OUTPUTS + 1];  // of this block's outputs; + 1: no bank conflicts
    float part_max[CLUSTER][GROUP];
    float part_sum[CLUSTER][GROUP];
    float maximum[DECODE_WARPS][GROUP];
    float sum[DECODE_WARPS][GROUP];
};

// Of 16 bytes; first the weights of qkv_proj, then those of o_proj.
constexpr int QKV_SLOTS = ROWS * VECTORS * THREADS;
constexpr int O_SLOTS = O_ROWS * O_VECTORS * THREADS;
constexpr int WEIGHT_SLOTS = QKV_SLOTS > O_SLOTS ? QKV_SLOTS : O_SLOTS;
constexpr int UNIT_SLOTS = 2 * KEYS_EACH * THREADS;     // keys, then values

// ---------------------------------------------------------------- the products

// Row of weight for value `index` of the token.
__device__ __forceinline__ size_t weight_row(int index) {
    const int head = index / HD;
    const int kv_head = blockIdx.y;
    const int row = head < GROUP ? kv_head * GROUP + head : NH + (head - GROUP) * NKV + kv_head;
    return static_cast<size_t>(row) * HD + index % HD;
}

// Value of the token that row r of this warp makes; TOKEN or more where there is none.
__device__ __forceinline__ int token_index(int r) {
    const int row = static_cast<int>(threadIdx.x) / WARP * ROWS + r;
    return row < BLOCK_ROWS ? cluster_rank() * BLOCK_ROWS + row : TOKEN;
}

__device__ __forceinline__ bool inside(int v) {
    return v * WARP + static_cast<int>(threadIdx.x) % WARP < E / 8;
}

__device__ __forceinline__ int place_of(int v) {
    return (v * WARP + static_cast<int>(threadIdx.x) % WARP) * 8;
}

__device__ __forceinline__ void stage_qkv(uint4* slots, const bf16* qkv_proj) {
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int index = token_index(r);
        const bf16* row = qkv_proj + weight_row(index < TOKEN ? index : 0) * E;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            const bool valid = inside(v) && index < TOKEN;
            cp_async_16(slots + (r * VECTORS + v) * THREADS + threadIdx.x,
                        row + (valid ? place_of(v) : 0), valid);
        }
    }
}

// Sums of this warp's rows, in every lane.
__device__ __forceinline__ void multiply_qkv(float (&sums)[ROWS], const uint4* slots,
                                             const float* x, const uint4 (&norms)[VECTORS]) {
    float values[VECTORS][8] = {};
    float squares = 0.0f;
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        if (inside(v)) {
            float factors[8];
            load_8_floats(values[v], x + place_of(v));
            unpack_8_bf16(factors, norms[v]);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                squares = fmaf(values[v][i], values[v][i], squares);
                values[v][i] *= factors[i];
            }
        }
    }
    cp_async_wait<STAGES>();  // the weights; the cached rows may still be on their way
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        sums[r] = 0.0f;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            float weights[8];
            unpack_8_bf16(weights, slots[(r * VECTORS + v) * THREADS + threadIdx.x]);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                sums[r] = fmaf(weights[i], values[v][i], sums[r]);
            }
        }
    }
    const float scale = fast_reciprocal_root(warp_sum(squares) * (1.0f / E) + RMS_NORM_EPS);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        sums[r] = warp_sum(sums[r]) * scale;
    }
}

// Every block gets the whole token.
__device__ __forceinline__ void send_token(Exchange& exchange, const float (&sums)[ROWS]) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int index = token_index(r);
        if (lane < CLUSTER && index < TOKEN) {
            store_to_block(&exchange.token[index], lane, sums[r]);
        }
    }
}

// Row of o_proj that row r of this warp makes; E or more where there is none.
__device__ __forceinline__ int o_row(int r) {
    const int row = static_cast<int>(threadIdx.x) / WARP * O_ROWS + r;
    return row < O_BLOCK_ROWS ? cluster_rank() * O_BLOCK_ROWS + row : E;
}

__device__ __forceinline__ bool inside_heads(int v) {
    return v * WARP + static_cast<int>(threadIdx.x) % WARP < HEADS / 8;
}

// Each thread's own slots again: it has read the weights that lie there.
__device__ __forceinline__ void stage_o(uint4* slots, const bf16* o_proj) {
#pragma unroll
    for (int r = 0; r < O_ROWS; ++r) {
        const int row = o_row(r);
        const bf16* heads = o_proj + static_cast<size_t>(row < E ? row : 0) * NH * HD +
                            static_cast<size_t>(blockIdx.y) * HEADS;
#pragma unroll
        for (int v = 0; v < O_VECTORS; ++v) {
            const bool valid = inside_heads(v) && row < E;
            cp_async_16(slots + (r * O_VECTORS + v) * THREADS + threadIdx.x,
                        heads + (valid ? place_of(v) : 0), valid);
        }
    }
}

__device__ __forceinline__ void multiply_o(float* part, const uint4* slots, const float* joined) {
    float sums[O_ROWS] = {};
    cp_async_wait<0>();
#pragma unroll
    for (int v = 0; v < O_VECTORS; ++v) {
        float values[8] = {};
        if (inside_heads(v)) {
            load_8_floats(values, joined + place_of(v));
        }
#pragma unroll
        for (int r = 0; r < O_ROWS; ++r) {
            float weights[8];
            unpack_8_bf16(weights, slots[(r * O_VECTORS + v) * THREADS + threadIdx.x]);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                sums[r] = fmaf(weights[i], values[i], sums[r]);
            }
        }
    }
#pragma unroll
    for (int r = 0; r < O_ROWS; ++r) {
        const float sum = warp_sum(sums[r]);
        const int row = o_row(r);
        if (static_cast<int>(threadIdx.x) % WARP == r % WARP && row < E) {
            part[row] = sum;
        }
    }
}
