// Operation   out[t, h] = sum_s softmax_s(q[t, h] . k[s, kv] / sqrt(HD)) * v[s, kv] over the cached
//             positions s <= first_position + t, with kv = h / (NH / NKV)
// Arguments   out               [T, NH, HD] bf16, written
//             q                 [T, NH, HD] bf16, normed and rotated
//             k_pool, v_pool    [pages, NKV, 64, HD] bf16; the T new rows are already in them
//             block_table_row   [max_pages] int32: page of positions 64 i ... 64 i + 63
//             T, first_position int32; first_position: positions cached before these T
// Launch      grid (NH, ceil(T / 128)), block (384), dynamic shared bytes 230,528
// Assumes     compute capability 9.0, compiled for sm_90a; HD = 128; T >= 1; first_position >= 0;
//             block_table_row covers position first_position + T - 1; pointers 16-byte aligned. Rows
//             past the last position may hold anything.
// Numerics    scores, maxima, sums in fp32, base-2 exponentials of scaled scores; the weights are
//             rounded to bf16 for the product with V but summed before rounding: error of out about
//             2^-9 of the largest |v|
// Source      Shah et al. 2024, "FlashAttention-3": the scores of one tile of keys are computed while
//             the weights of the tile before meet V, the tensor core serves one warpgroup while
//             the other one does its softmax, and a third warpgroup does nothing but copy
// Oracle      tests/kernels/test_attention_prefill_hopper.py
#include "common.cuh"
#include "wgmma.cuh"

static_assert(HD == 128, "attention_prefill_hopper: a head must be 128 columns");

constexpr int BLOCK_ROWS = 128;  // two warpgroups of 64
constexpr int CONSUMERS = 256;
constexpr int PRODUCERS = 128;
constexpr int BLOCK_THREADS = CONSUMERS + PRODUCERS;
constexpr int CONSUMER_REGISTERS = 216;
constexpr int PRODUCER_REGISTERS = 72;
// What each thread has at the start; a block that asks for more in all would wait for ever.
constexpr int START_REGISTERS = 65536 / BLOCK_THREADS / 8 * 8;
static_assert(CONSUMER_REGISTERS * CONSUMERS + PRODUCER_REGISTERS * PRODUCERS <=
                  START_REGISTERS * BLOCK_THREADS,
              "attention_prefill_hopper: more registers than the block has");
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

// One producer's share of the copies: a 16-byte chunk of every 8th row of a tile.
struct Copier {
    static constexpr int ROWS_PER_PASS = PRODUCERS / HEAD_CHUNKS;
    static constexpr int PASSES = KEYS / ROWS_PER_PASS;
    int row, chunk, place;

