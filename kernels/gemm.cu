// Operation   out[t, n] = sum_k x[t, k] * weight[n, k]; added to what out holds if accumulate != 0
// Arguments   of all four entry points:
//             out     [T, N] fp32, written (read too when accumulating)
//             x       [T, K] bf16
//             weight  [N, K] bf16
//             T, N, K int32
//             accumulate int32: 0 overwrites, else adds
// Launch      grid (ceil(T / TILE_T), ceil(N / TILE_N)), block (threads), from this table. More
//             than 48 KB must be allowed for the function first; on 7.5 pass min(bytes, 49152).
//               entry point        TILE_T  TILE_N  threads  dynamic shared bytes
//               gemm_bf16_32x16        32      16      256    16,384
//               gemm_bf16              64      64      128    49,152
//               gemm_bf16_128x128     128     128      128    49,152
//               gemm_bf16_128x256     128     256      256    98,304
//             32x16 for T <= 64: reads the weights at the speed of memory, K split over the warps.
//             Else that of least ceil(tiles / multiprocessors) * TILE_T * TILE_N * w, with w = 2,
//             1.2 and 1 for 64x64, 128x128, 128x256 (estimates; measure), and 128x256 only where
//             96 KB leave a multiprocessor full: 8.0, 9.0, 10.0.
// Assumes     T >= 1; N and K multiples of 8; pointers 16-byte aligned
// Numerics    bf16 products are exact in fp32; sums are fp32 in a fixed order, so runs repeat bit
//             for bit, but entry points differ from each other in the last bits. Error at most
//             K * 2^-24 * sum_k |x * weight|, in practice sqrt(K) instead of K.
// Source      pipeline and fragments double-buffered as in NVIDIA CUTLASS's multistage mainloop
// Oracle      tests/kernels/test_gemm.py
#include "common.cuh"

#if HAS_BF16_MMA

// Place of 16-byte chunk `chunk` of row `row` in a tile whose rows are CHUNKS chunks long (4 or 8):
// chunk XOR row, so that the eight rows of one ldmatrix lie in distinct banks.
template <int CHUNKS>
__device__ __forceinline__ int swizzled(int row, int chunk) {
    constexpr int ROWS_PER_LINE = 8 / CHUNKS;  // 128 bytes touch every bank once
    return row * CHUNKS + (chunk ^ ((row / ROWS_PER_LINE) % CHUNKS));
}

// One thread's share of the copies of one operand, tile after tile along k: 16 bytes of every
// ROWS_PER_PASS-th row. What lies outside the matrix arrives as zeros.
template <int ROWS, int CHUNKS, int THREADS>
struct TileCopier {
    static constexpr int ROWS_PER_PASS = THREADS / CHUNKS;
    static_assert(ROWS_PER_PASS % 8 == 0, "every pass must meet the same swizzle");
    const bf16* source;
    size_t pass_stride;
    int rows_left;
    int columns_left;
    int place;

    __device__ __forceinline__ TileCopier(const bf16* matrix, int first_row, int rows, int K) {
        const int row = threadIdx.x / CHUNKS;
        const int chunk = threadIdx.x % CHUNKS;
        source = matrix + static_cast<size_t>(first_row + row) * K + chunk * 8;
        pass_stride = static_cast<size_t>(ROWS_PER_PASS) * K;
        rows_left = rows - first_row - row;
        columns_left = K - chunk * 8;
        place = swizzled<CHUNKS>(row, chunk);
    }

    __device__ __forceinline__ void start_next(uint4* tile) {
#pragma unroll
        for (int pass = 0; pass < ROWS / ROWS_PER_PASS; ++pass) {
            const bool inside = pass * ROWS_PER_PASS < rows_left && columns_left > 0;
            cp_async_16(tile + place + pass * ROWS_PER_PASS * CHUNKS, source + pass * pass_stride,
                        inside);
        }
        source += CHUNKS * 8;
        columns_left -= CHUNKS * 8;
    }
};

