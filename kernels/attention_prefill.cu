// Operation   out[t, h] = sum_s softmax_s(q[t, h] . k[s, kv] / sqrt(HD)) * v[s, kv] over the cached
//             positions s <= first_position + t, with kv = h / (NH / NKV)
// Arguments   out               [T, NH, HD] bf16, written
//             q                 [T, NH, HD] bf16, normed and rotated
//             k_pool, v_pool    [pages, NKV, 64, HD] bf16; the T new rows are already in them
//             block_table_row   [max_pages] int32: page of positions 64 i ... 64 i + 63
//             T, first_position int32; first_position: positions cached before these T
// Launch      grid (NH, ceil(T / ROWS)), block (128); dynamic shared bytes, with ROW = 2 HD + 16:
//               entry point                ROWS   bytes      HD = 64   HD = 128
//               attention_prefill_bf16       64   128 ROW     18,432     34,816
//               attention_prefill_bf16_128  128   256 ROW     36,864     69,632
//             On 7.5 both take min(bytes, 256 HD). The 128-row kernel reads K and V half as often;
//             it pays where NH * ceil(T / 128) blocks fill the device, and not on 8.6, 8.9 and
//             12.0, whose multiprocessors hold one such block at HD = 128. Above HD = 128 it is
//             correct but spills: take the 64-row kernel there.
// Assumes     HD % 16 == 0 and 32 <= HD <= 256 (on 7.5 above 128: HD % 32 == 0); T >= 1;
//             first_position >= 0; block_table_row covers position first_position + T - 1; pointers
//             16-byte aligned. Rows past the last position may hold anything.
// Numerics    scores, maxima, sums in fp32, base-2 exponentials of scaled scores; the weights are
//             rounded to bf16 for the product with V but summed before rounding: error of out about
//             2^-9 of the largest |v|. 7.5 keeps fp32 throughout.
// Source      Dao 2023, "FlashAttention-2": K loads behind softmax and PV, V loads behind QK^T
// Oracle      tests/kernels/test_attention_prefill.py
#include "common.cuh"

static_assert(HD % 16 == 0 && HD >= 32 && HD <= 256, "attention_prefill: unsupported head_dim");

constexpr int PREFILL_THREADS = 128;
constexpr int HEAD_CHUNKS = HD / 8;  // 16-byte chunks of one row of one head

// Positions this block needs: all up to that of its last row. Heavy blocks come first in the grid.
template <int ROWS>
struct PrefillBlock {
    int first_row;       // of T
    int rows;            // that exist
    int first_position;  // of first_row
    int positions;       // cached positions that any row sees

    __device__ __forceinline__ PrefillBlock(int T, int first_position_of_all) {
        first_row = static_cast<int>(gridDim.y - 1 - blockIdx.y) * ROWS;
        rows = min(ROWS, T - first_row);
        first_position = first_position_of_all + first_row;
        positions = first_position + rows;
    }
};

// The kv head that the query head of this block shares with its group.
__device__ __forceinline__ int block_kv_head() { return blockIdx.x / (NH / NKV); }

#if HAS_BF16_MMA

// Rows are padded by one chunk: HD / 8 + 1 is odd, so the eight rows of one ldmatrix, and the
// eight chunks of one row, lie in distinct banks.
constexpr int ROW_CHUNKS = HEAD_CHUNKS + 1;
constexpr int PAGE_CHUNKS = PAGE_TOKENS * ROW_CHUNKS;

// Starts copying one page of K or V; rows past the last position arrive as zeros (0 * NaN is NaN).
__device__ __forceinline__ void start_page_copy(uint4* tile, const bf16* pool, int page,
                                                int kv_head, int rows) {
    const bf16* source = pool + (static_cast<size_t>(page) * NKV + kv_head) * PAGE_TOKENS * HD;
#pragma unroll
    for (int index = threadIdx.x; index < PAGE_TOKENS * HEAD_CHUNKS; index += PREFILL_THREADS) {
        const int row = index / HEAD_CHUNKS;
        cp_async_16(tile + row * ROW_CHUNKS + index % HEAD_CHUNKS, source + index * 8, row < rows);
    }
    cp_async_commit();
}

