// Operation   the attention of a decode step, from the product with qkv_proj to its output:
//               q and k of the new token are normalised (only with QK_NORM = 1) and rotated by its
//               position, k and v appended to the pages of the token's slot; then
//               out[b, h] = sum_s softmax_s(q[b, h] . k[s, kv] / sqrt(HD)) * v[s, kv],
//               kv = h / (NH / NKV), over positions 0 ... positions[b]
// Arguments   out          [B, NH, HD] bf16, written; not for idle rows
//             partial_out  [B, NH, SPLITS, HD] fp32, scratch: sum of 2^(score - max) * v of a share
//             partial_max  [B, NH, SPLITS] fp32, scratch: largest score * log2(e) of the share
//             partial_sum  [B, NH, SPLITS] fp32, scratch: sum of 2^(score - max)
//             arrivals     [B, NKV] uint32, 0 before and after
//             k_pool, v_pool [pages, NKV, 64, HD] bf16, rows of the new tokens written
//             qkv          [B, (NH + 2 NKV) HD] fp32: heads of q, then of k, then of v
//             q_norm, k_norm [HD] bf16, not read with QK_NORM = 0
//             rope_table   [capacity, HD/2, 2] fp32: cos, sin
//             positions    [B] int32: position of the new token; negative: an idle row
//             slots        [B] int32: row of block_table
//             block_table  [slots, max_pages] int32
//             max_pages    int32
// Launch      grid (SPLITS, NKV, B), block (256), no dynamic shared memory. SPLITS is
//             ATTENTION_SPLITS, 32 at most. All that changes from step to step lies in device
//             memory: one graph serves all.
// Assumes     HD % 8 == 0, HD <= 256, NH / NKV <= 8, (NH / NKV) * HD <= 1024; pages up to
//             positions[b] / 64 in the table, pointers 16-byte aligned; rows of the cache before
//             positions[b], positions, slots and block_table are as an earlier step left them (they
//             are read before the previous kernel has ended). Rows past positions[b] may hold
//             anything.
// Numerics    fp32 throughout, base-2 exponentials; k and v of the new token are rounded to bf16 as
//             the cache holds them, q is not rounded. The order of all sums is fixed.
// Source      Dao et al. 2023, "Flash-Decoding"; merging softmaxes: Milakov, Gimelshein 2018. The
//             block that arrives last at a kv head joins its shares.
// Oracle      tests/kernels/test_decode_attention.py
#include "common.cuh"
#include "head_rotation.cuh"

#ifndef ATTENTION_SPLITS
#define ATTENTION_SPLITS 32
#endif

constexpr int DECODE_WARPS = 8;
constexpr int GROUP = NH / NKV;  // query heads that share one kv head, and here each of its loads
constexpr int HEAD_CHUNKS = HD / 8;
// Lanes that share one key, a power of two; where HEAD_CHUNKS is none, the last lanes idle.
constexpr int KEY_LANES = HEAD_CHUNKS <= 4 ? 4 : HEAD_CHUNKS <= 8 ? 8 : HEAD_CHUNKS <= 16 ? 16 : 32;
constexpr int KEYS_AT_ONCE = DECODE_WARPS * WARP / KEY_LANES;  // that the block reads side by side
constexpr int KEYS_EACH = KEYS_AT_ONCE <= 32 ? 2 : 1;        // per lane, before the next are asked for
constexpr int UNIT = KEYS_AT_ONCE * KEYS_EACH;               // positions that the block reads at once
// Below any score, but finite: the difference of two such maxima is 0 and not NaN.
constexpr float NO_SCORE = -1.0e30f;

static_assert(HD % 8 == 0 && HD <= 256, "decode_attention: unsupported head_dim");
static_assert(GROUP <= 8 && GROUP * HD <= 1024, "decode_attention: too many heads share a kv head");
static_assert(PAGE_TOKENS % UNIT == 0, "decode_attention: pages are whole units");