// One block's tile by mma.sync; WARPS_T x WARPS_N warps share it evenly.
template <int TILE_T, int TILE_N, int TILE_K, int WARPS_T, int WARPS_N, int STAGES>
struct MmaTile {
    static constexpr int THREADS = WARPS_T * WARPS_N * 32;
    static constexpr int CHUNKS = TILE_K / 8;
    static constexpr int STEPS = TILE_K / 16;
    static constexpr int T_TILES = TILE_T / WARPS_T / 16;
    static constexpr int N_TILES = TILE_N / WARPS_N / 8;
    static constexpr int STAGE_CHUNKS = (TILE_T + TILE_N) * CHUNKS;
    static_assert(T_TILES >= 1 && N_TILES % 2 == 0 && STEPS >= 2, "warp tile too small");

    struct Fragments {
        unsigned x[T_TILES][4];
        unsigned weight[N_TILES][2];
    };

    // Chunk of k `step` as seen by this lane, before the part that depends on the step; adding
    // 16 rows leaves the swizzle alone, and `step * 2` only flips bits above the lane's own.
    static __device__ __forceinline__ int x_place() {
        const int lane = threadIdx.x % 32;
        const int row = threadIdx.x / 32 / WARPS_N * T_TILES * 16 + lane % 16;
        return swizzled<CHUNKS>(row, lane / 16);
    }

    static __device__ __forceinline__ int weight_place() {
        const int lane = threadIdx.x % 32;
        const int row = threadIdx.x / 32 % WARPS_N * N_TILES * 8 + lane / 16 * 8 + lane % 8;
        return TILE_T * CHUNKS + swizzled<CHUNKS>(row, lane / 8 % 2);
    }

    static __device__ __forceinline__ void load(Fragments& fragments, const uint4* stage,
                                                int x_place, int weight_place, int step) {
        // x: rows 0-7 and 8-15 of the low eight k, then the same rows of the high eight k.
#pragma unroll
        for (int i = 0; i < T_TILES; ++i) {
            ldmatrix<4, false>(fragments.x[i], stage + (x_place ^ step * 2) + i * 16 * CHUNKS);
        }
        // weight: low k and high k of eight outputs, then of the next eight.
#pragma unroll
        for (int j = 0; j < N_TILES; j += 2) {
            unsigned pair[4];
            ldmatrix<4, false>(pair, stage + (weight_place ^ step * 2) + j * 8 * CHUNKS);
            fragments.weight[j][0] = pair[0];
            fragments.weight[j][1] = pair[1];
            fragments.weight[j + 1][0] = pair[2];
            fragments.weight[j + 1][1] = pair[3];
        }
    }

    static __device__ __forceinline__ void multiply(float (&sums)[T_TILES][N_TILES][4],
                                                    const Fragments& fragments) {
#pragma unroll
        for (int i = 0; i < T_TILES; ++i) {
#pragma unroll
            for (int j = 0; j < N_TILES; ++j) {
                mma_m16n8k16(sums[i][j], fragments.x[i], fragments.weight[j]);
            }
        }
    }

