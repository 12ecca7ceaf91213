// The product of self_attention_cluster.cu: the rows of qkv_proj that belong to a cluster's kv head.
//
// Operation   none by itself
// Assumes     common.cuh, cluster.cuh and attention_tiles.cuh before it; E <= 2048
// Numerics    fp32 sums of exact bf16 weights; the order is fixed
// Source      as decode_product.cu: a thread stages what it will multiply itself
// Oracle      tests/kernels/test_self_attention_cluster.py
#pragma once

#ifndef ATTENTION_CLUSTER
#define ATTENTION_CLUSTER 8
#endif

constexpr int CLUSTER = ATTENTION_CLUSTER;
constexpr int TOKEN = (GROUP + 2) * HD;  // values of the new token that belong to one kv head
constexpr int BLOCK_ROWS = (TOKEN + CLUSTER - 1) / CLUSTER;  // of weight
constexpr int ROWS = (BLOCK_ROWS + WARPS - 1) / WARPS;       // of a warp
constexpr int VECTORS = (E / 8 + WARP - 1) / WARP;           // of 8 weights, per lane and row
constexpr int WEIGHT_SLOTS = ROWS * VECTORS * WARP;          // 16-byte vectors of a warp

// All warps have the same number of rows, and those of one warp lie one behind the other.
constexpr bool EVEN_ROWS = TOKEN == CLUSTER * WARPS * ROWS && HD % ROWS == 0;

static_assert(E <= 2048, "self_attention_cluster: the input is held in registers");

// Row of weight for value `index` of the token.
__device__ __forceinline__ size_t weight_row(int index) {
    const int head = index / HD;
    const int kv_head = blockIdx.y;
    const int row = head < GROUP ? kv_head * GROUP + head : NH + (head - GROUP) * NKV + kv_head;
    return static_cast<size_t>(row) * HD + index % HD;
}

// Value of the token that row r of this warp makes; TOKEN or more where there is none.
__device__ __forceinline__ int token_index(int r) {
    if (EVEN_ROWS) {
        return (cluster_rank() * WARPS + static_cast<int>(threadIdx.x) / WARP) * ROWS + r;
    }
    const int row = static_cast<int>(threadIdx.x) / WARP * ROWS + r;
    return row < BLOCK_ROWS ? cluster_rank() * BLOCK_ROWS + row : TOKEN;
}

__device__ __forceinline__ bool inside(int v) {
    return E % (8 * WARP) == 0 || v * WARP + static_cast<int>(threadIdx.x) % WARP < E / 8;
}

__device__ __forceinline__ int place_of(int v) {
    return (v * WARP + static_cast<int>(threadIdx.x) % WARP) * 8;
}

// Begins to copy this warp's weights to its `slots`; the caller commits.
__device__ __forceinline__ void stage_weights(uint4* slots, const bf16* qkv_proj) {
    const int lane = threadIdx.x % WARP;
    const bf16* first = qkv_proj + weight_row(EVEN_ROWS ? token_index(0) : 0) * E;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        const int index = token_index(r);
        const bool used = EVEN_ROWS || index < TOKEN;
        const bf16* row = EVEN_ROWS ? first + r * E : used ? qkv_proj + weight_row(index) * E : first;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            const bool valid = inside(v) && used;
            cp_async_16(slots + (r * VECTORS + v) * WARP + lane, row + (valid ? place_of(v) : 0),
                        valid);
        }
    }
}

// This lane's factors of the input's norm.
__device__ __forceinline__ void load_norms(uint4 (&norms)[VECTORS], const bf16* norm) {
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        norms[v] = inside(v) ? load_16_bytes(norm + place_of(v)) : make_uint4(0, 0, 0, 0);
    }
}

// Sums of this warp's rows, in every lane. The newest PENDING groups of copies may be under way.
template <int PENDING>
__device__ __forceinline__ void multiply_qkv(float (&sums)[ROWS], const uint4* slots,
                                             const float* x, const uint4 (&norms)[VECTORS]) {
    const int lane = threadIdx.x % WARP;
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
    cp_async_wait<PENDING>();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        sums[r] = 0.0f;
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            float weights[8];
            unpack_8_bf16(weights, slots[(r * VECTORS + v) * WARP + lane]);
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

// Every block gets the whole token; lane i sends to block i.
__device__ __forceinline__ void send_token(float* token, Arrivals& arrivals,
                                           const float (&sums)[ROWS]) {
    const int lane = threadIdx.x % WARP;
    if (lane >= CLUSTER) {
        return;
    }
    if constexpr (EVEN_ROWS && ROWS % 4 == 0) {
#pragma unroll
        for (int r = 0; r < ROWS; r += 4) {
            send_4(token + token_index(r), arrivals, lane,
                   make_float4(sums[r], sums[r + 1], sums[r + 2], sums[r + 3]));
        }
    } else {
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            const int index = token_index(r);
            if (index < TOKEN) {
                send(token + index, arrivals, lane, sums[r]);
            }
        }
    }
}
