// Operation   a decode step's self-attention of one layer for one row: x is normalised and multiplied
//             with qkv_proj, q and k are normalised (only with QK_NORM = 1) and rotated, k and v
//             appended to the pages, attention[h] = sum_s softmax_s(q[h] . k[s, kv] / sqrt(HD)) *
//             v[s, kv], kv = h / (NH / NKV), over positions 0 ... positions[0]; then each kv head's
//             part of the product with o_proj: parts[kv] = sum over its heads h of attention[h] *
//             o_proj[:, h]. The parts' sum is what the residual stream gets.
// Arguments   parts        [NKV, E] fp32, written; not for an idle row
//             k_pool, v_pool [pages, NKV, 64, HD] bf16, rows of the new token written
//             x            [E] fp32, 16-byte aligned: the residual stream
//             norm         [E] bf16
//             qkv_proj     [(NH + 2 NKV) HD, E] bf16, 16-byte aligned: rows of q, then k, then v
//             o_proj       [E, NH HD] bf16, 16-byte aligned
//             q_norm, k_norm [HD] bf16, 16-byte aligned; not read with QK_NORM = 0
//             rope_table   [capacity, HD/2, 2] fp32: cos, sin
//             positions    [1] int32: position of the new token; negative: an idle row
//             slots        [1] int32: row of block_table
//             block_table  [slots, max_pages] int32
//             max_pages    int32
// Launch      grid (CLUSTER, NKV) in clusters of CLUSTER = ATTENTION_CLUSTER blocks, block (256),
//             dynamic shared memory as engine/cuda/self_attention.py computes it. More than 8 blocks
//             in a cluster must be allowed with the driver.
// Assumes     9.0 and up; HD a power of two from 32 to 256, NH / NKV <= 8, (NH / NKV) * HD <= 1024,
//             E % 8 == 0 and E <= 2048, CLUSTER a power of two up to 16 that divides
//             (NH / NKV) * HD; the rest as decode_attention.cu
// Numerics    as decode_product.cu and decode_attention.cu, but that the attention's output is not
//             rounded; the order of all sums is fixed, and another one than there
// Source      one cluster has one kv head, so that the new token and the shares of the attention
//             pass through distributed shared memory and never through L2 (NVIDIA, "CUDA C++
//             Programming Guide", thread block clusters). The weights of qkv_proj, and the first
//             cached rows, are copied into shared memory before the previous kernel has ended;
//             those of o_proj take the same place while the attention is computed.
// Oracle      tests/kernels/test_self_attention_cluster.py
#include "common.cuh"
#include "cluster.cuh"
#include "attention_share.cuh"
#include "self_attention_products.cuh"

// ---------------------------------------------------------------- norm and rotation

// What a lane needs to rotate its chunk of a head, loaded ahead: dim i goes with dim i + HD / 2.
struct Angles {
    float2 of[8];
};

struct HeadNorm {
    uint4 own;
    uint4 other;
};

__device__ __forceinline__ Angles load_angles(const float* rope_table, int position) {
    const float2* angles = reinterpret_cast<const float2*>(rope_table) +
                           static_cast<size_t>(position) * (HD / 2);
    Angles loaded;
#pragma unroll
    for (int d = 0; d < 8; ++d) {
        loaded.of[d] = angles[static_cast<int>(threadIdx.x) % HALF * 8 + d];
    }
    return loaded;
}

__device__ __forceinline__ HeadNorm load_norm(const bf16* norm) {
    const int chunk = threadIdx.x % KEY_LANES;
    HeadNorm loaded = {};
    if (QK_NORM) {
        loaded.own = load_16_bytes(norm + chunk * 8);
        loaded.other = load_16_bytes(norm + (chunk ^ HALF) * 8);
    }
    return loaded;
}

// This lane's chunk of a head, normalised and rotated. All lanes of the warp call.
__device__ __forceinline__ void rotate_chunk(float (&out)[8], const float* head,
                                             const HeadNorm& norm, const Angles& angles) {
    const int chunk = threadIdx.x % KEY_LANES;
    float own[8];
    float other[8];
    load_8_floats(own, head + chunk * 8);
    load_8_floats(other, head + (chunk ^ HALF) * 8);
    if (QK_NORM) {
        float squares = 0.0f;
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            squares += own[d] * own[d];
        }
#pragma unroll
        for (int lanes = KEY_LANES / 2; lanes > 0; lanes /= 2) {
            squares += __shfl_xor_sync(FULL_MASK, squares, lanes);
        }
        const float scale = fast_reciprocal_root(squares * (1.0f / HD) + RMS_NORM_EPS);
        float own_factors[8];
        float other_factors[8];
        unpack_8_bf16(own_factors, norm.own);
        unpack_8_bf16(other_factors, norm.other);
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            own[d] *= scale * own_factors[d];
            other[d] *= scale * other_factors[d];
        }
    }