constexpr int SPLITS = ATTENTION_SPLITS;
constexpr int PAGE_UNITS = PAGE_TOKENS / UNIT;

static_assert(SPLITS <= WARP, "decode_attention: a lane per share");

// The cached positions of one block: units of one kv head of one slot.
struct BlockShare {
    const bf16* k_pool;
    const bf16* v_pool;
    const int* table;  // of the slot
    int first;         // unit
    int end;
    int cached;  // positions in the cache, the new token's not counted
};

// Softmax under way of one query head: this lane's eight head dims.
struct Share {
    float maximum;
    float sum;
    float out[8];
};

// Takes over another share of the same head: both rescaled to the larger maximum.
__device__ __forceinline__ void join(Share& share, float maximum, float sum,
                                     const float (&out)[8]) {
    const float next = fmaxf(share.maximum, maximum);
    const float own_scale = fast_exp2(share.maximum - next);
    const float other_scale = fast_exp2(maximum - next);
    share.maximum = next;
    share.sum = share.sum * own_scale + sum * other_scale;
#pragma unroll
    for (int d = 0; d < 8; ++d) {
        share.out[d] = share.out[d] * own_scale + out[d] * other_scale;
    }
}

// scores[i][g] = query g . key i, in every lane that shares the key; rows from `keys` on: -inf.
__device__ __forceinline__ void score_rows(float (&scores)[KEYS_EACH][GROUP],
                                           const uint4 (&rows)[KEYS_EACH],
                                           const float (&query)[GROUP][8], int keys) {
    const int key = threadIdx.x / KEY_LANES;
#pragma unroll
    for (int i = 0; i < KEYS_EACH; ++i) {
        float k[8];
        unpack_8_bf16(k, rows[i]);
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
            float dot = 0.0f;
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                dot += query[g][d] * k[d];
            }
#pragma unroll
            for (int lanes = KEY_LANES / 2; lanes > 0; lanes /= 2) {
                dot += __shfl_xor_sync(FULL_MASK, dot, lanes);
            }
            scores[i][g] = i * KEYS_AT_ONCE + key < keys ? dot : negative_infinity();
        }
    }
}

__device__ __forceinline__ void add_rows(Share (&shares)[GROUP],
                                         const float (&scores)[KEYS_EACH][GROUP],
                                         const uint4 (&rows)[KEYS_EACH]) {
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        float next = shares[g].maximum;
#pragma unroll
        for (int i = 0; i < KEYS_EACH; ++i) {
            next = fmaxf(next, scores[i][g]);
        }
        const float correction = fast_exp2(shares[g].maximum - next);
        shares[g].maximum = next;
        shares[g].sum *= correction;
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            shares[g].out[d] *= correction;
        }
    }
#pragma unroll
    for (int i = 0; i < KEYS_EACH; ++i) {
        float v[8];
        unpack_8_bf16(v, rows[i]);
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
            const float weight = fast_exp2(scores[i][g] - shares[g].maximum);
            shares[g].sum += weight;
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                shares[g].out[d] += weight * v[d];
            }
        }
    }
}

// Joins the shares of the lanes of one warp that own the same head dims.
__device__ __forceinline__ void join_warp(Share (&shares)[GROUP]) {
#pragma unroll
    for (int lanes = KEY_LANES; lanes < WARP; lanes *= 2) {
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
            const float maximum = __shfl_xor_sync(FULL_MASK, shares[g].maximum, lanes);
            const float sum = __shfl_xor_sync(FULL_MASK, shares[g].sum, lanes);
            float out[8];
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                out[d] = __shfl_xor_sync(FULL_MASK, shares[g].out[d], lanes);
            }
            join(shares[g], maximum, sum, out);
        }
    }
}

// One output of a head, not yet divided by the sum of its weights.
struct Joined {
    float maximum;
    float sum;
    float out;
};

