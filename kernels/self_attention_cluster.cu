// Operation   a decode step's self-attention of one layer for one row, but for the product with
//             o_proj: x is normalised and multiplied with qkv_proj, q and k are normalised (only
//             with QK_NORM = 1) and rotated, k and v appended to the pages,
//             out[h] = sum_s softmax_s(q[h] . k[s, kv] / sqrt(HD)) * v[s, kv], kv = h / (NH / NKV),
//             over positions 0 ... positions[0]
// Arguments   out          [NH, HD] bf16, written; not for an idle row
//             k_pool, v_pool [pages, NKV, 64, HD] bf16, rows of the new token written
//             x            [E] fp32, 16-byte aligned: the residual stream
//             norm         [E] bf16
//             qkv_proj     [(NH + 2 NKV) HD, E] bf16, 16-byte aligned: rows of q, then k, then v
//             q_norm, k_norm [HD] bf16, 16-byte aligned; not read with QK_NORM = 0
//             rope_table   [capacity, HD/2, 2] fp32: cos, sin
//             positions    [1] int32: position of the new token; negative: an idle row
//             slots        [1] int32: row of block_table
//             block_table  [slots, max_pages] int32
//             max_pages    int32
// Launch      grid (CLUSTER, NKV) in clusters of CLUSTER = ATTENTION_CLUSTER blocks, block (256),
//             dynamic shared memory as engine/cuda/self_attention.py computes it. More than 8 blocks
//             in a cluster must be allowed with the driver.
// Assumes     9.0 and up; HD 32, 64 or 128; NH / NKV <= 4; E % 8 == 0 and E <= 2048; CLUSTER a power
//             of two from 2 to 16 that divides (NH / NKV) * HD; the rest as decode_attention.cu
// Numerics    as decode_product.cu and attention_tiles.cuh; the order of all sums is fixed
// Source      one cluster has one kv head, so that the new token and the shares of the attention
//             pass through distributed shared memory and never through L2 (NVIDIA, "CUDA C++
//             Programming Guide", thread block clusters). The weights, and the first cached rows,
//             are copied into shared memory before the previous kernel has ended. Once a warp has
//             multiplied its weights, cached rows take their place: the deeper the ring, the nearer
//             64 multiprocessors come to the bandwidth of all.
// Oracle      tests/kernels/test_self_attention_cluster.py
#include "common.cuh"
#include "cluster.cuh"
#include "attention_tiles.cuh"
#include "head_rotation.cuh"
#include "self_attention_qkv.cuh"

#ifndef ATTENTION_DEDICATED
#define ATTENTION_DEDICATED 2
#endif

constexpr int THREADS = WARPS * WARP;
constexpr int DEDICATED = ATTENTION_DEDICATED;             // halves of tiles beside the weights
constexpr int RING = DEDICATED + WEIGHT_SLOTS / TILE_SLOTS;  // halves under way, of a warp
constexpr int WARP_SLOTS = DEDICATED * TILE_SLOTS + WEIGHT_SLOTS;
constexpr int HEADS = GROUP * HD;         // values of the attention's output
constexpr int OUTPUTS = HEADS / CLUSTER;  // of them that this block joins

static_assert(GROUP + 2 <= WARPS, "self_attention_cluster: a warp for each head of the new token");
static_assert(DEDICATED >= 1, "self_attention_cluster: the first keys do not lie among weights");
static_assert(CLUSTER > 1 && HEADS % CLUSTER == 0 && CLUSTER <= HD && WARP % CLUSTER == 0,
              "self_attention_cluster: unsupported cluster");

// What the blocks of a cluster write to each other, and the shares inside this block.
struct __align__(16) Exchange {
    float token[TOKEN];  // q, k, v before norm and rotation
    float rotated[GROUP + 1][HD];  // q and k
    QueryColumns queries;
    float out[WARPS][GROUP][HD];
    float value[HD];  // of the new token, whose share has weight 1
    float parts[CLUSTER][OUTPUTS + 1];  // of this block's outputs; + 1: no bank conflicts
    float part_max[CLUSTER][GROUP];
    float part_sum[CLUSTER][GROUP];
    float maximum[WARPS][GROUP];
    float sum[WARPS][GROUP];
    float score[GROUP];  // of the new token
    Arrivals token_arrivals;
    Arrivals part_arrivals;
};