    __device__ __forceinline__ Copier() {
        row = (threadIdx.x - CONSUMERS) / HEAD_CHUNKS;
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

// Where the roles meet. Round r of a stage is its r-th tile.
struct Meeting {
    unsigned long long* full;     // of each stage: K of the tile and V of the tile before are here
    unsigned long long* k_empty;  // of each stage: the scores of its tile are done
    unsigned long long* v_empty;  // of each stage: V of its tile was used
    unsigned long long* turns;    // of each consumer: the other one has started its products
    unsigned long long* ended;    // V of the last tile is here

    __device__ __forceinline__ explicit Meeting(unsigned char* place) {
        full = reinterpret_cast<unsigned long long*>(place);
        k_empty = full + STAGES;
        v_empty = k_empty + STAGES;
        turns = v_empty + STAGES;
        ended = turns + 2;
        if (threadIdx.x == 0) {
            for (int stage = 0; stage < STAGES; ++stage) {
                barrier_init(full + stage, PRODUCERS);
                barrier_init(k_empty + stage, CONSUMERS);
                barrier_init(v_empty + stage, CONSUMERS);
            }
            barrier_init(turns, CONSUMERS / 2);
            barrier_init(turns + 1, CONSUMERS / 2);
            barrier_init(ended, PRODUCERS);
        }
    }

    __device__ __forceinline__ void wait_full(int tile) const {
        barrier_wait(full + tile % STAGES, tile / STAGES % 2);
    }

    static __device__ __forceinline__ void wait_empty(unsigned long long* empty, int tile) {
        if (tile >= STAGES) {
            barrier_wait(empty + tile % STAGES, (tile / STAGES - 1) % 2);
        }
    }

    static __device__ __forceinline__ void arrive(unsigned long long* barriers, int tile) {
        barrier_arrive(barriers + tile % STAGES);
    }
};

// Copies queries and, tile after tile, K and V; a tile is announced when the next one is under way.
__device__ __forceinline__ void produce(const Block& block, const Meeting& meeting,
                                        unsigned char* shared, const bf16* q, const bf16* k_pool,
                                        const bf16* v_pool, const int* block_table_row) {
    const Copier copier;
    int pages[2];
    load_pages(pages, block_table_row, 0, block.positions);
    copier.start_queries(shared, q, block);
    for (int tile = 0; tile < block.tiles; ++tile) {
        const int left = block.positions - tile * KEYS;
        const int place = tile % STAGES * TILE_BYTES;
        int next_pages[2];
        load_pages(next_pages, block_table_row, tile + 1, block.positions);
        meeting.wait_empty(meeting.k_empty, tile);
        copier.start_tile(shared + K_PLACE + place, k_pool, pages, left);
        cp_async_commit();
        if (tile > 0) {
            // All but this K and the V before it.
            cp_async_wait<2>();
            fence_for_tensor_core();
            meeting.arrive(meeting.full, tile - 1);
        }
        meeting.wait_empty(meeting.v_empty, tile);
        copier.start_tile(shared + V_PLACE + place, v_pool, pages, left);
        cp_async_commit();
        pages[0] = next_pages[0];
        pages[1] = next_pages[1];
    }
    cp_async_wait<1>();
    fence_for_tensor_core();
    meeting.arrive(meeting.full, block.tiles - 1);
    cp_async_wait<0>();
    fence_for_tensor_core();
    barrier_arrive(meeting.ended);
}

// One of two warpgroups: its 64 rows.
__device__ __forceinline__ void consume(const Block& block, const Meeting& meeting,
                                        const unsigned char* shared, bf16* out) {
    const int warpgroup = threadIdx.x / 128;
    const unsigned long long q_operand = matrix_descriptor(shared + warpgroup * 64 * ROW_BYTES);
    const unsigned long long k_operand = matrix_descriptor(shared + K_PLACE);
    const unsigned long long v_operand = matrix_descriptor(shared + V_PLACE, HALF_BYTES);
    Rows rows;
    rows.clear();
    float scores[KEYS / 2];
    float correction[2];
    unsigned weights[KEYS / 16][4];
    auto soften = [&](int tile) {
        settle(scores);
        meeting.arrive(meeting.k_empty, tile);
        if (needs_mask(block, tile * KEYS)) {
            rows.mask(scores, block.first_position, tile * KEYS);
        }
        rows.soften(scores, correction);
    };
    meeting.wait_full(0);
    wgmma_begin();
    rows.start_scores(scores, q_operand, k_operand);
    wgmma_wait<0>();
    soften(0);
    rows.pack(weights, scores);
    if (warpgroup == 1) {
        barrier_arrive(meeting.turns);
    }
    for (int tile = 1; tile < block.tiles; ++tile) {
        const int last = tile - 1;
        meeting.wait_full(tile);
        barrier_wait(meeting.turns + warpgroup, last % 2);
        wgmma_begin();
        rows.start_scores(scores, q_operand, advance(k_operand, tile % STAGES * TILE_BYTES));
        rows.start_values(weights, advance(v_operand, last % STAGES * TILE_BYTES));
        barrier_arrive(meeting.turns + 1 - warpgroup);
        wgmma_wait<1>();
        soften(tile);
        wgmma_wait<0>();
        settle(rows.out);
        meeting.arrive(meeting.v_empty, last);
        rows.correct(correction);
        rows.pack(weights, scores);
    }
    const int last = block.tiles - 1;
    barrier_wait(meeting.ended, 0);
    wgmma_begin();
    rows.start_values(weights, advance(v_operand, last % STAGES * TILE_BYTES));
    wgmma_wait<0>();
    settle(rows.out);
    rows.store(out, block);
}

extern "C" __global__ void __launch_bounds__(BLOCK_THREADS, 1)
    attention_prefill_hopper(bf16* __restrict__ out, const bf16* __restrict__ q,
                             const bf16* __restrict__ k_pool, const bf16* __restrict__ v_pool,
                             const int* __restrict__ block_table_row, int T, int first_position) {
    DYNAMIC_SHARED(unsigned char, unaligned);
    unsigned char* const shared = align_to_atom(unaligned);
    const Block block(T, first_position);
    const Meeting meeting(shared + BARRIER_PLACE);
    __syncthreads();  // the barriers are made
    let_next_kernel_start();
    wait_for_previous_kernel();
    if (threadIdx.x >= CONSUMERS) {
        give_registers_back<PRODUCER_REGISTERS>();
        produce(block, meeting, shared, q, k_pool, v_pool, block_table_row);
    } else {
        take_registers<CONSUMER_REGISTERS>();
        consume(block, meeting, shared, out);
    }
}
