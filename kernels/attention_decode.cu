// Operation   attention_decode_bf16: for one new token per slot, the attention of q over one share
//             of the cached positions 0 ... positions[b]; attention_merge_bf16 joins the shares.
//             out[b, h] = sum_s softmax_s(q[b, h] . k[s, kv] / sqrt(HD)) * v[s, kv],
//             kv = h / (NH / NKV)
// Arguments   attention_decode_bf16:
//               partial_out  [B, NH, SPLITS, HD] fp32, written: sum of 2^(score - max) * v
//               partial_max  [B, NH, SPLITS] fp32, written: largest score * log2(e) of the share
//               partial_sum  [B, NH, SPLITS] fp32, written: sum of 2^(score - max)
//               q            [B, NH, HD] bf16, normed and rotated
//               k_pool, v_pool [pages, NKV, 64, HD] bf16; the new token's rows are already there
//               block_table  [slots, max_pages] int32
//               positions    [B] int32: position of the new token; negative: nothing to do, out = 0
//               slots        [B] int32: row of block_table
//               max_pages    int32
//             attention_merge_bf16:
//               out          [B, NH, HD] bf16, written
//               partial_out, partial_max, partial_sum as above, read; B int32
// Launch      attention_decode_bf16: grid (SPLITS, NKV, B), block (256), no dynamic shared memory
//             attention_merge_bf16:  grid (NH, B), block (HD), no dynamic shared memory
//             SPLITS is ATTENTION_SPLITS, 16 unless the compiler gets -DATTENTION_SPLITS=...
//             All that changes from step to step lies in device memory: one graph serves all.
// Assumes     HD % 8 == 0, HD <= 256, NH / NKV <= 8, (NH / NKV) * HD <= 1024; pages up to
//             positions[b] / 64 in the table, pointers 16-byte aligned. Rows past positions[b] may
//             hold anything. Also fit for several tokens of one sequence: give each its own b.
// Numerics    fp32 throughout, base-2 exponentials; a share without positions is (0, -inf, 0). The
//             order of all sums is fixed. Relative error of out about 2^-9 (its rounding).
// Source      Dao et al. 2023, "Flash-Decoding"; merging softmaxes: Milakov, Gimelshein 2018
// Oracle      tests/kernels/test_attention_decode.py
#include "common.cuh"

#ifndef ATTENTION_SPLITS
#define ATTENTION_SPLITS 16
#endif

constexpr int SPLITS = ATTENTION_SPLITS;
constexpr int DECODE_WARPS = 8;
constexpr int GROUP = NH / NKV;  // query heads that share one kv head, and here each of its loads
constexpr int HEAD_CHUNKS = HD / 8;
// Lanes that share one key, a power of two; where HEAD_CHUNKS is none, the last lanes idle.
constexpr int KEY_LANES = HEAD_CHUNKS <= 4 ? 4 : HEAD_CHUNKS <= 8 ? 8 : HEAD_CHUNKS <= 16 ? 16 : 32;
constexpr int KEYS_AT_ONCE = DECODE_WARPS * WARP / KEY_LANES;  // that the block reads side by side
constexpr int KEYS_EACH = (PAGE_TOKENS + KEYS_AT_ONCE - 1) / KEYS_AT_ONCE;  // of one page, per lane
// Below any score, but finite: the difference of two such maxima is 0 and not NaN.
constexpr float NO_SCORE = -1.0e30f;

static_assert(HD % 8 == 0 && HD <= 256, "attention_decode: unsupported head_dim");
static_assert(GROUP <= 8 && GROUP * HD <= 1024, "attention_decode: too many heads share a kv head");

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
    const float own_scale = exp2f(share.maximum - next);
    const float other_scale = exp2f(maximum - next);
    share.maximum = next;
    share.sum = share.sum * own_scale + sum * other_scale;
#pragma unroll
    for (int d = 0; d < 8; ++d) {
        share.out[d] = share.out[d] * own_scale + out[d] * other_scale;
    }
}

