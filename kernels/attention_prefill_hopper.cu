// Operation   out[t, h] = sum_s softmax_s(q[t, h] . k[s, kv] / sqrt(HD)) * v[s, kv] over the cached
//             positions s <= first_position + t, with kv = h / (NH / NKV)
// Arguments   out               [T, NH, HD] bf16, written
//             q                 [T, NH, HD] bf16, normed and rotated
//             k_pool, v_pool    [pages, NKV, 64, HD] bf16; the T new rows are already in them
//             block_table_row   [max_pages] int32: page of positions 64 i ... 64 i + 63
//             T, first_position int32; first_position: positions cached before these T
// Launch      grid (NH, ceil(T / 128)), block (256), dynamic shared bytes 230,464
// Assumes     compute capability 9.0, compiled for sm_90a; HD = 128; T >= 1; first_position >= 0;
//             block_table_row covers position first_position + T - 1; pointers 16-byte aligned. Rows
//             past the last position may hold anything.
// Numerics    scores, maxima, sums in fp32, base-2 exponentials of scaled scores; the weights are
//             rounded to bf16 for the product with V but summed before rounding: error of out about
//             2^-9 of the largest |v|
// Source      Shah et al. 2024, "FlashAttention-3": the scores of one tile of keys are computed while
//             the weights of the tile before meet V, and the tensor core serves one warpgroup while
//             the other one does its softmax
// Oracle      tests/kernels/test_attention_prefill_hopper.py
#include "common.cuh"
#include "wgmma.cuh"

static_assert(HD == 128, "attention_prefill_hopper: a head must be 128 columns");

constexpr int BLOCK_ROWS = 128;  // two warpgroups of 64
constexpr int BLOCK_THREADS = 256;
constexpr int KEYS = 128;  // of one tile: two pages
constexpr int HEAD_CHUNKS = HD / 8;
constexpr int HALF_BYTES = KEYS * ROW_BYTES;  // 64 head dims of all rows of a tile
constexpr int TILE_BYTES = 2 * HALF_BYTES;

// Places in shared memory: queries, then the stages of K, those of V, and the barriers.
constexpr int STAGES = 3;
constexpr int K_PLACE = TILE_BYTES;
constexpr int V_PLACE = K_PLACE + STAGES * TILE_BYTES;
constexpr int BARRIER_PLACE = V_PLACE + STAGES * TILE_BYTES;

struct Block {
    int first_row;       // of T
    int rows;            // that exist
    int first_position;  // of first_row
    int positions;       // cached positions that any row sees
    int tiles;

    // Heavy blocks come first in the grid.
    __device__ __forceinline__ Block(int T, int first_position_of_all) {
        first_row = static_cast<int>(gridDim.y - 1 - blockIdx.y) * BLOCK_ROWS;
        rows = min(BLOCK_ROWS, T - first_row);
        first_position = first_position_of_all + first_row;
        positions = first_position + rows;
        tiles = (positions + KEYS - 1) / KEYS;
    }
};

// One thread's share of the copies: a 16-byte chunk of every 16th row of a tile.
struct Copier {
    static constexpr int ROWS_PER_PASS = BLOCK_THREADS / HEAD_CHUNKS;
    static constexpr int PASSES = KEYS / ROWS_PER_PASS;
    int row, chunk, place;

    __device__ __forceinline__ Copier() {
        row = threadIdx.x / HEAD_CHUNKS;
        chunk = threadIdx.x % HEAD_CHUNKS;
        place = chunk / 8 * HALF_BYTES + row * ROW_BYTES + (chunk % 8 ^ row % 8) * 16;
    }

