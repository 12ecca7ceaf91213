// Operation   the products of a layer in prefill, sums[t, n] = sum_k x[t, k] * weight[n, k], with
//             what follows each of them done before the sums leave the registers:
//               gemm_hopper      partial[z, t, n] = sums over the z-th part of k
//               qkv_hopper       q, k normalised over HD (QK_NORM = 1) and rotated, v as it is; k and
//                                v are appended to the pages of the slot (see qk_norm_rope.cu)
//               gate_up_hopper   out[t, f] = silu(sums[t, f]) * sums[t, F + f]
// Arguments   partial          [gridDim.z, T, N] fp32, written
//             q                [T, NH, HD] bf16, written
//             k_pool, v_pool   [pages, NKV, 64, HD] bf16, rows of the new tokens written
//             out              [T, F] bf16, written
//             x                [T, K] bf16
//             weight           [N, K] bf16; qkv: [(NH + 2 NKV) HD, E], gate_up: [2F, E]
//             q_norm, k_norm   [HD] bf16, not read with QK_NORM = 0
//             rope_table       [capacity, HD/2, 2] fp32: cos, sin; 16-byte aligned
//             block_table_row  [max_pages] int32: page of positions 64 i ... 64 i + 63
//             T, N, K, first_position int32
// Launch      grid (ceil(T / TILE_T), N / TILE_N, z), z <= K / 64, 1 but for gemm_hopper; block and
//             dynamic shared bytes from this table:
//               entry point              TILE_T  TILE_N  threads  dynamic shared bytes
//               gemm_hopper_64x128           64     128      128    99,328
//               qkv_hopper_64x128            64     128      128    99,328
//               qkv_hopper_128x256          128     256      256   197,632
//               gate_up_hopper_64x128        64     128      128    99,328
//               gate_up_hopper_128x256      128     256      256   197,632
// Assumes     compute capability 9.0, compiled for sm_90a; T >= 1; N % TILE_N == 0, K % 64 == 0;
//             HD = 128 (qkv); pointers 16-byte aligned; block_table_row has a page for each position;
//             the kernel before, which may still run at the start, writes none of the weights
// Numerics    sums in fp32 in the tensor core's order, runs repeat bit for bit; what follows is fp32
//             and rounded to bf16 once. exp and the quotient of silu are the fast ones (2 ulp).
// Source      multistage pipeline as in NVIDIA CUTLASS; SwiGLU: Shazeer 2020; RoPE: Su et al. 2021
// Oracle      tests/kernels/test_gemm_hopper.py
#include "common.cuh"
#include "wgmma.cuh"

constexpr int TILE_K = 64;  // 128 bytes: one swizzled row

// One thread's share of the copies of one operand, tile after tile along k: 16 bytes of every
// ROWS_PER_PASS-th row. From row SECOND on, rows come from `jump` elements further (gate and up).
template <int ROWS, int THREADS, int SECOND>
struct SwizzledCopier {
    static constexpr int ROWS_PER_PASS = THREADS / 8;
    static_assert(ROWS_PER_PASS % 8 == 0, "every pass must meet the same swizzle");
    const bf16* source;
    size_t pass_stride;
    size_t jump;
    int rows_left;
    int place;

    __device__ __forceinline__ SwizzledCopier(const bf16* matrix, int first_row, int rows, int K,
                                              int first_k, size_t second_jump) {
        const int row = threadIdx.x / 8;
        const int chunk = threadIdx.x % 8;
        source = matrix + static_cast<size_t>(first_row + row) * K + first_k + chunk * 8;
        pass_stride = static_cast<size_t>(ROWS_PER_PASS) * K;
        jump = second_jump;
        rows_left = rows - first_row - row;
        place = row * ROW_BYTES + (chunk ^ row % 8) * 16;
    }

    __device__ __forceinline__ void start_next(unsigned char* tile) {
#pragma unroll
        for (int pass = 0; pass < ROWS / ROWS_PER_PASS; ++pass) {
            const bf16* row = source + pass * pass_stride;
            if (pass * ROWS_PER_PASS >= SECOND) {
                row += jump;
            }
            cp_async_16(tile + place + pass * ROWS_PER_PASS * ROW_BYTES, row,
                        pass * ROWS_PER_PASS < rows_left);
        }
        source += TILE_K;
    }
};

// What a block multiplies: rows of x, rows of weight, steps of 64 along k.
struct TilePlace {
    int first_t, first_n;
    int first_k, k_tiles;
    size_t second_jump;  // from the rows after the tile's first half to where they truly lie
};