// Rows of one unit that this lane reads: key KEYS_AT_ONCE * i + its own. Rows from `keys` on stay
// zeros, whatever lies there.
__device__ __forceinline__ void load_rows(uint4 (&rows)[KEYS_EACH], const bf16* unit, int keys) {
    const int key = threadIdx.x / KEY_LANES;
    const int chunk = threadIdx.x % KEY_LANES;
#pragma unroll
    for (int i = 0; i < KEYS_EACH; ++i) {
        const bool valid = i * KEYS_AT_ONCE + key < keys && chunk < HEAD_CHUNKS;
        rows[i] = valid ? load_16_bytes(unit + (i * KEYS_AT_ONCE + key) * HD + chunk * 8)
                        : make_uint4(0, 0, 0, 0);
    }
}

// Keys and values of one unit.
struct Unit {
    uint4 keys[KEYS_EACH];
    uint4 values[KEYS_EACH];
};

__device__ __forceinline__ size_t place_of(const BlockShare& block, int unit) {
    constexpr size_t PAGE = static_cast<size_t>(NKV) * PAGE_TOKENS * HD;
    return block.table[unit / PAGE_UNITS] * PAGE +
           (static_cast<size_t>(blockIdx.y) * PAGE_TOKENS + unit % PAGE_UNITS * UNIT) * HD;
}

__device__ __forceinline__ void load_unit(Unit& unit, const BlockShare& block, int index,
                                          size_t place) {
    load_rows(unit.keys, block.k_pool + place, block.cached - index * UNIT);
    load_rows(unit.values, block.v_pool + place, block.cached - index * UNIT);
}

// Walks the block's units. The next one is asked for before this one is used up, so a lane always
// has loads under way.
__device__ __forceinline__ void walk_units(Share (&shares)[GROUP], const float (&query)[GROUP][8],
                                           Unit unit, const BlockShare& block) {
    size_t next_place = block.first + 1 < block.end ? place_of(block, block.first + 1) : 0;
#pragma unroll 1
    for (int index = block.first; index < block.end; ++index) {
        Unit next = {};
        if (index + 1 < block.end) {
            load_unit(next, block, index + 1, next_place);
            next_place = index + 2 < block.end ? place_of(block, index + 2) : 0;
        }
        float scores[KEYS_EACH][GROUP];
        score_rows(scores, unit.keys, query, block.cached - index * UNIT);
        add_rows(shares, scores, unit.values);
        unit = next;
    }
}

// The new token in shared memory, and the share of each warp.
struct __align__(16) AttentionShared {
    float q[GROUP][HD];
    float k[HD];
    float v[HD];
    float out[DECODE_WARPS][GROUP][HD];
    float maximum[DECODE_WARPS][GROUP];
    float sum[DECODE_WARPS][GROUP];
    float token_score[GROUP];
    float scale[GROUP][SPLITS];
    float total[GROUP];
    bool last;
};

// The warps prepare the heads of q and, for the block that has the newest positions, k and v.
__device__ __forceinline__ void prepare_token(AttentionShared& shared, const float* token,
                                              const Rotation& rotation, bool newest, bf16* k_row,
                                              bf16* v_row) {
    const int warp = threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int head = warp; head < GROUP; head += DECODE_WARPS - 1) {
        // The last warp has the key's norm.
        if (warp < DECODE_WARPS - 1) {
            rotate_head(shared.q[head], token + (blockIdx.y * GROUP + head) * HD, rotation);
        }
    }
    if (newest && warp == DECODE_WARPS - 1) {
        rotate_head(shared.k, token + (NH + blockIdx.y) * HD, rotation);
        __syncwarp();
#pragma unroll 1
        for (int i = lane; i < HD; i += WARP) {
            const bf16 key = to_bf16(shared.k[i]);
            const bf16 value = to_bf16(token[(NH + NKV + blockIdx.y) * HD + i]);
            k_row[i] = key;
            v_row[i] = value;
            shared.k[i] = to_float(key);
            shared.v[i] = to_float(value);
        }
    } else if (warp == DECODE_WARPS - 1) {
#pragma unroll 1
        for (int i = lane; i < HD; i += WARP) {
            shared.k[i] = 0.0f;
            shared.v[i] = 0.0f;
        }
    }
}