    __device__ __forceinline__ void start_queries(unsigned char* tile, const bf16* q,
                                                  const Block& block) const {
        const bf16* source =
            q + (static_cast<size_t>(block.first_row + row) * NH + blockIdx.x) * HD + chunk * 8;
#pragma unroll
        for (int pass = 0; pass < PASSES; ++pass) {
            cp_async_16(tile + place + pass * ROWS_PER_PASS * ROW_BYTES,
                        source + static_cast<size_t>(pass) * ROWS_PER_PASS * NH * HD,
                        row + pass * ROWS_PER_PASS < block.rows);
        }
    }

    // Rows from `left` on arrive as zeros (0 * NaN is NaN).
    __device__ __forceinline__ void start_tile(unsigned char* tile, const bf16* pool,
                                               const int (&pages)[2], int left) const {
        const int kv_head = blockIdx.x / (NH / NKV);
#pragma unroll
        for (int pass = 0; pass < PASSES; ++pass) {
            const int tile_row = row + pass * ROWS_PER_PASS;
            const size_t page = pages[pass * ROWS_PER_PASS / PAGE_TOKENS];
            const bf16* source =
                pool + ((page * NKV + kv_head) * PAGE_TOKENS + tile_row % PAGE_TOKENS) * HD;
            cp_async_16(tile + place + pass * ROWS_PER_PASS * ROW_BYTES, source + chunk * 8,
                        tile_row < left);
        }
    }
};

// The two pages of a tile of keys; where the sequence ends before the second one, the first again.
__device__ __forceinline__ void load_pages(int (&pages)[2], const int* block_table_row, int tile,
                                           int positions) {
    const int first_key = tile * KEYS;
    pages[0] = block_table_row[min(first_key, positions - 1) / PAGE_TOKENS];
    pages[1] = block_table_row[min(first_key + PAGE_TOKENS, positions - 1) / PAGE_TOKENS];
}

