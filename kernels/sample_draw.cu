// Operation   second half of drawing a token: temperature, top-k, top-p, min-p, the draw, its
//             description, and the advance of the slot's state
// Arguments   slot_states, records, token_ids, positions, occurrences written; candidates scratch;
//             scores, chunks, bin_masses, bin_counts, logits, slots read; record_capacity int32;
//             shapes in sample_state.cuh
// Launch      grid (B), block (1024), no dynamic shared memory; after the kernels of sample_scores.cu
// Assumes     as sample_scores.cu; record_capacity >= 1
// Numerics    see sample_state.cuh. logprob: fp32 exp, summed per chunk in fp32 and then in fp64.
// Source      Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3" (Philox4x32-10);
//             thresholds: the bin from the histogram, then radix selection among the few ids left
// Oracle      tests/kernels/test_sample.py
#include "sample_state.cuh"

__device__ __forceinline__ mass_t warp_inclusive_sum(mass_t value) {
    const int lane = threadIdx.x % WARP;
    for (int lanes = 1; lanes < WARP; lanes *= 2) {
        const mass_t below = __shfl_up_sync(FULL_MASK, value, lanes);
        value += lane >= lanes ? below : 0;
    }
    return value;
}

// Sum of `value` over the threads before this one, and over all in `total`; 1024 threads.
__device__ __forceinline__ mass_t block_exclusive_sum(mass_t value, mass_t* scratch,
                                                      mass_t& total) {
    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;
    const mass_t inclusive = warp_inclusive_sum(value);
    if (lane == WARP - 1) {
        scratch[warp] = inclusive;
    }
    __syncthreads();
    const mass_t warps = warp_inclusive_sum(scratch[lane]);
    total = __shfl_sync(FULL_MASK, warps, WARP - 1);
    const mass_t before = __shfl_sync(FULL_MASK, warps, warp > 0 ? warp - 1 : 0);
    __syncthreads();
    return (warp > 0 ? before : 0) + inclusive - value;
}

struct DrawShared {
    mass_t scratch[WARP];
    mass_t bins[BINS];
    int candidate_count[DRAW_WARPS];  // each warp keeps the candidates of its own ids, ascending
    int cut;
    mass_t before_cut;
    int token_id;
};

// One row's candidates and the numbers that all steps need.
struct DrawContext {
    DrawShared* shared;
    const float* source;
    int* candidates;  // of this warp
    float best;
    float temperature;
};

__device__ __forceinline__ mass_t mass_of(const DrawContext& context, float score) {
    return mass_of_weight(expf(distance(score, context.best, context.temperature)));
}

// Finds, in the order of ranks, the last non-empty bin whose predecessors weigh less than `limit`,
// counting from `before`. Bin 0 is the best; thread t has the weights of bins 2t and 2t + 1.
// Leaves the bin in shared.cut (-1 if all are empty) and the weight before it in before_cut.
__device__ __forceinline__ void find_cut(DrawShared& shared, mass_t first, mass_t second,
                                         mass_t before, double limit) {
    if (threadIdx.x == 0) {
        shared.cut = -1;
    }
    mass_t total;
    before += block_exclusive_sum(first + second, shared.scratch, total);
    const bool first_kept = first > 0 && static_cast<double>(before) < limit;
    const bool second_kept = second > 0 && static_cast<double>(before + first) < limit;
    const int cut = 2 * static_cast<int>(threadIdx.x) + (second_kept ? 1 : 0);
    if (first_kept || second_kept) {
        atomicMax(&shared.cut, cut);
    }
    __syncthreads();
    if ((first_kept || second_kept) && shared.cut == cut) {
        shared.before_cut = before + (second_kept ? first : 0);
    }
    __syncthreads();
}

// Collects the ids with a mass in bins up to `last_bin`: each warp those of its own segment, in
// ascending order.
__device__ __forceinline__ void gather(const DrawContext& context, int last_bin) {
    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;
    const unsigned lower_lanes = (1u << lane) - 1u;
    // Far below the last bin nothing needs the exact division: one bin and rounding as a margin.
    const float hopeless = context.best -
                           context.temperature * ((last_bin + 2) / BINS_PER_UNIT) -
                           fabsf(context.best) * 1e-6f;
    int count = 0;
#pragma unroll 4
    for (int offset = 0; offset < SEGMENT; offset += 4 * WARP) {
        const int first = warp * SEGMENT + offset + lane * 4;
        float values[4];
        load_4_scores(values, context.source, first);
        const float highest = fmaxf(fmaxf(values[0], values[1]), fmaxf(values[2], values[3]));
        if (!__any_sync(FULL_MASK, highest >= hopeless)) {
            continue;
        }
        unsigned votes[4];
        bool kept[4];
        int before = count;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float d = distance(values[i], context.best, context.temperature);
            kept[i] = mass_of_weight(expf(d)) > 0 && bin_of(d) <= last_bin;
            votes[i] = __ballot_sync(FULL_MASK, kept[i]);
            before += __popc(votes[i] & lower_lanes);
            count += __popc(votes[i]);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (kept[i]) {
                context.candidates[before++] = first + i;
            }
        }
    }
    if (lane == 0) {
        context.shared->candidate_count[warp] = count;
    }
    __syncthreads();
}