#pragma unroll
    for (int d = 0; d < 8; ++d) {
        const float turned = other[d] * angles.of[d].y;
        out[d] = own[d] * angles.of[d].x + (chunk < HALF ? -turned : turned);
    }
}

// ---------------------------------------------------------------- attention

__device__ __forceinline__ size_t row_place(const int* table, int position) {
    constexpr size_t PAGE = static_cast<size_t>(NKV) * PAGE_TOKENS * HD;
    return table[position / PAGE_TOKENS] * PAGE +
           (static_cast<size_t>(blockIdx.y) * PAGE_TOKENS + position % PAGE_TOKENS) * HD;
}

// Begins to copy what this lane will read of a unit, into slots of its own; closes the group.
__device__ __forceinline__ void stage_unit(uint4* slots, const BlockShare& block, int unit) {
    if (unit < block.end) {
        const size_t place = row_place(block.table, unit * UNIT) + threadIdx.x % KEY_LANES * 8;
#pragma unroll
        for (int i = 0; i < KEYS_EACH; ++i) {
            const int key = i * KEYS_AT_ONCE + static_cast<int>(threadIdx.x) / KEY_LANES;
            const bool valid = unit * UNIT + key < block.cached;
            const size_t row = place + (valid ? key * HD : 0);
            cp_async_16(slots + i * THREADS + threadIdx.x, block.k_pool + row, valid);
            cp_async_16(slots + (KEYS_EACH + i) * THREADS + threadIdx.x, block.v_pool + row, valid);
        }
    }
    cp_async_commit();
}

__device__ __forceinline__ void walk_units(Share (&shares)[GROUP], const float (&query)[GROUP][8],
                                           uint4* ring, const BlockShare& block) {
    int stage = 0;
#pragma unroll 1
    for (int unit = block.first; unit < block.end; ++unit) {
        uint4* slots = ring + stage * UNIT_SLOTS + threadIdx.x;
        cp_async_wait<STAGES - 1>();
        uint4 keys[KEYS_EACH];
        uint4 values[KEYS_EACH];
#pragma unroll
        for (int i = 0; i < KEYS_EACH; ++i) {
            keys[i] = slots[i * THREADS];
            values[i] = slots[(KEYS_EACH + i) * THREADS];
        }
        stage_unit(ring + stage * UNIT_SLOTS, block, unit + STAGES);
        float scores[KEYS_EACH][GROUP];
        score_rows(scores, keys, query, block.cached - unit * UNIT);
        add_rows(shares, scores, values);
        stage = stage + 1 < STAGES ? stage + 1 : 0;
    }
}

// The new token's own key and value: appended to the pages, and the first of this warp's shares.
// All lanes of the warp call; the first KEY_LANES have the token.
__device__ __forceinline__ void take_token(Share (&shares)[GROUP], const float (&query)[GROUP][8],
                                           const float* token, const HeadNorm& norm,
                                           const Angles& angles, bf16* k_row, bf16* v_row) {
    const int lane = threadIdx.x % WARP;
    const int chunk = lane % KEY_LANES;
    float key[8];
    float value[8];
    rotate_chunk(key, token + GROUP * HD, norm, angles);
    load_8_floats(value, token + (GROUP + 1) * HD + chunk * 8);
    // As the cache holds them.
    const uint4 packed_key = pack_8_bf16(key);
    const uint4 packed_value = pack_8_bf16(value);
    unpack_8_bf16(key, packed_key);
    unpack_8_bf16(value, packed_value);
    if (lane < KEY_LANES) {
        store_16_bytes(k_row + chunk * 8, packed_key);
        store_16_bytes(v_row + chunk * 8, packed_value);
    }
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        float dot = 0.0f;
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            dot += query[g][d] * key[d];
        }
#pragma unroll
        for (int lanes = KEY_LANES / 2; lanes > 0; lanes /= 2) {
            dot += __shfl_xor_sync(FULL_MASK, dot, lanes);
        }
        if (lane < KEY_LANES) {
            shares[g].maximum = dot;
            shares[g].sum = 1.0f;
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                shares[g].out[d] = value[d];
            }
        }
    }
}

// ---------------------------------------------------------------- joining

__device__ __forceinline__ void store_shares(Exchange& exchange, const Share (&shares)[GROUP]) {
    const int warp = threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP;
    if (lane < KEY_LANES) {
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
            store_8_floats(&exchange.out[warp][g][lane * 8], shares[g].out);
            exchange.maximum[warp][g] = shares[g].maximum;
            exchange.sum[warp][g] = shares[g].sum;
        }
    }
}