    static __device__ __forceinline__ void store(float* out,
                                                 const float (&sums)[T_TILES][N_TILES][4], int T,
                                                 int N, int accumulate) {
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x / 32;
        const int first_t = blockIdx.x * TILE_T + (warp / WARPS_N) * T_TILES * 16 + lane / 4;
        const int first_n = blockIdx.y * TILE_N + (warp % WARPS_N) * N_TILES * 8;
#pragma unroll
        for (int i = 0; i < T_TILES; ++i) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int t = first_t + i * 16 + half * 8;
                float2* row = reinterpret_cast<float2*>(out + static_cast<size_t>(t) * N);
#pragma unroll
                for (int j = 0; j < N_TILES; ++j) {
                    // N is a multiple of 8: eight outputs are inside or outside as a whole.
                    const int n = first_n + j * 8;
                    if (t >= T || n >= N) {
                        continue;
                    }
                    float2& place = row[(n + lane % 4 * 2) / 2];
                    const float2 before = accumulate ? place : make_float2(0.0f, 0.0f);
                    place = make_float2(before.x + sums[i][j][half * 2],
                                        before.y + sums[i][j][half * 2 + 1]);
                }
            }
        }
    }

    static __device__ __forceinline__ void run(float* out, const bf16* x, const bf16* weight, int T,
                                               int N, int K, int accumulate, uint4* shared) {
        float sums[T_TILES][N_TILES][4] = {};
        Fragments fragments[2];
        TileCopier<TILE_T, CHUNKS, THREADS> x_copier(x, blockIdx.x * TILE_T, T, K);
        TileCopier<TILE_N, CHUNKS, THREADS> weight_copier(weight, blockIdx.y * TILE_N, N, K);
        const int x_chunk = x_place();
        const int weight_chunk = weight_place();
#pragma unroll
        for (int stage = 0; stage < STAGES - 1; ++stage) {
            // Past the end of K this copies zeros that nobody reads.
            x_copier.start_next(shared + stage * STAGE_CHUNKS);
            weight_copier.start_next(shared + stage * STAGE_CHUNKS + TILE_T * CHUNKS);
            cp_async_commit();
        }
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        load(fragments[0], shared, x_chunk, weight_chunk, 0);

        int reading = 0;
        int writing = (STAGES - 1) * STAGE_CHUNKS;
        for (int k_tile = 0; k_tile * TILE_K < K; ++k_tile) {
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                if (step == STEPS - 1) {
                    // The next tile has arrived, and every warp holds the last fragments of this
                    // one: its stage may be refilled.
                    cp_async_wait<STAGES - 2>();
                    __syncthreads();
                    reading = next_stage(reading);
                }
                load(fragments[(step + 1) % 2], shared + reading, x_chunk, weight_chunk,
                     (step + 1) % STEPS);
                if (step == 0) {
                    x_copier.start_next(shared + writing);
                    weight_copier.start_next(shared + writing + TILE_T * CHUNKS);
                    cp_async_commit();
                    writing = next_stage(writing);
                }
                multiply(sums, fragments[step % 2]);
            }
        }
        store(out, sums, T, N, accumulate);
    }

    static __device__ __forceinline__ int next_stage(int stage) {
        return stage == (STAGES - 1) * STAGE_CHUNKS ? 0 : stage + STAGE_CHUNKS;
    }
};

// 32 x 16 outputs for small T, where time is the reading of the weights: no staging, every warp
// streams its own k with 16-byte loads, and the eight partial tiles are added in shared memory. A
// lane's eight consecutive k serve as four k pairs of two mma; x is taken in the same order, so
// each product meets its partner.
struct SkinnyTile {
    static constexpr int TILE_T = 32, TILE_N = 16, WARPS = 8, UNROLL = 4;

    static __device__ __forceinline__ uint4 load_chunk(const bf16* matrix, int row, int rows, int k,
                                                       int K) {
        if (row >= rows || k >= K) {
            return make_uint4(0, 0, 0, 0);
        }
        return load_16_bytes_read_only(matrix + static_cast<size_t>(row) * K + k);
    }