// What the other blocks, and this one, will send here.
__device__ __forceinline__ void expect_all(Exchange& exchange) {
    if (threadIdx.x == 0) {
        expect_bytes(exchange.token_arrivals, sizeof exchange.token);
        expect_bytes(exchange.part_arrivals, 4 * CLUSTER * (OUTPUTS + 2 * GROUP));
    }
}

// ---------------------------------------------------------------- the new token

// A warp a head: the queries for all warps, and in the newest block k and v, rounded as the cache
// holds them, for the pages too.
__device__ __forceinline__ void prepare_token(Exchange& exchange, const Rotation& rotation,
                                              bool newest, bf16* k_row, bf16* v_row) {
    const int warp = threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP;
    if (warp < GROUP || (warp == GROUP && newest)) {
        float* head = exchange.rotated[warp];
        rotate_head(head, exchange.token + warp * HD, rotation);
        __syncwarp();
#pragma unroll
        for (int d = lane; d < HD; d += WARP) {
            if (warp < GROUP) {
                set_query(exchange.queries, warp, d, head[d] * SOFTMAX_SCALE);
            } else {
                const bf16 key = to_bf16(head[d]);
                k_row[d] = key;
                head[d] = to_float(key);
            }
        }
    } else if (warp == GROUP + 1 && newest) {
#pragma unroll
        for (int d = lane; d < HD; d += WARP) {
            const bf16 value = to_bf16(exchange.token[(GROUP + 1) * HD + d]);
            v_row[d] = value;
            exchange.value[d] = to_float(value);
        }
    }
}

// One warp of the newest block.
__device__ __forceinline__ void score_token(Exchange& exchange) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        float dot = 0.0f;
#pragma unroll
        for (int d = lane; d < HD; d += WARP) {
            dot += query_value(exchange.queries, g, d) * exchange.rotated[GROUP][d];
        }
        dot = warp_sum(dot);
        if (lane == 0) {
            exchange.score[g] = dot;
        }
    }
}

// ---------------------------------------------------------------- joining

__device__ __forceinline__ void store_share(Exchange& exchange, const TileShare& share) {
    const int warp = threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP;
    const int g = lane % 4;
    float sum = share.sum;
#pragma unroll
    for (int lanes = 4; lanes < WARP; lanes *= 2) {
        sum += __shfl_xor_sync(FULL_MASK, sum, lanes);
    }
    if (g >= GROUP) {
        return;
    }
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        float* out = &exchange.out[warp][g][s * 16 + lane / 4];
        out[0] = share.out[s][0] + share.out[s][1];
        out[8] = share.out[s][2] + share.out[s][3];
    }
    if (lane / 4 == 0) {
        exchange.maximum[warp][g] = share.maximum;
        exchange.sum[warp][g] = sum;
    }
}

// Joins the shares of the block's first `shares` warps, and the new token's in the newest block;
// sends each output to the block that joins the blocks.
__device__ __forceinline__ void send_shares(Exchange& exchange, int shares, bool newest) {
    const int rank = cluster_rank();
#pragma unroll 1
    for (int index = threadIdx.x; index < HEADS; index += THREADS) {
        const int g = index / HD;
        const float token = newest ? exchange.score[g] : NO_SCORE;
        float largest = token;
#pragma unroll 1
        for (int w = 0; w < shares; ++w) {
            largest = fmaxf(largest, exchange.maximum[w][g]);
        }
        float sum = newest ? fast_exp2(token - largest) : 0.0f;
        float value = newest ? sum * exchange.value[index % HD] : 0.0f;
#pragma unroll 1
        for (int w = 0; w < shares; ++w) {
            const float weight = fast_exp2(exchange.maximum[w][g] - largest);
            sum += weight * exchange.sum[w][g];
            value += weight * exchange.out[w][g][index % HD];
        }
        Arrivals& arrivals = exchange.part_arrivals;
        send(&exchange.parts[rank][index % OUTPUTS], arrivals, index / OUTPUTS, value);
        if (index % HD < CLUSTER) {
            send(&exchange.part_max[rank][g], arrivals, index % HD, largest);
            send(&exchange.part_sum[rank][g], arrivals, index % HD, sum);
        }
    }
}