// The rows of one warpgroup. A lane holds rows lane / 4 and lane / 4 + 8 of its warp's sixteen.
struct Rows {
    float out[HD / 2];
    float maximum[2];  // scaled, base 2
    float sum[2];      // of this lane's columns

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < HD / 2; ++i) {
            out[i] = 0.0f;
        }
        maximum[0] = maximum[1] = negative_infinity();
        sum[0] = sum[1] = 0.0f;
    }

    // Starts scores[64, KEYS] = q . k.
    static __device__ __forceinline__ void start_scores(float (&scores)[KEYS / 2],
                                                        unsigned long long q,
                                                        unsigned long long k) {
#pragma unroll
        for (int step = 0; step < HD / 16; ++step) {
            const int bytes = step / 4 * HALF_BYTES + step % 4 * 32;
            wgmma(scores, advance(q, bytes), advance(k, bytes), step > 0);
        }
        wgmma_commit();
    }

    // Starts out += weights . v.
    __device__ __forceinline__ void start_values(const unsigned (&weights)[KEYS / 16][4],
                                                 unsigned long long v) {
#pragma unroll
        for (int step = 0; step < KEYS / 16; ++step) {
            wgmma_transposed(out, weights[step], advance(v, step * 16 * ROW_BYTES));
        }
        wgmma_commit();
    }

    // Hides keys after each row's own position.
    static __device__ __forceinline__ void mask(float (&scores)[KEYS / 2], int first_position,
                                                int first_key) {
        const int limit =
            first_position + lane_row() - first_key - static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) {
            const bool hidden = i / 4 * 8 + i % 2 - i / 2 % 2 * 8 > limit;
            scores[i] = hidden ? negative_infinity() : scores[i];
        }
    }

    // Turns scores into weights relative to the new maxima; `out` is still to be corrected.
    __device__ __forceinline__ void soften(float (&scores)[KEYS / 2], float (&correction)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float largest = negative_infinity();
#pragma unroll
            for (int j = 0; j < KEYS / 8; ++j) {
                largest = fmaxf(largest, scores[j * 4 + half * 2]);
                largest = fmaxf(largest, scores[j * 4 + half * 2 + 1]);
            }
            // The four lanes of a quad share a row.
            largest = fmaxf(largest, __shfl_xor_sync(FULL_MASK, largest, 1));
            largest = fmaxf(largest, __shfl_xor_sync(FULL_MASK, largest, 2));
            // Finite from the first tile on: every row sees position 0.
            const float next = fmaxf(maximum[half], largest * SOFTMAX_SCALE);
            correction[half] = exp2f(maximum[half] - next);
            maximum[half] = next;
            sum[half] *= correction[half];
#pragma unroll
            for (int j = 0; j < KEYS / 8; ++j) {
#pragma unroll
                for (int c = 0; c < 2; ++c) {
                    float& score = scores[j * 4 + half * 2 + c];
                    score = exp2f(score * SOFTMAX_SCALE - next);
                    sum[half] += score;
                }
            }
        }
    }

    __device__ __forceinline__ void correct(const float (&correction)[2]) {
#pragma unroll
        for (int i = 0; i < HD / 2; ++i) {
            out[i] *= correction[i / 2 % 2];
        }
    }

    // The layout of sixteen columns of sums is that of one operand in registers.
    static __device__ __forceinline__ void pack(unsigned (&weights)[KEYS / 16][4],
                                                const float (&scores)[KEYS / 2]) {
#pragma unroll
        for (int step = 0; step < KEYS / 16; ++step) {
#pragma unroll
            for (int part = 0; part < 4; ++part) {
                const int i = step * 8 + part * 2;
                weights[step][part] = pack_bf16(scores[i], scores[i + 1]);
            }
        }
    }

    __device__ __forceinline__ void store(bf16* destination, const Block& block) const {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float total = sum[half];
            total += __shfl_xor_sync(FULL_MASK, total, 1);
            total += __shfl_xor_sync(FULL_MASK, total, 2);
            const float inverse = 1.0f / total;
            const int row = lane_row() + half * 8;
            bf16* place =
                destination + (static_cast<size_t>(block.first_row + row) * NH + blockIdx.x) * HD;
#pragma unroll
            for (int j = 0; j < HD / 8; j += 2) {
                const float* pair = out + j * 4 + half * 2;
                store_two_pairs(place, j, pack_bf16(pair[0] * inverse, pair[1] * inverse),
                                pack_bf16(pair[4] * inverse, pair[5] * inverse),
                                row < block.rows);
            }
        }
    }
};

// Keys that a row of this block must not see, or that do not exist, may lie in the tile.
__device__ __forceinline__ bool needs_mask(const Block& block, int first_key) {
    return first_key + KEYS > block.first_position + 1;
}

// How the two warpgroups keep together, loosely: one may be half a tile ahead. Phase i of each
// barrier belongs to tile i + 1.
struct Meeting {
    unsigned long long* keys;    // K is here for all, and the scores of the tile before are done
    unsigned long long* values;  // V of the tile before is here, and the one before that was used
    unsigned long long* turns;   // of each warpgroup: the other one has started its products
    int warpgroup;

    __device__ __forceinline__ explicit Meeting(unsigned char* place) {
        keys = reinterpret_cast<unsigned long long*>(place);
        values = keys + 1;
        turns = keys + 2;
        warpgroup = threadIdx.x / 128;
        if (threadIdx.x == 0) {
            barrier_init(keys, BLOCK_THREADS);
            barrier_init(values, BLOCK_THREADS);
            barrier_init(turns, BLOCK_THREADS / 2);
            barrier_init(turns + 1, BLOCK_THREADS / 2);
        }
    }

    __device__ __forceinline__ void wait_for_turn(int tile) const {
        barrier_wait(turns + warpgroup, (tile - 1) % 2);
    }