// Rows of one page that this lane reads: key KEYS_AT_ONCE * i + its own. Rows from `keys` on stay
// zeros, whatever lies there.
__device__ __forceinline__ void load_rows(uint4 (&rows)[KEYS_EACH], const bf16* page, int keys) {
    const int key = threadIdx.x / KEY_LANES;
    const int chunk = threadIdx.x % KEY_LANES;
#pragma unroll
    for (int i = 0; i < KEYS_EACH; ++i) {
        const bool valid = i * KEYS_AT_ONCE + key < keys && chunk < HEAD_CHUNKS;
        rows[i] = valid ? load_16_bytes(page + (i * KEYS_AT_ONCE + key) * HD + chunk * 8)
                        : make_uint4(0, 0, 0, 0);
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
        const float correction = exp2f(shares[g].maximum - next);
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
            const float weight = exp2f(scores[i][g] - shares[g].maximum);
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

// Walks the pages [first_page, end_page) of one kv head. The next page's keys are asked for as soon
// as this page's are used up, and its values likewise, so a lane always has loads under way.
__device__ __forceinline__ void walk_pages(Share (&shares)[GROUP], const float (&query)[GROUP][8],
                                           const bf16* k_pool, const bf16* v_pool, const int* table,
                                           int first_page, int end_page, int positions) {
    const size_t head = static_cast<size_t>(blockIdx.y) * PAGE_TOKENS * HD;
    constexpr size_t PAGE = static_cast<size_t>(NKV) * PAGE_TOKENS * HD;
    uint4 keys[KEYS_EACH];
    uint4 values[KEYS_EACH];
    size_t place = table[first_page] * PAGE + head;
    int left = positions - first_page * PAGE_TOKENS;
    load_rows(keys, k_pool + place, left);
    load_rows(values, v_pool + place, left);
    int next = first_page + 1 < end_page ? table[first_page + 1] : 0;
    for (int page = first_page; page < end_page; ++page) {
        float scores[KEYS_EACH][GROUP];
        score_rows(scores, keys, query, left);
        left -= PAGE_TOKENS;
        const bool more = page + 1 < end_page;
        if (more) {
            place = next * PAGE + head;
            load_rows(keys, k_pool + place, left);
            next = page + 2 < end_page ? table[page + 2] : 0;
        }
        add_rows(shares, scores, values);
        if (more) {
            load_rows(values, v_pool + place, left);
        }
    }
}

extern "C" __global__ void __launch_bounds__(DECODE_WARPS * 32)
    attention_decode_bf16(float* __restrict__ partial_out, float* __restrict__ partial_max,
                          float* __restrict__ partial_sum, const bf16* __restrict__ q,
                          const bf16* __restrict__ k_pool, const bf16* __restrict__ v_pool,
                          const int* __restrict__ block_table, const int* __restrict__ positions,
                          const int* __restrict__ slots, int max_pages) {
    __shared__ float warp_out[DECODE_WARPS][GROUP][HD];
    __shared__ float warp_max[DECODE_WARPS][GROUP];
    __shared__ float warp_sum[DECODE_WARPS][GROUP];
    const int b = blockIdx.z;
    const int first_head = blockIdx.y * GROUP;
    const int split = blockIdx.x;
    const int visible = positions[b] + 1;
    const int* table = block_table + static_cast<size_t>(slots[b]) * max_pages;
    // Whole pages, as even as possible; with few pages some shares stay empty.
    const int pages = visible > 0 ? (visible + PAGE_TOKENS - 1) / PAGE_TOKENS : 0;
    const int first_page = split * pages / SPLITS;
    const int end_page = (split + 1) * pages / SPLITS;
    const size_t first_share = (static_cast<size_t>(b) * NH + first_head) * SPLITS + split;
    if (first_page == end_page) {
        for (int index = threadIdx.x; index < GROUP * HD; index += blockDim.x) {
            partial_out[(first_share + index / HD * SPLITS) * HD + index % HD] = 0.0f;
        }
        if (threadIdx.x < GROUP) {
            partial_max[first_share + threadIdx.x * SPLITS] = negative_infinity();
            partial_sum[first_share + threadIdx.x * SPLITS] = 0.0f;
        }
        return;
    }

    const int chunk = threadIdx.x % KEY_LANES;
    float query[GROUP][8] = {};
    Share shares[GROUP];
#pragma unroll
    for (int g = 0; g < GROUP; ++g) {
        shares[g] = {NO_SCORE, 0.0f, {}};
        if (chunk < HEAD_CHUNKS) {
            const size_t head = static_cast<size_t>(b) * NH + first_head + g;
            unpack_8_bf16(query[g], load_16_bytes(q + head * HD + chunk * 8));
        }
#pragma unroll
        for (int d = 0; d < 8; ++d) {
            query[g][d] *= SOFTMAX_SCALE;
        }
    }
    walk_pages(shares, query, k_pool, v_pool, table, first_page, end_page, visible);
    join_warp(shares);

    const int warp = threadIdx.x / WARP;
    if (threadIdx.x % WARP < HEAD_CHUNKS) {
#pragma unroll
        for (int g = 0; g < GROUP; ++g) {
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                warp_out[warp][g][chunk * 8 + d] = shares[g].out[d];
            }
            warp_max[warp][g] = shares[g].maximum;
            warp_sum[warp][g] = shares[g].sum;
        }
    }
    __syncthreads();
    for (int index = threadIdx.x; index < GROUP * HD; index += blockDim.x) {
        const int g = index / HD;
        float largest = warp_max[0][g];
#pragma unroll
        for (int w = 1; w < DECODE_WARPS; ++w) {
            largest = fmaxf(largest, warp_max[w][g]);
        }
        float out = 0.0f;
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < DECODE_WARPS; ++w) {
            const float weight = exp2f(warp_max[w][g] - largest);
            out += weight * warp_out[w][g][index % HD];
            sum += weight * warp_sum[w][g];
        }
        const size_t share = first_share + static_cast<size_t>(g) * SPLITS;
        partial_out[share * HD + index % HD] = out;
        if (index % HD == 0) {
            partial_max[share] = largest;
            partial_sum[share] = sum;
        }
    }
}

extern "C" __global__ void __launch_bounds__(HD)
    attention_merge_bf16(bf16* __restrict__ out, const float* __restrict__ partial_out,
                         const float* __restrict__ partial_max,
                         const float* __restrict__ partial_sum, int B) {
    const int b = blockIdx.y;
    if (b >= B) {
        return;
    }
    const size_t head = static_cast<size_t>(b) * NH + blockIdx.x;
    float largest = NO_SCORE;
#pragma unroll
    for (int s = 0; s < SPLITS; ++s) {
        largest = fmaxf(largest, partial_max[head * SPLITS + s]);
    }
    float value = 0.0f;
    float sum = 0.0f;
#pragma unroll
    for (int s = 0; s < SPLITS; ++s) {
        const float weight = exp2f(partial_max[head * SPLITS + s] - largest);
        value += weight * partial_out[(head * SPLITS + s) * HD + threadIdx.x];
        sum += weight * partial_sum[head * SPLITS + s];
    }
    // No positions at all: 0. A NaN in the sum stays a NaN.
    out[head * HD + threadIdx.x] = to_bf16(sum == 0.0f ? 0.0f : value / sum);
}