// One block's sums; a warpgroup has 64 rows of x and all TILE_N columns. While the tensor core works
// on one k tile, the copies of the tiles after it are under way.
template <int TILE_T, int TILE_N, bool TWO_PARTS>
struct WgmmaTile {
    static constexpr int THREADS = TILE_T * 2;
    static constexpr int STAGES = 4;
    static constexpr int X_BYTES = TILE_T * ROW_BYTES;
    static constexpr int STAGE_BYTES = X_BYTES + TILE_N * ROW_BYTES;
    float sums[TILE_N / 2];

    __device__ __forceinline__ void run(const bf16* x, const bf16* weight, const TilePlace& place,
                                        int T, int N, int K, unsigned char* shared) {
        using XCopier = SwizzledCopier<TILE_T, THREADS, TILE_T>;
        using WeightCopier = SwizzledCopier<TILE_N, THREADS, TWO_PARTS ? TILE_N / 2 : TILE_N>;
        XCopier x_copier(x, place.first_t, T, K, place.first_k, 0);
        WeightCopier weight_copier(weight, place.first_n, N, K, place.first_k, place.second_jump);
        // The kernel before writes x, not the weights.
#pragma unroll
        for (int stage = 0; stage < STAGES - 2; ++stage) {
            if (stage < place.k_tiles) {
                weight_copier.start_next(shared + stage * STAGE_BYTES + X_BYTES);
            }
        }
        let_next_kernel_start();
        wait_for_previous_kernel();
#pragma unroll
        for (int stage = 0; stage < STAGES - 2; ++stage) {
            if (stage < place.k_tiles) {
                x_copier.start_next(shared + stage * STAGE_BYTES);
            }
            cp_async_commit();
        }
        const int own_rows = threadIdx.x / 128 * 64 * ROW_BYTES;
        const unsigned long long x_operand = matrix_descriptor(shared + own_rows);
        const unsigned long long weight_operand = matrix_descriptor(shared + X_BYTES);
        for (int tile = 0; tile < place.k_tiles; ++tile) {
            // This tile is here for all, and the products of the tile before the last one are
            // done in all warpgroups: its stage may be refilled.
            cp_async_wait<STAGES - 3>();
            fence_for_tensor_core();
            __syncthreads();
            wgmma_begin();
            const int stage = tile % STAGES * STAGE_BYTES;
#pragma unroll
            for (int k = 0; k < TILE_K / 16; ++k) {
                wgmma(sums, advance(x_operand, stage + k * 32),
                      advance(weight_operand, stage + k * 32), tile + k > 0);
            }
            wgmma_commit();
            const int next = tile + STAGES - 2;
            if (next < place.k_tiles) {
                x_copier.start_next(shared + next % STAGES * STAGE_BYTES);
                weight_copier.start_next(shared + next % STAGES * STAGE_BYTES + X_BYTES);
            }
            cp_async_commit();
            wgmma_wait<1>();
        }
        wgmma_wait<0>();
        settle(sums);
    }
};

// ---------------------------------------------------------------- what follows the products

template <int TILE_N>
__device__ __forceinline__ void store_partial(float* out, const float (&sums)[TILE_N / 2],
                                              const TilePlace& place, int T, int N) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int t = place.first_t + lane_row() + half * 8;
        if (t < T) {
            float* row = out + static_cast<size_t>(t) * N + place.first_n + threadIdx.x % 4 * 2;
#pragma unroll
            for (int j = 0; j < TILE_N / 8; ++j) {
                *reinterpret_cast<float2*>(row + j * 8) =
                    make_float2(sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
            }
        }
    }
}

__device__ __forceinline__ float silu_times(float gate, float up) {
    return __fdividef(gate, 1.0f + __expf(-gate)) * up;
}

// Columns of the first half of the tile are gates, of the second half ups.
template <int TILE_N>
__device__ __forceinline__ void store_swiglu(bf16* out, const float (&sums)[TILE_N / 2],
                                             const TilePlace& place, int T) {
    constexpr int UP = TILE_N / 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int t = place.first_t + lane_row() + half * 8;
        bf16* row = out + static_cast<size_t>(t) * F + place.first_n;
#pragma unroll
        for (int j = 0; j < TILE_N / 16; j += 2) {
            unsigned packed[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const int place_of = (j + i) * 4 + half * 2;
                packed[i] = pack_bf16(silu_times(sums[place_of], sums[UP + place_of]),
                                      silu_times(sums[place_of + 1], sums[UP + place_of + 1]));
            }
            store_two_pairs(row, j, packed[0], packed[1], t < T);
        }
    }
}