// Radix selection: the lowest rank that is kept when, in the order of ranks, a candidate stays
// while the weight before it is less than `limit`. Weights are masses, or 1 each. What top-k has
// left out ranks behind all the mass that top-p takes its share of, so top-p never reaches it.
__device__ __forceinline__ mass_t select_cut(const DrawContext& context, bool by_mass,
                                             double limit) {
    constexpr int DIGIT_BITS = 11;
    constexpr int ROUNDS = (32 + ID_BITS + DIGIT_BITS - 1) / DIGIT_BITS;
    DrawShared& shared = *context.shared;
    const int count = shared.candidate_count[threadIdx.x / WARP];
    mass_t prefix = 0;
    mass_t before = 0;
    for (int round = ROUNDS - 1; round >= 0; --round) {
        for (int bin = threadIdx.x; bin < BINS; bin += DRAW_THREADS) {
            shared.bins[bin] = 0;
        }
        __syncthreads();
        for (int n = threadIdx.x % WARP; n < count; n += WARP) {
            const int id = context.candidates[n];
            const float score = context.source[id];
            const mass_t rank = rank_of(score, id);
            if (rank >> ((round + 1) * DIGIT_BITS) == prefix) {
                const int digit = static_cast<int>(rank >> (round * DIGIT_BITS)) & (BINS - 1);
                atomicAdd(&shared.bins[BINS - 1 - digit], by_mass ? mass_of(context, score) : 1ull);
            }
        }
        __syncthreads();
        find_cut(shared, shared.bins[2 * threadIdx.x], shared.bins[2 * threadIdx.x + 1], before,
                 limit);
        prefix = prefix << DIGIT_BITS | static_cast<mass_t>(BINS - 1 - shared.cut);
        before = shared.before_cut;
    }
    return prefix;
}

// Sum of the masses of this warp's candidates of rank `floor` or better and weight `min_p` or more;
// the same in all lanes.
__device__ __forceinline__ mass_t warp_mass(const DrawContext& context, mass_t floor, float min_p) {
    const int count = context.shared->candidate_count[threadIdx.x / WARP];
    mass_t sum = 0;
    for (int n = threadIdx.x % WARP; n < count; n += WARP) {
        const int id = context.candidates[n];
        const float score = context.source[id];
        const float weight = expf(distance(score, context.best, context.temperature));
        sum += rank_of(score, id) >= floor && weight >= min_p ? mass_of_weight(weight) : 0;
    }
    return __shfl_sync(FULL_MASK, warp_inclusive_sum(sum), WARP - 1);
}

// The inverse of the cumulative distribution, in the order of ids; leaves shared.token_id.
__device__ __forceinline__ void draw(const DrawContext& context, const SlotState& state,
                                     mass_t floor) {
    DrawShared& shared = *context.shared;
    const int lane = threadIdx.x % WARP;
    const float min_p = state.min_p;
    const mass_t own = warp_mass(context, floor, min_p);
    mass_t total;
    // Only lane 0 brings the warp's sum, so the sum before a warp is that before its lane 0.
    const mass_t exclusive = block_exclusive_sum(lane == 0 ? own : 0, shared.scratch, total);
    const mass_t before = __shfl_sync(FULL_MASK, exclusive, 0);
    const mass_t target = draw_target(state, total);
    if (before <= target && target < before + own) {
        const int count = shared.candidate_count[threadIdx.x / WARP];
        mass_t running = before;
        for (int first = 0; first < count; first += WARP) {
            mass_t mass = 0;
            int id = 0;
            if (first + lane < count) {
                id = context.candidates[first + lane];
                const float score = context.source[id];
                const float weight = expf(distance(score, context.best, context.temperature));
                mass = rank_of(score, id) >= floor && weight >= min_p ? mass_of_weight(weight) : 0;
            }
            const mass_t inclusive = running + warp_inclusive_sum(mass);
            const unsigned past = __ballot_sync(FULL_MASK, inclusive > target);
            if (past != 0) {
                if (lane == __ffs(past) - 1) {
                    shared.token_id = id;
                }
                break;
            }
            running = __shfl_sync(FULL_MASK, inclusive, WARP - 1);
        }
    }
    __syncthreads();
}