    static __device__ __forceinline__ void multiply(float (&sums)[2][2][4], const uint4 (&x)[4],
                                                    const uint4 (&weight)[2]) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const uint4& top = x[i * 2];  // rows lane / 4 of sixteen, and eight below
            const uint4& bottom = x[i * 2 + 1];
            const unsigned low[4] = {top.x, bottom.x, top.y, bottom.y};
            const unsigned high[4] = {top.z, bottom.z, top.w, bottom.w};
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const unsigned weight_low[2] = {weight[j].x, weight[j].y};
                const unsigned weight_high[2] = {weight[j].z, weight[j].w};
                mma_m16n8k16(sums[i][j], low, weight_low);
                mma_m16n8k16(sums[i][j], high, weight_high);
            }
        }
    }

    // Adds the warps' partial tiles in their order and writes the block's outputs.
    static __device__ __forceinline__ void store(float* out, const float* partial, int T, int N,
                                                 int accumulate) {
        for (int index = threadIdx.x; index < TILE_T * TILE_N; index += WARPS * 32) {
            const int t = blockIdx.x * TILE_T + index / TILE_N;
            const int n = blockIdx.y * TILE_N + index % TILE_N;
            if (t >= T || n >= N) {
                continue;
            }
            float& place = out[static_cast<size_t>(t) * N + n];
            float sum = accumulate ? place : 0.0f;
#pragma unroll
            for (int w = 0; w < WARPS; ++w) {
                sum += partial[w * TILE_T * TILE_N + index];
            }
            place = sum;
        }
    }

    static __device__ __forceinline__ void run(float* out, const bf16* x, const bf16* weight, int T,
                                               int N, int K, int accumulate, uint4* shared) {
        const int lane = threadIdx.x % 32;
        const int warp = threadIdx.x / 32;
        const int first_t = blockIdx.x * TILE_T + lane / 4;
        const int first_n = blockIdx.y * TILE_N + lane / 4;
        float sums[2][2][4] = {};
        for (int k_base = warp * 32; k_base < K; k_base += WARPS * 32 * UNROLL) {
            // The weights come from far away: all of this round are asked for before the first use.
            uint4 weights[UNROLL][2];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int k = k_base + u * WARPS * 32 + lane % 4 * 8;
                weights[u][0] = load_chunk(weight, first_n, N, k, K);
                weights[u][1] = load_chunk(weight, first_n + 8, N, k, K);
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int k = k_base + u * WARPS * 32 + lane % 4 * 8;
                uint4 inputs[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    inputs[i] = load_chunk(x, first_t + i * 8, T, k, K);
                }
                multiply(sums, inputs, weights[u]);
            }
        }
        float* partial = reinterpret_cast<float*>(shared);
        float* own = partial + (warp * TILE_T + lane / 4) * TILE_N + lane % 4 * 2;
#pragma unroll
        for (int c = 0; c < 16; ++c) {
            // c counts 16 rows, 8 columns, 8 rows, 1 column: the accumulators of one lane.
            const int row = c / 8 * 16 + c / 2 % 2 * 8;
            const int column = c / 4 % 2 * 8 + c % 2;
            own[row * TILE_N + column] = sums[c / 8][c / 4 % 2][c % 4];
        }
        __syncthreads();
        store(out, partial, T, N, accumulate);
    }
};

#else  // compute capability 7.5 has no bf16 mma: tiled fp32 products with the same launch

template <int TILE_T, int TILE_N, int THREADS>
struct Fp32Tile {
    static constexpr int TILE_K = 16;
    static constexpr int COLUMNS = 16;  // threads side by side along n
    static constexpr int ROWS = THREADS / COLUMNS;
    static constexpr int PER_T = TILE_T / ROWS;
    static constexpr int PER_N = TILE_N / COLUMNS;

    // Copies a transposed tile: tile[k][row], rows padded by one float against bank conflicts.
    template <int TILE>
    static __device__ void load_tile(float* tile, const bf16* matrix, int first_row, int rows,
                                     int first_column, int K) {
        for (int index = threadIdx.x; index < TILE * TILE_K; index += THREADS) {
            const int row = first_row + index / TILE_K;
            const int column = first_column + index % TILE_K;
            const bool inside = row < rows && column < K;
            const size_t source = static_cast<size_t>(row) * K + column;
            tile[index % TILE_K * (TILE + 1) + index / TILE_K] =
                inside ? to_float(matrix[source]) : 0.0f;
        }
    }

