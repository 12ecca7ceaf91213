// What the sampler files share: the state of a slot, ranks, masses.
//
// The rules are those of engine/cpu/sampler.py. Launch order on one stream, for B rows:
// sample_scores, sample_histogram (sample_scores.cu), then sample_draw (sample_draw.cu); or, where
// every row is greedy or keeps at most TOP_K_MAX ids and wants no detail, sample_scores and
// sample_top_k (sample_top_k.cu), which draws the same. A row whose slot has stopped is left alone
// by all of them. Buffers:
//   state     slot_states  [slots] SlotState, 96 bytes
//             records      [slots, record_capacity] TokenRecord, 96 bytes: ring of drawn tokens;
//                          token number i of a slot (its `index` before the draw) stands at
//                          i % record_capacity
//             token_ids    [B] int32: the drawn token, input of the next step; kept for idle rows
//             positions    [B] int32: in, the position of the token whose logits these are; out, the
//                          position of the drawn token, or -1 once the slot has stopped
//             occurrences  [slots, V] uint32: bit 31: the id stands in the prompt; the rest: times
//                          generated in this reply
//   input     logits       [B, V] fp32, 16-byte aligned
//             slots        [B] int32: slot of each row, all different
//   scratch   scores       [B, V] fp32, 16-byte aligned
//             chunks       [B, CHUNKS] ChunkResult, 128 bytes; CHUNKS = ceil(V / 1024)
//             bin_masses   [B, 2048] uint64
//             bin_counts   [B, 2048] uint32
//             candidates   [B, 32, SEGMENT] int32; SEGMENT = ceil(V / 4096) * 128
// Numerics    scores are fp32 without fused operations. Probabilities are integers (exp scaled by
//             2^40), so every sum is exact and runs repeat. Differences from the NumPy sampler: the
//             last bits of exp.
//
// NumPy: SlotState = [("temperature","<f4"), ("top_k","<i4"), ("top_p","<f4"), ("min_p","<f4"),
//   ("presence","<f4"), ("frequency","<f4"), ("repetition","<f4"), ("detail","<i4"),
//   ("seed","<u8"), ("index","<i4"), ("length","<i4"), ("capacity","<i4"), ("stopped","<i4"),
//   ("stop_count","<i4"), ("stop_ids","<i4",(8,)), ("pending","<i4")]
// TokenRecord = [("token_id","<i4"), ("logprob","<f4"), ("rank","<i4"), ("stopped","<i4"),
//   ("alternative_ids","<i4",(10,)), ("alternative_logprobs","<f4",(10,))]
#pragma once
#include "common.cuh"


typedef unsigned long long mass_t;

constexpr int CHUNK = 1024;
constexpr int CHUNKS = (V + CHUNK - 1) / CHUNK;
constexpr int CHUNK_THREADS = 256;
constexpr int CHUNK_VECTORS = CHUNK / CHUNK_THREADS / 4;
constexpr int DRAW_THREADS = 1024;
constexpr int DRAW_WARPS = DRAW_THREADS / WARP;
constexpr int SEGMENT = (V + DRAW_WARPS * 128 - 1) / (DRAW_WARPS * 128) * 128;  // ids per warp
constexpr int BINS = 2048;
constexpr float BINS_PER_UNIT = 64.0f;  // a mass of 0 begins at 28.4 units, in bin 1819
constexpr int ALTERNATIVES = 10;
constexpr int MAX_STOP_IDS = 8;
constexpr int TOP_K_MAX = 64;
constexpr int ID_BITS = 21;
constexpr float GREEDY_BELOW = 1e-6f;
constexpr unsigned IN_PROMPT = 0x80000000u;

static_assert(V <= 1 << ID_BITS, "ids must fit into the rank");

enum Detail { DETAIL_NONE = 0, DETAIL_LOGPROB = 1, DETAIL_ALTERNATIVES = 2 };
enum Stopped { LIVE = 0, STOPPED_BY_TOKEN = 1, STOPPED_BY_CAPACITY = 2, STOPPED_BY_NAN = 3 };