struct QkvTarget {
    bf16 *q, *k_pool, *v_pool;
    const bf16 *q_norm, *k_norm;
    const float* rope_table;
    const int* block_table_row;
    int first_position;
};

// One head of one row; `values[j * 2 + c]` is its column 8 j + lane % 4 * 2 + c. All lanes call.
struct HeadRow {
    static constexpr int GROUPS = HD / 8;
    float values[GROUPS * 2];

    __device__ __forceinline__ void normalise(const bf16* norm) {
        float squares = 0.0f;
#pragma unroll
        for (int i = 0; i < GROUPS * 2; ++i) {
            squares += values[i] * values[i];
        }
        squares += __shfl_xor_sync(FULL_MASK, squares, 1);
        squares += __shfl_xor_sync(FULL_MASK, squares, 2);
        const float scale = 1.0f / sqrtf(squares / HD + RMS_NORM_EPS);
        const unsigned* weights = reinterpret_cast<const unsigned*>(norm) + threadIdx.x % 4;
#pragma unroll
        for (int j = 0; j < GROUPS; ++j) {
            const unsigned pair = __ldg(weights + j * 4);
            values[j * 2] *= scale * low_bf16(pair);
            values[j * 2 + 1] *= scale * high_bf16(pair);
        }
    }

    // Pairs (i, i + HD/2) are eight column groups apart: in the same lane.
    __device__ __forceinline__ void rotate(const float* angles) {
        const float4* pairs = reinterpret_cast<const float4*>(angles) + threadIdx.x % 4;
#pragma unroll
        for (int j = 0; j < GROUPS / 2; ++j) {
            const float4 angle = __ldg(pairs + j * 4);
            const float cosine[2] = {angle.x, angle.z};
            const float sine[2] = {angle.y, angle.w};
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                const float low = values[j * 2 + c];
                const float high = values[j * 2 + c + GROUPS];
                values[j * 2 + c] = low * cosine[c] - high * sine[c];
                values[j * 2 + c + GROUPS] = high * cosine[c] + low * sine[c];
            }
        }
    }

    __device__ __forceinline__ void store(bf16* row, bool inside) const {
#pragma unroll
        for (int j = 0; j < GROUPS; j += 2) {
            store_two_pairs(row, j, pack_bf16(values[j * 2], values[j * 2 + 1]),
                            pack_bf16(values[j * 2 + 2], values[j * 2 + 3]), inside);
        }
    }
};

// The tile's columns are whole heads.
template <int TILE_N>
__device__ __forceinline__ void store_qkv(const QkvTarget& target,
                                          const float (&sums)[TILE_N / 2], const TilePlace& place,
                                          int T) {
#pragma unroll
    for (int part = 0; part < TILE_N / HD * 2; ++part) {
        const int head = place.first_n / HD + part / 2;
        const int half = part % 2;
        const int t = place.first_t + lane_row() + half * 8;
        // Rows past the last one take part in the shuffles, with any angle of the table.
        const int position = target.first_position + min(t, T - 1);
        HeadRow row;
#pragma unroll
        for (int i = 0; i < HD / 4; ++i) {
            row.values[i] = sums[part / 2 * HD / 2 + i / 2 * 4 + half * 2 + i % 2];
        }
        if (head < NH + NKV) {
#if QK_NORM
            row.normalise(head < NH ? target.q_norm : target.k_norm);
#endif
            row.rotate(target.rope_table + static_cast<size_t>(position) * HD);
        }
        bf16* destination;
        if (head < NH) {
            destination = target.q + (static_cast<size_t>(t) * NH + head) * HD;
        } else {
            const bool is_v = head >= NH + NKV;
            const size_t page = target.block_table_row[position / PAGE_TOKENS];
            const size_t page_head = page * NKV + (is_v ? head - NH - NKV : head - NH);
            destination = (is_v ? target.v_pool : target.k_pool) +
                          (page_head * PAGE_TOKENS + position % PAGE_TOKENS) * HD;
        }
        row.store(destination, t < T);
    }
}

// ---------------------------------------------------------------- entry points

