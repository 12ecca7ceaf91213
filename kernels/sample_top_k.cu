// Operation   the draw after sample_scores.cu where few ids are kept: greedy, or top-k up to
//             TOP_K_MAX, then top-p, min-p and the draw, and the advance of the slot's state
// Arguments   slot_states, records, token_ids, positions, occurrences written; scores, chunks,
//             logits, slots read; record_capacity int32; shapes in sample_state.cuh
// Launch      grid (B), block (1024), no dynamic shared memory; after sample_scores
// Assumes     every live row of the launch: detail DETAIL_NONE, and temperature < GREEDY_BELOW or
//             0 < top_k <= TOP_K_MAX; record_capacity >= 1
// Numerics    see sample_state.cuh; draws the same id as sample_draw.cu
// Source      the k-th best of the chunks' best scores is a bound below the k-th best score, so
//             only chunks with a best score at or above it are read, and few ids are left
// Oracle      tests/kernels/test_sample.py
#include "sample_state.cuh"

constexpr int CANDIDATES = DRAW_THREADS;

struct TopKShared {
    mass_t scratch[WARP];
    mass_t chunk_best[CHUNKS];
    int chunk_list[TOP_K_MAX];
    mass_t bound;
    int count;
    mass_t candidates[CANDIDATES];
    mass_t best[TOP_K_MAX];    // ranks, best first
    mass_t masses[TOP_K_MAX];  // 0 where an id is not kept
    mass_t total;
    int token_id;
};

// The chunks that can hold one of the k best, and the bound that all of those reach.
__device__ __forceinline__ int choose_chunks(TopKShared& shared, int k) {
    for (int c = threadIdx.x; c < CHUNKS; c += DRAW_THREADS) {
        int better = 0;
#pragma unroll 4
        for (int other = 0; other < CHUNKS; ++other) {
            better += shared.chunk_best[other] > shared.chunk_best[c];
        }
        if (better < k) {
            shared.chunk_list[better] = c;
        }
        if (better == k - 1) {
            shared.bound = shared.chunk_best[c];
        }
    }
    if (CHUNKS < k && threadIdx.x == 0) {
        shared.bound = 0;
    }
    __syncthreads();
    return CHUNKS < k ? CHUNKS : k;
}

// Counts the ids of rank `bound` or better in the chosen chunks, and keeps as many as there is room
// for, in any order.
__device__ __forceinline__ int collect(TopKShared& shared, const float* source, int chunks,
                                       mass_t bound) {
    __syncthreads();
    if (threadIdx.x == 0) {
        shared.count = 0;
    }
    __syncthreads();
    const int lane = threadIdx.x % WARP;
    const float bound_score = bound == 0 ? negative_infinity() : score_of_rank(bound);
#pragma unroll 1
    for (int n = threadIdx.x / WARP; n < chunks; n += DRAW_WARPS) {
        const int first_id = shared.chunk_list[n] * CHUNK + lane * 4;
#pragma unroll 4
        for (int j = 0; j < CHUNK / WARP / 4; ++j) {
            float values[4];
            load_4_scores(values, source, first_id + j * WARP * 4);
            // Most have nothing to give.
            const float highest = fmaxf(fmaxf(values[0], values[1]), fmaxf(values[2], values[3]));
            if (highest < bound_score) {
                continue;
            }
#pragma unroll 1
            for (int i = 0; i < 4; ++i) {
                const int id = first_id + j * WARP * 4 + i;
                const mass_t rank = rank_of(id < V ? source[id] : negative_infinity(), id);
                if (id < V && rank >= bound) {
                    const int place = atomicAdd(&shared.count, 1);
                    if (place < CANDIDATES) {
                        shared.candidates[place] = rank;
                    }
                }
            }
        }
    }
    __syncthreads();
    return shared.count;
}