template <int ROWS>
__device__ __forceinline__ void start_query_copy(uint4* tile, const bf16* q, int first_row,
                                                 int rows) {
    const bf16* source = q + (static_cast<size_t>(first_row) * NH + blockIdx.x) * HD;
#pragma unroll
    for (int index = threadIdx.x; index < ROWS * HEAD_CHUNKS; index += PREFILL_THREADS) {
        const int row = index / HEAD_CHUNKS;
        const int chunk = index % HEAD_CHUNKS;
        cp_async_16(tile + row * ROW_CHUNKS + chunk,
                    source + static_cast<size_t>(row) * NH * HD + chunk * 8, row < rows);
    }
    cp_async_commit();
}

// One warp's ROW_TILES * 16 rows: running maxima (scaled, base 2), sums and weighted sums of V.
// Lane l holds, as in mma fragments, rows l / 4 and l / 4 + 8 of each 16.
template <int ROW_TILES>
struct PrefillRows {
    static constexpr int KEY_TILES = PAGE_TOKENS / 8;
    static constexpr int STEPS = HD / 16;
    float out[ROW_TILES][HD / 8][4];
    float maximum[ROW_TILES][2];
    float sum[ROW_TILES][2];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (int i = 0; i < ROW_TILES; ++i) {
#pragma unroll
            for (int j = 0; j < HD / 8; ++j) {
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    out[i][j][c] = 0.0f;
                }
            }
            maximum[i][0] = maximum[i][1] = negative_infinity();
            sum[i][0] = sum[i][1] = 0.0f;
        }
    }

    static __device__ __forceinline__ void load_query(unsigned (&fragment)[4], const uint4* q_tile,
                                                      int row_tile, int step) {
        const int lane = threadIdx.x % WARP;
        const int row = (threadIdx.x / WARP * ROW_TILES + row_tile) * 16 + lane % 16;
        ldmatrix<4, false>(fragment, q_tile + row * ROW_CHUNKS + step * 2 + lane / 16);
    }

    // scores[i][j] += q . k over the 16 head dims of `step`.
    static __device__ __forceinline__ void add_scores(float (&scores)[ROW_TILES][KEY_TILES][4],
                                                      const unsigned (&query)[ROW_TILES][4],
                                                      const uint4* k_tile, int step) {
        const int lane = threadIdx.x % WARP;
        const uint4* row = k_tile + (lane / 16 * 8 + lane % 8) * ROW_CHUNKS + lane / 8 % 2;
#pragma unroll
        for (int j = 0; j < KEY_TILES; j += 2) {
            unsigned keys[4];
            ldmatrix<4, false>(keys, row + j * 8 * ROW_CHUNKS + step * 2);
            const unsigned low[2] = {keys[0], keys[1]};
            const unsigned high[2] = {keys[2], keys[3]};
#pragma unroll
            for (int i = 0; i < ROW_TILES; ++i) {
                mma_m16n8k16(scores[i][j], query[i], low);
                mma_m16n8k16(scores[i][j + 1], query[i], high);
            }
        }
    }

    // Hides keys after each row's own position; `first_key` is the position of the page's row 0.
    static __device__ __forceinline__ void mask(float (&scores)[ROW_TILES][KEY_TILES][4],
                                                int first_position, int first_key) {
        const int lane = threadIdx.x % WARP;
        const int row = threadIdx.x / WARP * ROW_TILES * 16 + lane / 4;
        const int limit = first_position + row - first_key - lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < ROW_TILES; ++i) {
#pragma unroll
            for (int j = 0; j < KEY_TILES; ++j) {
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    // key > position, with all that depends on the lane on one side
                    const bool hidden = j * 8 + c % 2 - i * 16 - c / 2 * 8 > limit;
                    scores[i][j][c] = hidden ? negative_infinity() : scores[i][j][c];
                }
            }
        }
    }

    // Turns scores into weights relative to the new maxima and rescales what was gathered before.
    __device__ __forceinline__ void soften(float (&scores)[ROW_TILES][KEY_TILES][4]) {
#pragma unroll
        for (int i = 0; i < ROW_TILES; ++i) {
            float correction[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float largest = negative_infinity();
#pragma unroll
                for (int j = 0; j < KEY_TILES; ++j) {
                    largest = fmaxf(largest, scores[i][j][half * 2]);
                    largest = fmaxf(largest, scores[i][j][half * 2 + 1]);
                }
                // The four lanes of a quad share a row.
                largest = fmaxf(largest, __shfl_xor_sync(FULL_MASK, largest, 1));
                largest = fmaxf(largest, __shfl_xor_sync(FULL_MASK, largest, 2));
                // Finite from the first page on: every row sees position 0.
                const float next = fmaxf(maximum[i][half], largest * SOFTMAX_SCALE);
                correction[half] = exp2f(maximum[i][half] - next);
                maximum[i][half] = next;
                sum[i][half] *= correction[half];
#pragma unroll
                for (int j = 0; j < KEY_TILES; ++j) {
#pragma unroll
                    for (int c = half * 2; c < half * 2 + 2; ++c) {
                        scores[i][j][c] = exp2f(scores[i][j][c] * SOFTMAX_SCALE - next);
                        sum[i][half] += scores[i][j][c];
                    }
                }
            }
            // After the first pages the maximum seldom moves.
            if (__any_sync(FULL_MASK, correction[0] != 1.0f || correction[1] != 1.0f)) {
#pragma unroll
                for (int j = 0; j < HD / 8; ++j) {
#pragma unroll
                    for (int c = 0; c < 4; ++c) {
                        out[i][j][c] *= correction[c / 2];
                    }
                }
            }
        }
    }

    // out += weights * V. The accumulator layout of two score tiles is that of one mma operand.
    __device__ __forceinline__ void add_values(const float (&weights)[ROW_TILES][KEY_TILES][4],
                                               const uint4* v_tile) {
        const int lane = threadIdx.x % WARP;
        const uint4* row = v_tile + lane % 16 * ROW_CHUNKS + lane / 16;
#pragma unroll
        for (int step = 0; step < PAGE_TOKENS / 16; ++step) {
            unsigned packed[ROW_TILES][4];
#pragma unroll
            for (int i = 0; i < ROW_TILES; ++i) {
#pragma unroll
                for (int part = 0; part < 4; ++part) {
                    const float(&tile)[4] = weights[i][step * 2 + part / 2];
                    packed[i][part] = pack_bf16(tile[part % 2 * 2], tile[part % 2 * 2 + 1]);
                }
            }
#pragma unroll
            for (int j = 0; j < HD / 8; j += 2) {
                unsigned values[4];
                ldmatrix<4, true>(values, row + step * 16 * ROW_CHUNKS + j);
                const unsigned low[2] = {values[0], values[1]};
                const unsigned high[2] = {values[2], values[3]};
#pragma unroll
                for (int i = 0; i < ROW_TILES; ++i) {
                    mma_m16n8k16(out[i][j], packed[i], low);
                    mma_m16n8k16(out[i][j + 1], packed[i], high);
                }
            }
        }
    }

    __device__ __forceinline__ void store(bf16* destination, int first_row, int rows) const {
        const int lane = threadIdx.x % WARP;
#pragma unroll
        for (int i = 0; i < ROW_TILES; ++i) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float total = sum[i][half];
                total += __shfl_xor_sync(FULL_MASK, total, 1);
                total += __shfl_xor_sync(FULL_MASK, total, 2);
                const float inverse = 1.0f / total;
                const int row = (threadIdx.x / WARP * ROW_TILES + i) * 16 + half * 8 + lane / 4;
                if (row < rows) {
                    bf16* place = destination +
                                  (static_cast<size_t>(first_row + row) * NH + blockIdx.x) * HD +
                                  lane % 4 * 2;
#pragma unroll
                    for (int j = 0; j < HD / 8; ++j) {
                        *reinterpret_cast<unsigned*>(place + j * 8) = pack_bf16(
                            out[i][j][half * 2] * inverse, out[i][j][half * 2 + 1] * inverse);
                    }
                }
            }
        }
    }
};

