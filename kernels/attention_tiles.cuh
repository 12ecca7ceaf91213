// The attention of one new token over cached rows of one kv head, on the tensor cores.
//
// Operation   none by itself; inlined into self_attention_cluster.cu
// Assumes     blocks of 32 WARPS threads; 8.0 and up; HD 32, 64 or 128; NH / NKV <= 4
// Numerics    fp32 sums, base-2 exponentials. Queries and weights are two bf16 each, what one leaves
//             out lies in the other, so that they are exact to 2^-17. The order of sums is fixed.
// Source      Dao et al. 2023, "Flash-Decoding". A product takes 8 columns, and few heads share a kv
//             head: column 2 g is query head g, 2 g + 1 what rounding has left of it. Keys are rows
//             of the first product, head dims of the second, so a lane's scores and outputs all
//             belong to head lane % 4, and rescaling needs no other lane.
// Oracle      tests/kernels/test_self_attention_cluster.py
#pragma once

constexpr int WARPS = 8;
constexpr int GROUP = NH / NKV;         // query heads that share one kv head
constexpr int TILE = 16;                // positions that a warp multiplies at once
constexpr int STEPS = HD / 16;          // of 16 head dims
constexpr int CHUNKS = HD / 8;          // 16-byte vectors of a row
constexpr int TILE_SLOTS = TILE * CHUNKS;  // of the keys, or of the values
constexpr int SWIZZLE = CHUNKS < 8 ? CHUNKS : 8;
// Below any score, but finite: the difference of two such maxima is 0 and not NaN.
constexpr float NO_SCORE = -1.0e30f;

static_assert(HD == 32 || HD == 64 || HD == 128, "attention_tiles: unsupported head_dim");
static_assert(GROUP <= 4, "attention_tiles: two columns a head, eight in all");

// Queries of all heads, as the product wants them.
struct Queries {
    unsigned of[STEPS][2];
};

// Softmax under way of head lane % 4: dims 16 s + lane / 4 and 8 further. Whoever reads out adds
// the two columns.
struct TileShare {
    float maximum;
    float sum;  // of this lane's keys
    float out[STEPS][4];
};

// Tiles of one warp: `first` and every WARPS-th after it.
struct WarpTiles {
    const bf16* k_pool;
    const bf16* v_pool;
    const int* table;  // of the slot
    int first;
    int end;
    int cached;  // positions in the cache, the new token's not counted
};

__device__ __forceinline__ size_t row_place(const int* table, int position) {
    constexpr size_t PAGE = static_cast<size_t>(NKV) * PAGE_TOKENS * HD;
    return table[position / PAGE_TOKENS] * PAGE +
           (static_cast<size_t>(blockIdx.y) * PAGE_TOKENS + position % PAGE_TOKENS) * HD;
}

// Rows of a tile are rotated chunk by chunk, so that eight rows of a column lie in eight banks.
__device__ __forceinline__ int slot_of(int row, int chunk) {
    return row * CHUNKS + (chunk ^ row % SWIZZLE);
}

// Begins to copy the keys (half 2 i) or the values (2 i + 1) of this warp's tile i; closes the group.
__device__ __forceinline__ void stage_half(uint4* slots, const WarpTiles& tiles, int half) {
    const int tile = tiles.first + half / 2 * WARPS;
    if (tile < tiles.end) {
        const bf16* pool = half % 2 ? tiles.v_pool : tiles.k_pool;
        const bf16* rows = pool + row_place(tiles.table, tile * TILE);
#pragma unroll
        for (int i = 0; i < STEPS; ++i) {
            const int index = i * WARP + static_cast<int>(threadIdx.x) % WARP;
            const int row = index / CHUNKS;
            const int chunk = index % CHUNKS;
            const bool valid = tile * TILE + row < tiles.cached;
            cp_async_16(slots + slot_of(row, chunk), rows + (valid ? row * HD + chunk * 8 : 0),
                        valid);
        }
    }
    cp_async_commit();
}

// Two bf16 that together are `value`: rounded, and what that has left.
__device__ __forceinline__ unsigned split_bf16(float value) {
    const float left = value - low_bf16(pack_bf16(value, 0.0f));
    return pack_bf16(value, left);
}

constexpr int COLUMNS = 2 * GROUP;  // used; the others may hold anything, nothing reads their sums

// The columns of the first product, a row each; + 8: eight rows lie in eight banks.
struct __align__(16) QueryColumns {
    bf16 of[COLUMNS][HD + 8];
};