struct SlotState {
    float temperature;
    int top_k;  // 0: off
    float top_p;
    float min_p;
    float presence;
    float frequency;
    float repetition;
    int detail;
    unsigned long long seed;
    int index;     // tokens generated so far
    int length;    // tokens in the cache, the pending one not counted
    int capacity;  // positions that the slot's cache holds
    int stopped;
    int stop_count;
    int stop_ids[MAX_STOP_IDS];
    int pending;  // the token drawn last
};
static_assert(sizeof(SlotState) == 96, "the NumPy dtype above");

struct TokenRecord {
    int token_id;
    float logprob;  // NaN without detail
    int rank;       // -1 without detail
    int stopped;    // why the slot stopped with this token, else LIVE
    int alternative_ids[ALTERNATIVES];  // -1 where there is none
    float alternative_logprobs[ALTERNATIVES];
};
static_assert(sizeof(TokenRecord) == 96, "the NumPy dtype above");

// What one block of sample_scores found in its 1024 ids.
struct ChunkResult {
    mass_t best;       // rank_of the best score
    float exp_sum;     // sum of exp(logit - largest logit of the chunk), with detail
    float logit_max;   // largest raw logit
    int not_finite;
    int padding;
    mass_t alternatives[ALTERNATIVES];  // rank_of the best raw logits, best first, with detail
    mass_t reserved[3];
};
static_assert(sizeof(ChunkResult) == 128, "the size named above");

// ---------------------------------------------------------------- ranks, scores, masses

// Larger is better: by score, then by lower id. Never 0, never equal for two ids.
__device__ __forceinline__ mass_t rank_of(float score, int id) {
    const unsigned bits = __float_as_uint(score == 0.0f ? 0.0f : score);  // -0 equals 0
    const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    return static_cast<mass_t>(ordered) << ID_BITS | ((1u << ID_BITS) - 1u - id);
}

__device__ __forceinline__ int id_of_rank(mass_t rank) {
    return (1 << ID_BITS) - 1 - static_cast<int>(rank & ((1u << ID_BITS) - 1u));
}

__device__ __forceinline__ float score_of_rank(mass_t rank) {
    const unsigned ordered = static_cast<unsigned>(rank >> ID_BITS);
    return __uint_as_float(ordered & 0x80000000u ? ordered & 0x7FFFFFFFu : ~ordered);
}

__device__ __forceinline__ bool has_penalty(const SlotState& state) {
    return state.repetition != 1.0f || state.presence != 0.0f || state.frequency != 0.0f;
}

__device__ __forceinline__ float penalized(float score, unsigned occurrence,
                                           const SlotState& state) {
    if (occurrence != 0) {
        score = score < 0.0f ? __fmul_rn(score, state.repetition)
                             : __fdiv_rn(score, state.repetition);
    }
    const unsigned count = occurrence & ~IN_PROMPT;
    if (count > 0) {
        score = __fsub_rn(score, __fmul_rn(state.frequency, static_cast<float>(count)));
        score = __fsub_rn(score, state.presence);
    }
    return score;
}

// (score - best) / temperature: 0 for the best, else negative.
__device__ __forceinline__ float distance(float score, float best, float temperature) {
    return __fdiv_rn(__fsub_rn(score, best), temperature);
}

__device__ __forceinline__ mass_t mass_of_weight(float weight) {
    return static_cast<mass_t>(__float2ull_rn(__fmul_rn(weight, 1099511627776.0f)));  // 2^40
}

// Falls with the score, so the bins are in the order of ranks.
__device__ __forceinline__ int bin_of(float distance) {
    return static_cast<int>(fminf(-distance * BINS_PER_UNIT, BINS - 1.0f));
}