// Score of the new token, for the block that has it. Warp g has query head g.
__device__ __forceinline__ void score_token(AttentionShared& shared, bool newest) {
#pragma unroll 1
    for (int g = threadIdx.x / WARP; g < GROUP; g += DECODE_WARPS) {
        float dot = 0.0f;
#pragma unroll
        for (int j = 0; j < 2 * PAIRS; ++j) {
            const int i = j * WARP + static_cast<int>(threadIdx.x) % WARP;
            dot += i < HD ? shared.q[g][i] * shared.k[i] : 0.0f;
        }
        dot = warp_sum(dot);
        if (threadIdx.x % WARP == 0) {
            shared.token_score[g] = newest ? dot * SOFTMAX_SCALE : NO_SCORE;
        }
    }
}

// The shares of the block's warps and of the new token, joined for one output.
__device__ __forceinline__ Joined join_block(const AttentionShared& shared, int g, int d) {
    // The new token has weight 1, its v and its score.
    float largest = shared.token_score[g];
#pragma unroll 1
    for (int w = 0; w < DECODE_WARPS; ++w) {
        largest = fmaxf(largest, shared.maximum[w][g]);
    }
    const float token = fast_exp2(shared.token_score[g] - largest);
    Joined joined = {largest, token, token * shared.v[d]};
#pragma unroll 2
    for (int w = 0; w < DECODE_WARPS; ++w) {
        const float weight = fast_exp2(shared.maximum[w][g] - largest);
        joined.out += weight * shared.out[w][g][d];
        joined.sum += weight * shared.sum[w][g];
    }
    return joined;
}

// Joins the shares of all blocks of one kv head; `first_share` is that of head 0, split 0.
__device__ __forceinline__ void join_shares(bf16* out, AttentionShared& shared,
                                            const float* partial_out, const float* partial_max,
                                            const float* partial_sum, size_t first_share,
                                            int active) {
    const int lane = threadIdx.x % WARP;
#pragma unroll 1
    for (int g = threadIdx.x / WARP; g < GROUP; g += DECODE_WARPS) {
        const size_t share = first_share + static_cast<size_t>(g) * SPLITS + lane;
        const bool used = lane < active;
        const float maximum = used ? load_from_l2(partial_max + share) : NO_SCORE;
        const float sum = used ? load_from_l2(partial_sum + share) : 0.0f;
        const float scale = fast_exp2(maximum - warp_max(maximum));
        const float total = warp_sum(sum * scale);
        if (lane < SPLITS) {
            shared.scale[g][lane] = scale;
        }
        if (lane == 0) {
            shared.total[g] = total;
        }
    }
    __syncthreads();
#pragma unroll 1
    for (int index = threadIdx.x; index < GROUP * HD; index += DECODE_WARPS * WARP) {
        const int g = index / HD;
        const float* source =
            partial_out + (first_share + static_cast<size_t>(g) * SPLITS) * HD + index % HD;
        float value = 0.0f;
#pragma unroll 4
        for (int s = 0; s < active; ++s) {
            value += shared.scale[g][s] * load_from_l2(source + s * HD);
        }
        out[index] = to_bf16(value * fast_reciprocal(shared.total[g]));
    }
}