    static __device__ void run(float* out, const bf16* x, const bf16* weight, int first_t,
                               int first_n, int T, int N, int K, int accumulate, float* shared) {
        float* x_tile = shared;
        float* weight_tile = shared + TILE_K * (TILE_T + 1);
        const int column = threadIdx.x % COLUMNS;
        const int row = threadIdx.x / COLUMNS;
        float sums[PER_T][PER_N] = {};
        for (int first_k = 0; first_k < K; first_k += TILE_K) {
            __syncthreads();
            load_tile<TILE_T>(x_tile, x, first_t, T, first_k, K);
            load_tile<TILE_N>(weight_tile, weight, first_n, N, first_k, K);
            __syncthreads();
#pragma unroll
            for (int k = 0; k < TILE_K; ++k) {
                float weights[PER_N];
#pragma unroll
                for (int j = 0; j < PER_N; ++j) {
                    weights[j] = weight_tile[k * (TILE_N + 1) + column + j * COLUMNS];
                }
#pragma unroll
                for (int i = 0; i < PER_T; ++i) {
                    const float input = x_tile[k * (TILE_T + 1) + row + i * ROWS];
#pragma unroll
                    for (int j = 0; j < PER_N; ++j) {
                        sums[i][j] += input * weights[j];
                    }
                }
            }
        }
#pragma unroll
        for (int i = 0; i < PER_T; ++i) {
#pragma unroll
            for (int j = 0; j < PER_N; ++j) {
                const int t = first_t + row + i * ROWS;
                const int n = first_n + column + j * COLUMNS;
                if (t >= T || n >= N) {
                    continue;
                }
                float& place = out[static_cast<size_t>(t) * N + n];
                place = (accumulate ? place : 0.0f) + sums[i][j];
            }
        }
    }
};

// What MmaTile and SkinnyTile are on 8.0 and up, in steps of 64 sums a thread (registers).
template <int TILE_T, int TILE_N, int, int WARPS_T, int WARPS_N, int>
struct MmaTile {
    static __device__ __forceinline__ void run(float* out, const bf16* x, const bf16* weight, int T,
                                               int N, int K, int accumulate, uint4* shared) {
        constexpr int THREADS = WARPS_T * WARPS_N * 32;
        constexpr int STEP_N = TILE_T * TILE_N > THREADS * 64 ? THREADS * 64 / TILE_T : TILE_N;
        for (int n = 0; n < TILE_N; n += STEP_N) {
            Fp32Tile<TILE_T, STEP_N, THREADS>::run(
                out, x, weight, blockIdx.x * TILE_T, blockIdx.y * TILE_N + n, T, N, K, accumulate,
                reinterpret_cast<float*>(shared));
        }
    }
};

using SkinnyTile = MmaTile<32, 16, 16, 1, 8, 1>;

#endif

extern "C" __global__ void __launch_bounds__(256)
    gemm_bf16_32x16(float* __restrict__ out, const bf16* __restrict__ x,
                    const bf16* __restrict__ weight, int T, int N, int K, int accumulate) {
    DYNAMIC_SHARED(uint4, shared);
    SkinnyTile::run(out, x, weight, T, N, K, accumulate, shared);
}

// Below: <TILE_T, TILE_N, TILE_K, WARPS_T, WARPS_N, STAGES>. A block keeps STAGES - 1 tiles of both
// operands under way; with the blocks that fit on a multiprocessor that is 64 to 128 KB.

extern "C" __global__ void __launch_bounds__(128, 4)
    gemm_bf16(float* __restrict__ out, const bf16* __restrict__ x, const bf16* __restrict__ weight,
              int T, int N, int K, int accumulate) {
    DYNAMIC_SHARED(uint4, shared);
    MmaTile<64, 64, 64, 2, 2, 3>::run(out, x, weight, T, N, K, accumulate, shared);
}

extern "C" __global__ void __launch_bounds__(128, 2)
    gemm_bf16_128x128(float* __restrict__ out, const bf16* __restrict__ x,
                      const bf16* __restrict__ weight, int T, int N, int K, int accumulate) {
    DYNAMIC_SHARED(uint4, shared);
    MmaTile<128, 128, 32, 2, 2, 3>::run(out, x, weight, T, N, K, accumulate, shared);
}

extern "C" __global__ void __launch_bounds__(256, 1)
    gemm_bf16_128x256(float* __restrict__ out, const bf16* __restrict__ x,
                      const bf16* __restrict__ weight, int T, int N, int K, int accumulate) {
    DYNAMIC_SHARED(uint4, shared);
    MmaTile<128, 256, 32, 2, 4, 4>::run(out, x, weight, T, N, K, accumulate, shared);
}