// Shared memory: K page, V page, and for two row tiles the queries (one row tile keeps them in
// registers and passes them through the place of V).
template <int ROW_TILES>
__device__ __forceinline__ void prefill(bf16* out, const bf16* q, const bf16* k_pool,
                                        const bf16* v_pool, const int* block_table_row, int T,
                                        int first_position, uint4* shared) {
    constexpr int ROWS = ROW_TILES * 64;
    constexpr bool QUERY_IN_REGISTERS = ROW_TILES == 1;
    const PrefillBlock<ROWS> block(T, first_position);
    const int kv_head = block_kv_head();
    uint4* const k_tile = shared;
    uint4* const v_tile = shared + PAGE_CHUNKS;
    uint4* const q_tile = QUERY_IN_REGISTERS ? v_tile : shared + 2 * PAGE_CHUNKS;
    int page = block_table_row[0];
    start_query_copy<ROWS>(q_tile, q, block.first_row, block.rows);
    start_page_copy(k_tile, k_pool, page, kv_head, block.positions);

    PrefillRows<ROW_TILES> rows;
    rows.clear();
    unsigned query[QUERY_IN_REGISTERS ? HD / 16 : 1][ROW_TILES][4];
    if constexpr (QUERY_IN_REGISTERS) {
        cp_async_wait<1>();
        __syncthreads();
#pragma unroll
        for (int step = 0; step < HD / 16; ++step) {
            rows.load_query(query[step][0], q_tile, 0, step);
        }
    }
    for (int first_key = 0; first_key < block.positions; first_key += PAGE_TOKENS) {
        cp_async_wait<0>();
        __syncthreads();  // K is here for all, and nobody reads V of the page before
        start_page_copy(v_tile, v_pool, page, kv_head, block.positions - first_key);
        const int next_key = first_key + PAGE_TOKENS;
        if (next_key < block.positions) {
            page = block_table_row[next_key / PAGE_TOKENS];  // arrives behind the products
        }
        float scores[ROW_TILES][PAGE_TOKENS / 8][4] = {};
#pragma unroll
        for (int step = 0; step < HD / 16; ++step) {
            if constexpr (QUERY_IN_REGISTERS) {
                rows.add_scores(scores, query[step], k_tile, step);
            } else {
#pragma unroll
                for (int i = 0; i < ROW_TILES; ++i) {
                    rows.load_query(query[0][i], q_tile, i, step);
                }
                rows.add_scores(scores, query[0], k_tile, step);
            }
        }
        if (next_key > block.first_position + 1) {
            rows.mask(scores, block.first_position, first_key);
        }
        cp_async_wait<0>();
        __syncthreads();  // V is here for all, and nobody reads K any more
        if (next_key < block.positions) {
            start_page_copy(k_tile, k_pool, page, kv_head, block.positions - next_key);
        }
        rows.soften(scores);
        rows.add_values(scores, v_tile);
    }
    rows.store(out, block.first_row, block.rows);
}