// `value`, scaled, is dim `d` of query head `g`.
__device__ __forceinline__ void set_query(QueryColumns& columns, int g, int d, float value) {
    const unsigned split = split_bf16(value);
    columns.of[2 * g][d] = {static_cast<unsigned short>(split)};
    columns.of[2 * g + 1][d] = {static_cast<unsigned short>(split >> 16)};
}

__device__ __forceinline__ float query_value(const QueryColumns& columns, int g, int d) {
    return to_float(columns.of[2 * g][d]) + to_float(columns.of[2 * g + 1][d]);
}

__device__ __forceinline__ Queries load_queries(const QueryColumns& columns) {
    const int lane = threadIdx.x % WARP;
    Queries queries;
#pragma unroll
    for (int s = 0; s < STEPS; s += 2) {
        unsigned loaded[4];
        ldmatrix<4, false>(loaded, &columns.of[lane % 8 % COLUMNS][s * 16 + lane / 8 * 8]);
        queries.of[s][0] = loaded[0];
        queries.of[s][1] = loaded[1];
        queries.of[s + 1][0] = loaded[2];
        queries.of[s + 1][1] = loaded[3];
    }
    return queries;
}

// Scores of head lane % 4 with keys lane / 4 and 8 further.
__device__ __forceinline__ void score_tile(float (&scores)[2], const uint4* slots,
                                           const Queries& queries) {
    const int lane = threadIdx.x % WARP;
    float sums[2][4] = {};  // two chains: a product waits for the one before it
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        unsigned keys[4];
        ldmatrix<4, false>(keys, slots + slot_of(lane % 16, 2 * s + lane / 16));
        mma_m16n8k16(sums[s % 2], keys, queries.of[s]);
    }
    scores[0] = sums[0][0] + sums[0][1] + (sums[1][0] + sums[1][1]);
    scores[1] = sums[0][2] + sums[0][3] + (sums[1][2] + sums[1][3]);
}

// Takes the scores of a tile into the share: its maximum, sum and scale. Gives the weights as the
// product with the values wants them. Keys from `keys` on do not count.
__device__ __forceinline__ void weigh_tile(unsigned (&weights)[2], TileShare& share,
                                           float (&scores)[2], int keys) {
    const int key = static_cast<int>(threadIdx.x) % WARP / 4;
    scores[0] = key < keys ? scores[0] : negative_infinity();
    scores[1] = key + 8 < keys ? scores[1] : negative_infinity();
    float next = fmaxf(scores[0], scores[1]);
#pragma unroll
    for (int lanes = 4; lanes < WARP; lanes *= 2) {
        next = fmaxf(next, __shfl_xor_sync(FULL_MASK, next, lanes));
    }
    next = fmaxf(share.maximum, next);
    const float correction = fast_exp2(share.maximum - next);
    share.maximum = next;
    share.sum *= correction;
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            share.out[s][i] *= correction;
        }
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const float weight = fast_exp2(scores[i] - next);
        share.sum += weight;
        weights[i] = transpose_matrix(split_bf16(weight));
    }
}

__device__ __forceinline__ void add_values(TileShare& share, const uint4* slots,
                                           const unsigned (&weights)[2]) {
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int s = 0; s < STEPS; ++s) {
        unsigned values[4];
        ldmatrix<4, true>(values, slots + slot_of(lane % 8 + lane / 16 * 8, 2 * s + lane / 8 % 2));
        mma_m16n8k16(share.out[s], values, weights);
    }
}

// Walks the warp's tiles. Their first RING halves have been staged; the others follow here, each as
// soon as its place in the ring is free.
template <int RING>
__device__ __forceinline__ void walk_tiles(TileShare& share, const Queries& queries, uint4* ring,
                                           const WarpTiles& tiles) {
    int slot = 0;
    int half = RING;  // to be staged next
#pragma unroll 1
    for (int tile = tiles.first; tile < tiles.end; tile += WARPS) {
        uint4* keys = ring + slot * TILE_SLOTS;
        slot = slot + 1 < RING ? slot + 1 : 0;
        uint4* values = ring + slot * TILE_SLOTS;
        slot = slot + 1 < RING ? slot + 1 : 0;
        float scores[2];
        unsigned weights[2];
        cp_async_wait<RING - 1>();
        __syncwarp();
        score_tile(scores, keys, queries);
        __syncwarp();
        stage_half(keys, tiles, half++);
        weigh_tile(weights, share, scores, tiles.cached - tile * TILE);
        cp_async_wait<RING - 1>();
        __syncwarp();
        add_values(share, values, weights);
        __syncwarp();
        stage_half(values, tiles, half++);
    }
}