    __device__ __forceinline__ void give_turn() const { barrier_arrive(turns + 1 - warpgroup); }
};

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    attention_prefill_hopper(bf16* __restrict__ out, const bf16* __restrict__ q,
                             const bf16* __restrict__ k_pool, const bf16* __restrict__ v_pool,
                             const int* __restrict__ block_table_row, int T, int first_position) {
    DYNAMIC_SHARED(unsigned char, unaligned);
    unsigned char* const shared = align_to_atom(unaligned);
    const Block block(T, first_position);
    const Meeting meeting(shared + BARRIER_PLACE);
    const Copier copier;
    let_next_kernel_start();
    wait_for_previous_kernel();
    int k_pages[2];  // of the tile whose K is copied next; V follows a tile behind
    int v_pages[2];
    load_pages(v_pages, block_table_row, 0, block.positions);
    load_pages(k_pages, block_table_row, 1, block.positions);
    copier.start_queries(shared, q, block);
    copier.start_tile(shared + K_PLACE, k_pool, v_pages, block.positions);
    cp_async_commit();
    // Copies K of `tile` and V of the tile before. Past the last tile: zeros that nobody reads.
    auto start_copies = [&](int tile) {
        const int left = block.positions - tile * KEYS;
        copier.start_tile(shared + K_PLACE + tile % STAGES * TILE_BYTES, k_pool, k_pages, left);
        copier.start_tile(shared + V_PLACE + (tile - 1) % STAGES * TILE_BYTES, v_pool, v_pages,
                          left + KEYS);
        cp_async_commit();
        v_pages[0] = k_pages[0];
        v_pages[1] = k_pages[1];
        load_pages(k_pages, block_table_row, tile + 1, block.positions);
    };
    start_copies(1);

    const unsigned long long q_operand =
        matrix_descriptor(shared + meeting.warpgroup * 64 * ROW_BYTES);
    const unsigned long long k_operand = matrix_descriptor(shared + K_PLACE);
    const unsigned long long v_operand = matrix_descriptor(shared + V_PLACE, HALF_BYTES);
    Rows rows;
    rows.clear();
    float scores[KEYS / 2];
    float correction[2];
    unsigned weights[KEYS / 16][4];
    // Ends the scores of a tile; its K, and the V that was copied with the next K, are done with.
    auto soften = [&](int tile) {
        settle(scores);
        cp_async_wait<1>();
        fence_for_tensor_core();
        barrier_arrive(meeting.keys);
        if (needs_mask(block, tile * KEYS)) {
            rows.mask(scores, block.first_position, tile * KEYS);
        }
        rows.soften(scores, correction);
    };
    cp_async_wait<1>();
    fence_for_tensor_core();
    __syncthreads();  // queries and first keys are here for all, the barriers too
    wgmma_begin();
    rows.start_scores(scores, q_operand, k_operand);
    start_copies(2);
    wgmma_wait<0>();
    soften(0);
    barrier_arrive(meeting.values);
    rows.pack(weights, scores);
    if (meeting.warpgroup == 1) {
        meeting.give_turn();
    }
    for (int tile = 1; tile < block.tiles; ++tile) {
        const int parity = (tile - 1) % 2;
        barrier_wait(meeting.keys, parity);
        meeting.wait_for_turn(tile);
        wgmma_begin();
        rows.start_scores(scores, q_operand, advance(k_operand, tile % STAGES * TILE_BYTES));
        barrier_wait(meeting.values, parity);
        rows.start_values(weights, advance(v_operand, (tile - 1) % STAGES * TILE_BYTES));
        meeting.give_turn();
        start_copies(tile + 2);
        wgmma_wait<1>();
        soften(tile);
        wgmma_wait<0>();
        settle(rows.out);
        barrier_arrive(meeting.values);
        rows.correct(correction);
        rows.pack(weights, scores);
    }
    barrier_wait(meeting.values, (block.tiles - 1) % 2);
    wgmma_begin();
    rows.start_values(weights, advance(v_operand, (block.tiles - 1) % STAGES * TILE_BYTES));
    wgmma_wait<0>();
    settle(rows.out);
    rows.store(out, block);
}