#else  // compute capability 7.5 has no bf16 mma: fp32 products, a row shared by 2 or 4 lanes

constexpr int ROW_LANES = HD <= 128 ? 2 : 4;               // each owns every ROW_LANES-th chunk
constexpr int LANE_CHUNKS = HEAD_CHUNKS / ROW_LANES;
constexpr int ROWS_AT_ONCE = PREFILL_THREADS / ROW_LANES;
constexpr int KEYS_AT_ONCE = 8;                            // scored before the sums are rescaled
static_assert(HEAD_CHUNKS % ROW_LANES == 0, "above 128, head_dim must be a multiple of 32");

// The lane's part of one row: query, running maximum and sums.
struct Fp32Row {
    float query[LANE_CHUNKS][8];
    float out[LANE_CHUNKS][8];
    float maximum;
    float sum;

    __device__ __forceinline__ void start(const bf16* q) {
        maximum = negative_infinity();
        sum = 0.0f;
#pragma unroll
        for (int c = 0; c < LANE_CHUNKS; ++c) {
            unpack_8_bf16(query[c], load_16_bytes(q + c * ROW_LANES * 8));
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                query[c][d] *= SOFTMAX_SCALE;
                out[c][d] = 0.0f;
            }
        }
    }

    // q . k of one key, in every lane of the row; `k` is the lane's first chunk.
    __device__ __forceinline__ float score(const uint4* k) const {
        float dot = 0.0f;
#pragma unroll
        for (int c = 0; c < LANE_CHUNKS; ++c) {
            float key[8];
            unpack_8_bf16(key, k[c * ROW_LANES]);
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                dot += query[c][d] * key[d];
            }
        }