// Temperature, top-k, top-p, min-p and the draw; leaves shared.token_id.
__device__ __forceinline__ void sample_row(const DrawContext& context, const SlotState& state,
                                           const mass_t* bin_masses, const unsigned* bin_counts) {
    DrawShared& shared = *context.shared;
    const int pair = 2 * static_cast<int>(threadIdx.x);
    const mass_t first = bin_masses[pair], second = bin_masses[pair + 1];
    mass_t total;
    block_exclusive_sum(first + second, shared.scratch, total);
    const bool by_count = state.top_k > 0 && state.top_k < V;
    const bool by_mass = state.top_p < 1.0f;
    const double top_p = static_cast<double>(state.top_p);
    int last_bin = BINS - 1;
    if (by_count) {
        find_cut(shared, bin_counts[pair], bin_counts[pair + 1], 0, state.top_k);
        last_bin = shared.cut;
    } else if (by_mass) {
        find_cut(shared, first, second, 0, top_p * static_cast<double>(total));
        last_bin = shared.cut;
    }
    gather(context, last_bin);
    mass_t floor = 0;
    if (by_count) {
        floor = select_cut(context, false, state.top_k);
    }
    if (by_mass) {
        if (by_count) {
            const mass_t own = warp_mass(context, floor, 0.0f);
            block_exclusive_sum(threadIdx.x % WARP == 0 ? own : 0, shared.scratch, total);
        }
        floor = select_cut(context, true, top_p * static_cast<double>(total));
    }
    draw(context, state, floor);
}

// Log-probability, rank and alternatives of the drawn token, from the raw logits.
__device__ __forceinline__ void describe(TokenRecord& record, DrawShared& shared,
                                         const ChunkResult* chunks, const float* logits,
                                         int token_id, int detail) {
    const mass_t own = rank_of(logits[token_id], token_id);
    mass_t better = 0;
#pragma unroll 4
    for (int first = threadIdx.x * 4; first < V; first += DRAW_THREADS * 4) {
        float values[4];
        load_4_scores(values, logits, first);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            better += first + i < V && rank_of(values[i], first + i) > own;
        }
    }
    mass_t rank;
    block_exclusive_sum(better, shared.scratch, rank);
    // Every thread adds the few chunks in the same order: cheap, and the same sum in each run.
    float highest = negative_infinity();
    for (int c = 0; c < CHUNKS; ++c) {
        highest = fmaxf(highest, chunks[c].logit_max);
    }
    double sum = 0.0;
    for (int c = 0; c < CHUNKS; ++c) {
        sum += static_cast<double>(chunks[c].exp_sum) *
               static_cast<double>(expf(chunks[c].logit_max - highest));
    }
    const double log_sum = static_cast<double>(highest) + log(sum);
    if (threadIdx.x == 0) {
        record.logprob = static_cast<float>(logits[token_id] - log_sum);
        record.rank = static_cast<int>(rank);
    }
    mass_t previous = ~0ull;
    for (int n = 0; n < ALTERNATIVES && detail == DETAIL_ALTERNATIVES; ++n) {
        mass_t best = 0;
        for (int c = threadIdx.x; c < CHUNKS * ALTERNATIVES; c += DRAW_THREADS) {
            const mass_t other = chunks[c / ALTERNATIVES].alternatives[c % ALTERNATIVES];
            best = other < previous && other > best ? other : best;
        }
        previous = block_max_rank(best, shared.scratch);
        if (threadIdx.x == 0 && previous > 0) {
            record.alternative_ids[n] = id_of_rank(previous);
            record.alternative_logprobs[n] = static_cast<float>(score_of_rank(previous) - log_sum);
        }
    }
}

extern "C" __global__ void __launch_bounds__(DRAW_THREADS)
    sample_draw(SlotState* __restrict__ slot_states, TokenRecord* __restrict__ records,
                int* __restrict__ token_ids, int* __restrict__ positions,
                unsigned* __restrict__ occurrences, int* __restrict__ candidates,
                const float* __restrict__ scores, const ChunkResult* __restrict__ chunks,
                const mass_t* __restrict__ bin_masses, const unsigned* __restrict__ bin_counts,
                const float* __restrict__ logits, const int* __restrict__ slots,
                int record_capacity) {
    __shared__ DrawShared shared;
    const size_t b = blockIdx.x;
    const int slot = slots[b];
    const SlotState state = slot_states[slot];
    if (state.stopped != LIVE) {
        return;
    }
    const RowSummary row = summarize(chunks + b * CHUNKS, shared.scratch);
    if (row.not_finite) {
        if (threadIdx.x == 0) {
            slot_states[slot].stopped = STOPPED_BY_NAN;
            positions[b] = -1;
        }
        return;
    }
    if (state.temperature < GREEDY_BELOW) {
        if (threadIdx.x == 0) {
            shared.token_id = id_of_rank(row.best);
        }
        __syncthreads();
    } else {
        const DrawContext context = {
            &shared, (has_penalty(state) ? scores : logits) + b * V,
            candidates + (b * DRAW_WARPS + threadIdx.x / WARP) * SEGMENT, score_of_rank(row.best),
            state.temperature};
        sample_row(context, state, bin_masses + b * BINS, bin_counts + b * BINS);
    }
    const int token_id = shared.token_id;
    TokenRecord& record =
        records[static_cast<size_t>(slot) * record_capacity + state.index % record_capacity];
    clear(record);
    __syncthreads();
    if (state.detail != DETAIL_NONE) {
        describe(record, shared, chunks + b * CHUNKS, logits + b * V, token_id, state.detail);
    }
    if (threadIdx.x == 0) {
        advance(slot_states[slot], record, token_ids + b, positions + b,
                occurrences + static_cast<size_t>(slot) * V, token_id);
    }
}