// Joins the parts that all blocks have sent; CLUSTER lanes to an output.
__device__ __forceinline__ void write_outputs(bf16* out, const Exchange& exchange) {
    const int part = threadIdx.x % CLUSTER;
    const int rank = cluster_rank();
#pragma unroll 1
    for (int first = 0; first < OUTPUTS; first += THREADS / CLUSTER) {
        const int index = first + static_cast<int>(threadIdx.x) / CLUSTER;
        const bool used = index < OUTPUTS;
        const int g = used ? (rank * OUTPUTS + index) / HD : 0;
        const float maximum = exchange.part_max[part][g];
        float largest = maximum;
#pragma unroll
        for (int lanes = CLUSTER / 2; lanes > 0; lanes /= 2) {
            largest = fmaxf(largest, __shfl_xor_sync(FULL_MASK, largest, lanes));
        }
        const float weight = fast_exp2(maximum - largest);
        float total = weight * exchange.part_sum[part][g];
        float value = used ? weight * exchange.parts[part][index] : 0.0f;
#pragma unroll
        for (int lanes = CLUSTER / 2; lanes > 0; lanes /= 2) {
            total += __shfl_xor_sync(FULL_MASK, total, lanes);
            value += __shfl_xor_sync(FULL_MASK, value, lanes);
        }
        if (part == 0 && used) {
            out[rank * OUTPUTS + index] = to_bf16(value * fast_reciprocal(total));
        }
    }
}

extern "C" __global__ void __cluster_dims__(ATTENTION_CLUSTER, 1, 1) __launch_bounds__(THREADS, 1)
    self_attention_cluster_bf16(bf16* out, bf16* k_pool, bf16* v_pool, const float* x,
                                const bf16* norm, const bf16* qkv_proj, const bf16* q_norm,
                                const bf16* k_norm, const float* rope_table, const int* positions,
                                const int* slots, const int* block_table, int max_pages) {
    DYNAMIC_SHARED(uint4, warp_slots);
    const int warp = threadIdx.x / WARP;
    uint4* ring = warp_slots + warp * WARP_SLOTS;
    uint4* weights = ring + DEDICATED * TILE_SLOTS;
    Exchange& exchange = *reinterpret_cast<Exchange*>(warp_slots + WARPS * WARP_SLOTS);
    const int rank = cluster_rank();
    stage_weights(weights, qkv_proj);
    cp_async_commit();
    const int position = positions[0];
    if (position < 0) {
        return;  // all blocks alike, and without the wait: nobody uses what an idle row computes
    }
    // As even as possible; with few tiles only some warps have work.
    const int count = (position + TILE - 1) / TILE;
    const int first = rank * count / CLUSTER;
    const int end = (rank + 1) * count / CLUSTER;
    const int* table = block_table + static_cast<size_t>(slots[0]) * max_pages;
    const WarpTiles tiles = {k_pool, v_pool, table, first + warp, end, position};
#pragma unroll 1
    for (int half = 0; half < DEDICATED; ++half) {
        stage_half(ring + half * TILE_SLOTS, tiles, half);
    }
    uint4 norms[VECTORS];
    load_norms(norms, norm);
    const bool newest = rank == CLUSTER - 1;  // this block has the new token
    const Rotation rotation = load_rotation(warp < GROUP ? q_norm : k_norm, rope_table, position);
    const size_t new_row = row_place(table, position);
    expect_all(exchange);
    cluster_arrive();
    let_next_kernel_start();
    wait_for_previous_kernel();

    float sums[ROWS];
    multiply_qkv<DEDICATED>(sums, weights, x, norms);
    __syncwarp();  // all lanes have read their weights, which make room now
#pragma unroll 1
    for (int half = DEDICATED; half < RING; ++half) {
        stage_half(ring + half * TILE_SLOTS, tiles, half);
    }
    cluster_wait();  // all blocks have started
    send_token(exchange.token, exchange.token_arrivals, sums);
    wait_for_bytes(exchange.token_arrivals);

    prepare_token(exchange, rotation, newest, k_pool + new_row, v_pool + new_row);
    __syncthreads();
    if (newest && warp == WARPS - 1) {
        score_token(exchange);
    }
    if (tiles.first < tiles.end) {
        TileShare share = {NO_SCORE, 0.0f, {}};
        walk_tiles<RING>(share, load_queries(exchange.queries), ring, tiles);
        store_share(exchange, share);
    }
    __syncthreads();
    send_shares(exchange, min(WARPS, end - first), newest);
    wait_for_bytes(exchange.part_arrivals);
    write_outputs(out + static_cast<size_t>(blockIdx.y) * HEADS, exchange);
}