template <int TILE_T, int TILE_N>
__device__ __forceinline__ void gemm(float* partial, const bf16* x, const bf16* weight, int T,
                                     int N, int K, unsigned char* shared) {
    const int tiles = K / TILE_K;
    const int part = static_cast<int>(blockIdx.z);
    const int parts = static_cast<int>(gridDim.z);
    const int first = tiles * part / parts;
    const TilePlace place = {static_cast<int>(blockIdx.x) * TILE_T,
                             static_cast<int>(blockIdx.y) * TILE_N, first * TILE_K,
                             tiles * (part + 1) / parts - first, 0};
    WgmmaTile<TILE_T, TILE_N, false> tile;
    tile.run(x, weight, place, T, N, K, align_to_atom(shared));
    store_partial<TILE_N>(partial + static_cast<size_t>(part) * T * N, tile.sums, place, T, N);
}

template <int TILE_T, int TILE_N>
__device__ __forceinline__ void qkv(const QkvTarget& target, const bf16* x, const bf16* weight,
                                    int T, unsigned char* shared) {
    static_assert(HD == 128, "qkv_hopper: a head must be 128 columns");
    const TilePlace place = {static_cast<int>(blockIdx.x) * TILE_T,
                             static_cast<int>(blockIdx.y) * TILE_N, 0, E / TILE_K, 0};
    WgmmaTile<TILE_T, TILE_N, false> tile;
    tile.run(x, weight, place, T, (NH + 2 * NKV) * HD, E, align_to_atom(shared));
    store_qkv<TILE_N>(target, tile.sums, place, T);
}

template <int TILE_T, int TILE_N>
__device__ __forceinline__ void gate_up(bf16* out, const bf16* x, const bf16* weight, int T,
                                        unsigned char* shared) {
    constexpr int OUTPUTS = TILE_N / 2;
    const TilePlace place = {static_cast<int>(blockIdx.x) * TILE_T,
                             static_cast<int>(blockIdx.y) * OUTPUTS, 0, E / TILE_K,
                             static_cast<size_t>(F - OUTPUTS) * E};
    WgmmaTile<TILE_T, TILE_N, true> tile;
    tile.run(x, weight, place, T, 2 * F, E, align_to_atom(shared));
    store_swiglu<TILE_N>(out, tile.sums, place, T);
}

extern "C" __global__ void __launch_bounds__(128, 1)
    gemm_hopper_64x128(float* __restrict__ partial, const bf16* __restrict__ x,
                        const bf16* __restrict__ weight, int T, int N, int K) {
    DYNAMIC_SHARED(unsigned char, shared);
    gemm<64, 128>(partial, x, weight, T, N, K, shared);
}

extern "C" __global__ void __launch_bounds__(128, 1)
    qkv_hopper_64x128(bf16* __restrict__ q, bf16* __restrict__ k_pool, bf16* __restrict__ v_pool,
                       const bf16* __restrict__ x, const bf16* __restrict__ weight,
                       const bf16* __restrict__ q_norm, const bf16* __restrict__ k_norm,
                       const float* __restrict__ rope_table,
                       const int* __restrict__ block_table_row, int T, int first_position) {
    DYNAMIC_SHARED(unsigned char, shared);
    qkv<64, 128>({q, k_pool, v_pool, q_norm, k_norm, rope_table, block_table_row, first_position},
                  x, weight, T, shared);
}

extern "C" __global__ void __launch_bounds__(256, 1)
    qkv_hopper_128x256(bf16* __restrict__ q, bf16* __restrict__ k_pool, bf16* __restrict__ v_pool,
                       const bf16* __restrict__ x, const bf16* __restrict__ weight,
                       const bf16* __restrict__ q_norm, const bf16* __restrict__ k_norm,
                       const float* __restrict__ rope_table,
                       const int* __restrict__ block_table_row, int T, int first_position) {
    DYNAMIC_SHARED(unsigned char, shared);
    qkv<128, 256>({q, k_pool, v_pool, q_norm, k_norm, rope_table, block_table_row, first_position},
                  x, weight, T, shared);
}

extern "C" __global__ void __launch_bounds__(128, 1)
    gate_up_hopper_64x128(bf16* __restrict__ out, const bf16* __restrict__ x,
                           const bf16* __restrict__ weight, int T) {
    DYNAMIC_SHARED(unsigned char, shared);
    gate_up<64, 128>(out, x, weight, T, shared);
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gate_up_hopper_128x256(bf16* __restrict__ out, const bf16* __restrict__ x,
                           const bf16* __restrict__ weight, int T) {
    DYNAMIC_SHARED(unsigned char, shared);
    gate_up<128, 256>(out, x, weight, T, shared);
}