// Leaves the k best ranks in shared.best, best first.
__device__ __forceinline__ void select_best(TopKShared& shared, const float* source, int k) {
    const int chunks = choose_chunks(shared, k);
    mass_t bound = shared.bound;
    int count = collect(shared, source, chunks, bound);
    if (count > CANDIDATES) {
        // More equal or nearly equal scores than there is room for: halve the range of ranks. At
        // the rank of the k-th best exactly k are left, for no two ranks are equal.
        mass_t too_high = ~0ull >> 1;
        while (count > CANDIDATES) {
            const mass_t middle = bound + (too_high - bound) / 2;
            const int above = collect(shared, source, chunks, middle);
            (above >= k ? bound : too_high) = middle;
            count = above >= k ? above : count;
        }
        count = collect(shared, source, chunks, bound);  // the last round may have had too few
    }
    if (static_cast<int>(threadIdx.x) < count) {
        const mass_t own = shared.candidates[threadIdx.x];
        int better = 0;
#pragma unroll 4
        for (int n = 0; n < count; ++n) {
            better += shared.candidates[n] > own;
        }
        if (better < k) {
            shared.best[better] = own;
        }
    }
    __syncthreads();
}

// Masses of the k best, top-p and min-p, and the draw; leaves shared.token_id.
__device__ __forceinline__ void draw_among(TopKShared& shared, const SlotState& state, int k) {
    const int n = threadIdx.x;
    if (n < k) {
        const float d = distance(score_of_rank(shared.best[n]), score_of_rank(shared.best[0]),
                                 state.temperature);
        shared.masses[n] = mass_of_weight(expf(d));
    }
    __syncthreads();
    if (n == 0) {
        mass_t all = 0;
#pragma unroll 1
        for (int i = 0; i < k; ++i) {
            all += shared.masses[i];
        }
        const double limit = state.top_p < 1.0f
                                 ? static_cast<double>(state.top_p) * static_cast<double>(all)
                                 : 2.0 * static_cast<double>(all);
        mass_t before = 0;
        mass_t kept = 0;
#pragma unroll 1
        for (int i = 0; i < k; ++i) {
            const mass_t mass = shared.masses[i];
            const float d = distance(score_of_rank(shared.best[i]), score_of_rank(shared.best[0]),
                                     state.temperature);
            const bool keep = static_cast<double>(before) < limit && expf(d) >= state.min_p;
            before += mass;
            shared.masses[i] = keep ? mass : 0;
            kept += shared.masses[i];
        }
        shared.total = kept;
    }
    __syncthreads();
    if (n < k && shared.masses[n] > 0) {
        const mass_t target = draw_target(state, shared.total);
        const int id = id_of_rank(shared.best[n]);
        mass_t before = 0;
#pragma unroll 1
        for (int i = 0; i < k; ++i) {
            before += id_of_rank(shared.best[i]) < id ? shared.masses[i] : 0;
        }
        if (before <= target && target < before + shared.masses[n]) {
            shared.token_id = id;
        }
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(DRAW_THREADS, 1)
    sample_top_k(SlotState* slot_states, TokenRecord* records, int* token_ids, int* positions,
                 unsigned* occurrences, const float* scores, const ChunkResult* chunks,
                 const float* logits, const int* slots, int record_capacity) {
    __shared__ TopKShared shared;
    let_next_kernel_start();
    wait_for_previous_kernel();
    const size_t b = blockIdx.x;
    const int slot = slots[b];
    const SlotState state = slot_states[slot];
    if (state.stopped != LIVE) {
        return;
    }
    mass_t best = 0;
    int not_finite = 0;
    for (int c = threadIdx.x; c < CHUNKS; c += DRAW_THREADS) {
        const ChunkResult& chunk = chunks[b * CHUNKS + c];
        shared.chunk_best[c] = chunk.best;
        best = max(best, chunk.best);
        not_finite |= chunk.not_finite;
    }
    if (__syncthreads_or(not_finite) != 0) {
        if (threadIdx.x == 0) {
            slot_states[slot].stopped = STOPPED_BY_NAN;
            positions[b] = -1;
        }
        return;
    }
    if (state.temperature < GREEDY_BELOW) {
        best = block_max_rank(best, shared.scratch);
        if (threadIdx.x == 0) {
            shared.token_id = id_of_rank(best);
        }
        __syncthreads();
    } else {
        const int k = state.top_k < V ? state.top_k : V;
        const float* source = (has_penalty(state) ? scores : logits) + b * V;
        select_best(shared, source, k);
        draw_among(shared, state, k);
    }
    TokenRecord& record =
        records[static_cast<size_t>(slot) * record_capacity + state.index % record_capacity];
    clear(record);
    if (threadIdx.x == 0) {
        advance(slot_states[slot], record, token_ids + b, positions + b,
                occurrences + static_cast<size_t>(slot) * V, shared.token_id);
    }
}