// Four neighbours, minus infinity past the vocabulary; one 16-byte load where rows allow it.
__device__ __forceinline__ void load_4_scores(float (&out)[4], const float* row, int first) {
    if constexpr (V % 4 == 0) {
        const float none = negative_infinity();
        const float4 loaded = first < V ? *reinterpret_cast<const float4*>(row + first)
                                        : make_float4(none, none, none, none);
        out[0] = loaded.x;
        out[1] = loaded.y;
        out[2] = loaded.z;
        out[3] = loaded.w;
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            out[i] = first + i < V ? row[first + i] : negative_infinity();
        }
    }
}

// Largest value of the block, in every thread; `scratch` has 32 places and may be used again.
__device__ __forceinline__ mass_t block_max_rank(mass_t value, mass_t* scratch) {
    const int lane = threadIdx.x % WARP;
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) {
        value = max(value, __shfl_xor_sync(FULL_MASK, value, lanes));
    }
    if (lane == 0) {
        scratch[threadIdx.x / WARP] = value;
    }
    __syncthreads();
    value = lane < static_cast<int>(blockDim.x) / WARP ? scratch[lane] : 0;
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) {
        value = max(value, __shfl_xor_sync(FULL_MASK, value, lanes));
    }
    __syncthreads();
    return value;
}

struct RowSummary {
    mass_t best;
    bool not_finite;
};

// Combines the chunks of a row; every thread gets the result.
__device__ __forceinline__ RowSummary summarize(const ChunkResult* chunks, mass_t* scratch) {
    mass_t best = 0;
    int not_finite = 0;
    for (int c = threadIdx.x; c < CHUNKS; c += blockDim.x) {
        best = max(best, chunks[c].best);
        not_finite |= chunks[c].not_finite;
    }
    not_finite = __syncthreads_or(not_finite);
    return {block_max_rank(best, scratch), not_finite != 0};
}

// ---------------------------------------------------------------- the end of a draw

// Word 0 of Philox4x32-10 (Salmon et al. 2011).
__device__ __forceinline__ unsigned philox(unsigned long long key, unsigned counter) {
    unsigned k0 = static_cast<unsigned>(key);
    unsigned k1 = static_cast<unsigned>(key >> 32);
    unsigned c0 = counter, c1 = 0, c2 = 0, c3 = 0;
    for (int round = 0; round < 10; ++round) {
        const unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        const unsigned high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c0;
}

// 24 random bits as a share of `total`; the draw is the first id whose running sum is above it.
__device__ __forceinline__ mass_t draw_target(const SlotState& state, mass_t total) {
    const unsigned random = philox(state.seed, static_cast<unsigned>(state.index));
    const double share = static_cast<double>(random >> 8) * (1.0 / 16777216.0);
    return static_cast<mass_t>(share * static_cast<double>(total));
}

// What a record says without detail; the block's first threads.
__device__ __forceinline__ void clear(TokenRecord& record) {
    if (threadIdx.x == 0) {
        record.logprob = __uint_as_float(0x7FC00000u);
        record.rank = -1;
    }
    if (threadIdx.x < ALTERNATIVES) {
        record.alternative_ids[threadIdx.x] = -1;
        record.alternative_logprobs[threadIdx.x] = __uint_as_float(0x7FC00000u);
    }
}

// Records the drawn token and moves the slot on; one thread.
__device__ __forceinline__ void advance(SlotState& state, TokenRecord& record, int* token_id_out,
                                        int* position, unsigned* occurrences, int token_id) {
    state.pending = token_id;
    state.index += 1;
    state.length = *position + 1;
    occurrences[token_id] += 1;
    bool stop = false;
    for (int i = 0; i < state.stop_count; ++i) {
        stop = stop || state.stop_ids[i] == token_id;
    }
    state.stopped = stop                            ? STOPPED_BY_TOKEN
                    : state.length >= state.capacity ? STOPPED_BY_CAPACITY
                                                     : LIVE;
    record.token_id = token_id;
    record.stopped = state.stopped;
    *token_id_out = token_id;
    *position = state.stopped == LIVE ? state.length : -1;
}
