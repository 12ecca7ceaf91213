// The attention of a decode step inside one block: cached rows of one kv head, dealt to the lanes.
//
// Operation   none by itself; inlined into decode_attention.cu and self_attention_cluster.cu.
// Assumes     blocks of 32 DECODE_WARPS threads
// Numerics    fp32, base-2 exponentials; the order of all sums is fixed
// Source      Dao et al. 2023, "Flash-Decoding"; Milakov, Gimelshein 2018 (joining softmaxes)
// Oracle      tests/kernels/test_decode_attention.py, test_self_attention_cluster.py
#pragma once

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