#pragma unroll
        for (int lanes = 1; lanes < ROW_LANES; lanes *= 2) {
            dot += __shfl_xor_sync(FULL_MASK, dot, lanes);
        }
        return dot;
    }

    __device__ __forceinline__ void rescale(float next) {
        const float correction = exp2f(maximum - next);
        maximum = next;
        sum *= correction;
#pragma unroll
        for (int c = 0; c < LANE_CHUNKS; ++c) {
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                out[c][d] *= correction;
            }
        }
    }

    __device__ __forceinline__ void add(float weight, const uint4* v) {
        sum += weight;
#pragma unroll
        for (int c = 0; c < LANE_CHUNKS; ++c) {
            float value[8];
            unpack_8_bf16(value, v[c * ROW_LANES]);
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                out[c][d] += weight * value[d];
            }
        }
    }

    // The first `visible` keys of a page.
    __device__ __forceinline__ void add_page(const uint4* k_tile, const uint4* v_tile, int keys,
                                             int visible) {
        for (int first = 0; first < keys; first += KEYS_AT_ONCE) {
            float scores[KEYS_AT_ONCE];
            float next = maximum;
#pragma unroll
            for (int u = 0; u < KEYS_AT_ONCE; ++u) {
                const float dot = score(k_tile + (first + u) * HEAD_CHUNKS);
                scores[u] = first + u < visible ? dot : negative_infinity();
                next = fmaxf(next, scores[u]);
            }
            rescale(next);
#pragma unroll
            for (int u = 0; u < KEYS_AT_ONCE; ++u) {
                add(exp2f(scores[u] - maximum), v_tile + (first + u) * HEAD_CHUNKS);
            }
        }
    }

    __device__ __forceinline__ void store(bf16* place) {
#pragma unroll
        for (int c = 0; c < LANE_CHUNKS; ++c) {
#pragma unroll
            for (int d = 0; d < 8; ++d) {
                out[c][d] /= sum;
            }
            store_16_bytes(place + c * ROW_LANES * 8, pack_8_bf16(out[c]));
        }
    }
};

// Copies a page of K and of V; rows from `keys` on become zeros (0 * NaN is NaN).
__device__ __forceinline__ void load_page(uint4* k_tile, uint4* v_tile, const bf16* k,
                                          const bf16* v, int keys) {
    for (int index = threadIdx.x; index < PAGE_TOKENS * HEAD_CHUNKS; index += PREFILL_THREADS) {
        const bool valid = index / HEAD_CHUNKS < keys;
        k_tile[index] = valid ? load_16_bytes(k + index * 8) : make_uint4(0, 0, 0, 0);
        v_tile[index] = valid ? load_16_bytes(v + index * 8) : make_uint4(0, 0, 0, 0);
    }
}

template <int ROW_TILES>
__device__ __forceinline__ void prefill(bf16* out, const bf16* q, const bf16* k_pool,
                                        const bf16* v_pool, const int* block_table_row, int T,
                                        int first_position, uint4* shared) {
    const PrefillBlock<ROW_TILES * 64> block(T, first_position);
    const int lane = threadIdx.x % ROW_LANES;
    uint4* const k_tile = shared;
    uint4* const v_tile = shared + PAGE_TOKENS * HEAD_CHUNKS;
    for (int pass = 0; pass < block.rows; pass += ROWS_AT_ONCE) {
        const int row = pass + threadIdx.x / ROW_LANES;
        const int existing_row = block.first_row + min(row, block.rows - 1);
        const size_t place =
            (static_cast<size_t>(existing_row) * NH + blockIdx.x) * HD + lane * 8;
        Fp32Row state;
        state.start(q + place);
        for (int first_key = 0; first_key < block.positions; first_key += PAGE_TOKENS) {
            const size_t page = block_table_row[first_key / PAGE_TOKENS];
            const size_t start = (page * NKV + block_kv_head()) * PAGE_TOKENS * HD;
            const int keys = min(PAGE_TOKENS, block.positions - first_key);
            __syncthreads();  // nobody reads the page before
            load_page(k_tile, v_tile, k_pool + start, v_pool + start, keys);
            __syncthreads();
            state.add_page(k_tile + lane, v_tile + lane, keys,
                           block.first_position + row - first_key + 1);
        }
        if (row < block.rows) {
            state.store(out + place);
        }
    }
}

#endif

extern "C" __global__ void __launch_bounds__(PREFILL_THREADS)
    attention_prefill_bf16(bf16* __restrict__ out, const bf16* __restrict__ q,
                           const bf16* __restrict__ k_pool, const bf16* __restrict__ v_pool,
                           const int* __restrict__ block_table_row, int T, int first_position) {
    DYNAMIC_SHARED(uint4, shared);
    prefill<1>(out, q, k_pool, v_pool, block_table_row, T, first_position, shared);
}

extern "C" __global__ void __launch_bounds__(PREFILL_THREADS, 2)
    attention_prefill_bf16_128(bf16* __restrict__ out, const bf16* __restrict__ q,
                               const bf16* __restrict__ k_pool, const bf16* __restrict__ v_pool,
                               const int* __restrict__ block_table_row, int T, int first_position) {
    DYNAMIC_SHARED(uint4, shared);
    prefill<2>(out, q, k_pool, v_pool, block_table_row, T, first_position, shared);
}
