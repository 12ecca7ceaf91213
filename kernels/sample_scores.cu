// Operation   first half of drawing a token: checks the logits, applies the penalties, finds the best
//             score of each row, and sorts the masses into a histogram over the distance to it
// Arguments   sample_scores     scores, chunks, bin_masses and bin_counts (zeroed) written; logits,
//                               slot_states, occurrences, slots read
//             sample_histogram  bin_masses, bin_counts written; scores, chunks, logits, slot_states,
//                               slots read; shapes in sample_state.cuh
// Launch      both: grid (CHUNKS, B), block (256), no dynamic shared memory
// Assumes     V <= 2^21; temperature >= 0; slots all different
// Numerics    see sample_state.cuh. scores are only written for slots with a penalty; without one
//             the logits are the scores.
// Source      the histogram makes the exact selection of sample_draw short: bins of 1/64 nat
// Oracle      tests/kernels/test_sample.py
#include "sample_state.cuh"

// The block's ten best raw logits, one round each: the best below the previous one.
__device__ __forceinline__ void chunk_alternatives(ChunkResult& result,
                                                   const float (&logits)[CHUNK_VECTORS][4],
                                                   int first_id, mass_t* scratch) {
    mass_t previous = ~0ull;
    for (int n = 0; n < ALTERNATIVES; ++n) {
        mass_t best = 0;
#pragma unroll
        for (int j = 0; j < CHUNK_VECTORS; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int id = first_id + j * CHUNK_THREADS * 4 + i;
                const mass_t rank = rank_of(logits[j][i], id);
                best = id < V && rank < previous && rank > best ? rank : best;
            }
        }
        previous = block_max_rank(best, scratch);
        if (threadIdx.x == 0) {
            result.alternatives[n] = previous;
        }
    }
}

extern "C" __global__ void __launch_bounds__(CHUNK_THREADS)
    sample_scores(float* __restrict__ scores, ChunkResult* __restrict__ chunks,
                  mass_t* __restrict__ bin_masses, unsigned* __restrict__ bin_counts,
                  const float* __restrict__ logits, const SlotState* __restrict__ slot_states,
                  const unsigned* __restrict__ occurrences, const int* __restrict__ slots) {
    __shared__ mass_t rank_scratch[WARP];
    __shared__ float float_scratch[WARP];
    let_next_kernel_start();
    wait_for_previous_kernel();
    const int b = blockIdx.y;
    const SlotState& state = slot_states[slots[b]];
    if (state.stopped != LIVE) {
        return;
    }
    for (int bin = blockIdx.x * CHUNK_THREADS + threadIdx.x; bin < BINS;
         bin += gridDim.x * CHUNK_THREADS) {
        bin_masses[static_cast<size_t>(b) * BINS + bin] = 0;
        bin_counts[static_cast<size_t>(b) * BINS + bin] = 0;
    }
    const size_t row = static_cast<size_t>(b) * V;
    const unsigned* seen = occurrences + static_cast<size_t>(slots[b]) * V;
    const int first_id = blockIdx.x * CHUNK + threadIdx.x * 4;
    float raw[CHUNK_VECTORS][4];
#pragma unroll
    for (int j = 0; j < CHUNK_VECTORS; ++j) {
        load_4_scores(raw[j], logits + row, first_id + j * CHUNK_THREADS * 4);
    }
    const bool penalty = has_penalty(state);
    mass_t best = 0;
    float logit_max = negative_infinity();
    int not_finite = 0;
#pragma unroll
    for (int j = 0; j < CHUNK_VECTORS; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const int id = first_id + j * CHUNK_THREADS * 4 + i;
            if (id < V) {
                not_finite |= !isfinite(raw[j][i]);
                float score = raw[j][i];
                if (penalty) {
                    score = penalized(score, seen[id], state);
                    scores[row + id] = score;
                }
                best = max(best, rank_of(score, id));
                logit_max = fmaxf(logit_max, raw[j][i]);
            }
        }
    }
    ChunkResult& result = chunks[static_cast<size_t>(b) * CHUNKS + blockIdx.x];
    not_finite = __syncthreads_or(not_finite);
    best = block_max_rank(best, rank_scratch);
    logit_max = block_max(logit_max, float_scratch);
    if (threadIdx.x == 0) {
        result.best = best;
        result.logit_max = logit_max;
        result.not_finite = not_finite;
    }
    if (state.detail != DETAIL_NONE && !not_finite) {
        float exp_sum = 0.0f;
#pragma unroll
        for (int j = 0; j < CHUNK_VECTORS; ++j) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                exp_sum += expf(raw[j][i] - logit_max);  // 0 past the vocabulary
            }
        }
        exp_sum = block_sum(exp_sum, float_scratch);
        if (threadIdx.x == 0) {
            result.exp_sum = exp_sum;
        }
    }
    if (state.detail == DETAIL_ALTERNATIVES && !not_finite) {
        chunk_alternatives(result, raw, first_id, rank_scratch);
    }
}

extern "C" __global__ void __launch_bounds__(CHUNK_THREADS)
    sample_histogram(mass_t* __restrict__ bin_masses, unsigned* __restrict__ bin_counts,
                     const float* __restrict__ scores, const ChunkResult* __restrict__ chunks,
                     const float* __restrict__ logits, const SlotState* __restrict__ slot_states,
                     const int* __restrict__ slots) {
    __shared__ mass_t rank_scratch[WARP];
    __shared__ mass_t masses[BINS];
    __shared__ unsigned counts[BINS];
    const int b = blockIdx.y;
    const SlotState& state = slot_states[slots[b]];
    if (state.stopped != LIVE || state.temperature < GREEDY_BELOW) {
        return;
    }
    const RowSummary row = summarize(chunks + static_cast<size_t>(b) * CHUNKS, rank_scratch);
    if (row.not_finite) {
        return;
    }
    for (int bin = threadIdx.x; bin < BINS; bin += CHUNK_THREADS) {
        masses[bin] = 0;
        counts[bin] = 0;
    }
    __syncthreads();
    const float best = score_of_rank(row.best);
    const float* source = (has_penalty(state) ? scores : logits) + static_cast<size_t>(b) * V;
    const int first_id = blockIdx.x * CHUNK + threadIdx.x * 4;
    float values[CHUNK_VECTORS][4];
#pragma unroll
    for (int j = 0; j < CHUNK_VECTORS; ++j) {
        load_4_scores(values[j], source, first_id + j * CHUNK_THREADS * 4);
    }
#pragma unroll
    for (int j = 0; j < CHUNK_VECTORS; ++j) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float d = distance(values[j][i], best, state.temperature);
            const mass_t mass = mass_of_weight(expf(d));  // 0 past the vocabulary
            if (mass > 0) {
                atomicAdd(&masses[bin_of(d)], mass);
                atomicAdd(&counts[bin_of(d)], 1u);
            }
        }
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += CHUNK_THREADS) {
        if (counts[bin] > 0) {
            atomicAdd(&bin_masses[static_cast<size_t>(b) * BINS + bin], masses[bin]);
            atomicAdd(&bin_counts[static_cast<size_t>(b) * BINS + bin], counts[bin]);
        }
    }
}