extern "C" __global__ void __launch_bounds__(DECODE_WARPS* WARP)
    decode_attention_bf16(bf16* out, float* partial_out, float* partial_max, float* partial_sum,
                          unsigned* arrivals, bf16* k_pool, bf16* v_pool, const float* qkv,
                          const bf16* q_norm, const bf16* k_norm, const float* rope_table,
                          const int* positions, const int* slots, const int* block_table,
                          int max_pages) {
    __shared__ AttentionShared shared;
    const int b = blockIdx.z;
    const int first_head = blockIdx.y * GROUP;
    const int split = blockIdx.x;
    const int position = positions[b];
    // Whole pages, as even as possible; with few pages only some blocks have work.
    const int count = (position + PAGE_TOKENS - 1) / PAGE_TOKENS;
    const int active = count < 1 ? 1 : count < SPLITS ? count : SPLITS;
    if (position < 0 || split >= active) {
        return;
    }
    const BlockShare block = {k_pool,
                              v_pool,
                              block_table + static_cast<size_t>(slots[b]) * max_pages,
                              split * count / active * PAGE_UNITS,
                              (split + 1) * count / active * PAGE_UNITS,
                              position};
    Unit unit = {};
    if (block.first < block.end) {
        load_unit(unit, block, block.first, place_of(block, block.first));
    }
    const bool newest = split == active - 1;
    const bool has_key = threadIdx.x / WARP == DECODE_WARPS - 1;
    const Rotation rotation = load_rotation(has_key ? k_norm : q_norm, rope_table, position);
    const size_t new_row = (static_cast<size_t>(block.table[position / PAGE_TOKENS]) * NKV +
                            blockIdx.y) * PAGE_TOKENS + position % PAGE_TOKENS;
    let_next_kernel_start();
    wait_for_previous_kernel();

    prepare_token(shared, qkv + static_cast<size_t>(b) * (NH + 2 * NKV) * HD, rotation, newest,
                  k_pool + new_row * HD, v_pool + new_row * HD);
    __syncthreads();
    score_token(shared, newest);
    const int chunk = threadIdx.x % KEY_LANES;
    float query[GROUP][8] = {};
    Share shares[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        shares[g] = {NO_SCORE, 0.0f, {}};
        if (chunk < HEAD_CHUNKS) {
            load_8_floats(query[g], &shared.q[g][chunk * 8]);
        }
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            query[g][d] *= SOFTMAX_SCALE;
        }
    }
    walk_units(shares, query, unit, block);
    join_warp(shares);
    const int warp = threadIdx.x / WARP;
    if (threadIdx.x % WARP < HEAD_CHUNKS) {
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
            store_8_floats(&shared.out[warp][g][chunk * 8], shares[g].out);
            shared.maximum[warp][g] = shares[g].maximum;
            shared.sum[warp][g] = shares[g].sum;
        }
    }
    __syncthreads();

    bf16* heads = out + (static_cast<size_t>(b) * NH + first_head) * HD;
    const size_t first_share = (static_cast<size_t>(b) * NH + first_head) * SPLITS;
#pragma unroll 1
    for (int index = threadIdx.x; index < GROUP * HD; index += DECODE_WARPS * WARP) {
        const int g = index / HD;
        const Joined joined = join_block(shared, g, index % HD);
        if (active == 1) {
            heads[index] = to_bf16(joined.out * fast_reciprocal(joined.sum));
            continue;
        }
        const size_t share = first_share + static_cast<size_t>(g) * SPLITS + split;
        partial_out[share * HD + index % HD] = joined.out;
        if (index % HD == 0) {
            partial_max[share] = joined.maximum;
            partial_sum[share] = joined.sum;
        }
    }
    if (active == 1) {
        return;
    }
    // Each thread's own writes first, then the block's arrival.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned* arrived = arrivals + b * NKV + blockIdx.y;
        shared.last = atomicAdd(arrived, 1u) == static_cast<unsigned>(active - 1);
        if (shared.last) {
            *arrived = 0;
        }
    }
    __syncthreads();
    if (shared.last) {
        __threadfence();
        join_shares(heads, shared, partial_out, partial_max, partial_sum, first_share, active);
    }
}