// Joins the block's warps and sends each output to the block that joins the blocks.
__device__ __forceinline__ void send_shares(Exchange& exchange) {
    const int rank = cluster_rank();
#pragma unroll 1
    for (int index = threadIdx.x; index < HEADS; index += THREADS) {
        const int g = index / HD;
        float largest = NO_SCORE;
#pragma unroll
        for (int w = 0; w < DECODE_WARPS; ++w) {
            largest = fmaxf(largest, exchange.maximum[w][g]);
        }
        float sum = 0.0f;
        float value = 0.0f;
#pragma unroll
        for (int w = 0; w < DECODE_WARPS; ++w) {
            const float weight = fast_exp2(exchange.maximum[w][g] - largest);
            sum += weight * exchange.sum[w][g];
            value += weight * exchange.out[w][g][index % HD];
        }
        store_to_block(&exchange.parts[rank][index % OUTPUTS], index / OUTPUTS, value);
        if (index % HD < CLUSTER) {
            store_to_block(&exchange.part_max[rank][g], index % HD, largest);
            store_to_block(&exchange.part_sum[rank][g], index % HD, sum);
        }
    }
}

// Joins the shares that all blocks have sent, CLUSTER lanes to an output, and sends it to all.
__device__ __forceinline__ void join_blocks(Exchange& exchange) {
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
        if (used) {
            float* place = &exchange.joined[rank * OUTPUTS + index];
            store_to_block(place, part, value * fast_reciprocal(total));
        }
    }
}

extern "C" __global__ void __cluster_dims__(ATTENTION_CLUSTER, 1, 1) __launch_bounds__(THREADS)
    self_attention_cluster_bf16(float* parts, bf16* k_pool, bf16* v_pool, const float* x,
                                const bf16* norm, const bf16* qkv_proj, const bf16* o_proj,
                                const bf16* q_norm, const bf16* k_norm, const float* rope_table,
                                const int* positions, const int* slots, const int* block_table,
                                int max_pages) {
    DYNAMIC_SHARED(uint4, weights);
    uint4* ring = weights + WEIGHT_SLOTS;
    Exchange& exchange = *reinterpret_cast<Exchange*>(ring + STAGES * UNIT_SLOTS);
    const int rank = cluster_rank();
    stage_qkv(weights, qkv_proj);
    cp_async_commit();
    const int position = positions[0];
    if (position < 0) {
        return;  // all blocks alike
    }
    // Units as even as possible; with few of them only some blocks have work.
    const int units = (position + UNIT - 1) / UNIT;
    const BlockShare block = {k_pool,
                              v_pool,
                              block_table + static_cast<size_t>(slots[0]) * max_pages,
                              rank * units / CLUSTER,
                              (rank + 1) * units / CLUSTER,
                              position};
#pragma unroll
    for (int stage = 0; stage < STAGES; ++stage) {
        stage_unit(ring + stage * UNIT_SLOTS, block, block.first + stage);
    }
    uint4 norms[VECTORS];
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        norms[v] = inside(v) ? load_16_bytes(norm + place_of(v)) : make_uint4(0, 0, 0, 0);
    }
    const Angles angles = load_angles(rope_table, position);
    const HeadNorm query_norm = load_norm(q_norm);
    const HeadNorm key_norm = load_norm(k_norm);
    // The last block has the newest positions, and its first warp the new token.
    const bool newest = rank == CLUSTER - 1 && threadIdx.x < WARP;
    const size_t new_row = row_place(block.table, position);
    cluster_arrive();
    let_next_kernel_start();
    wait_for_previous_kernel();

    float sums[ROWS];
    multiply_qkv(sums, weights, x, norms);
    cluster_wait();  // all blocks have started
    send_token(exchange, sums);
    cluster_arrive();
    stage_o(weights, o_proj);
    cp_async_commit();
    cluster_wait();

    float query[GROUP][8];
    Share shares[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        shares[g] = {NO_SCORE, 0.0f, {}};
        rotate_chunk(query[g], exchange.token + g * HD, query_norm, angles);
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            query[g][d] *= SOFTMAX_SCALE;
        }
    }
    if (newest) {
        take_token(shares, query, exchange.token, key_norm, angles, k_pool + new_row,
                   v_pool + new_row);
    }
    walk_units(shares, query, ring, block);
    join_warp(shares);
    store_shares(exchange, shares);
    __syncthreads();
    send_shares(exchange);
    cluster_arrive();
    cluster_wait();
    join_blocks(exchange);
    cluster_arrive();
    cluster_wait();
    multiply_o(parts + static_cast<size_t>(blockIdx.y) * E, weights, exchange.joined);
}
