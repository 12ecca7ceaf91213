// Operation   for each token t and head: q and k are normalised over HD (only with QK_NORM = 1):
//                 x[i] = norm[i] * x[i] / sqrt(mean(x^2) + RMS_NORM_EPS)
//             then rotated by the angle of the token's position p, pairs (i, i + HD/2):
//                 y[i] = x[i] cos - x[i + HD/2] sin,  y[i + HD/2] = x[i + HD/2] cos + x[i] sin
//             v is taken as it is. k and v are appended to the pages of the token's slot.
// Arguments   q            [T, NH, HD] bf16, written
//             k_pool       [pages, NKV, 64, HD] bf16, rows of the new tokens written
//             v_pool       [pages, NKV, 64, HD] bf16, likewise
//             qkv          [T, (NH + 2 NKV) HD] fp32: heads of q, then of k, then of v
//             q_norm       [HD] bf16, not read with QK_NORM = 0
//             k_norm       [HD] bf16, not read with QK_NORM = 0
//             rope_table   [capacity, HD/2, 2] fp32: cos, sin; 8-byte aligned
//             positions    [T] int32; -1: the row is idle, nothing is appended
//             slots        [T] int32
//             block_table  [slots, max_pages] int32
//             T, max_pages int32
// Launch      grid (T, ceil((NH + 2 NKV) / 4)), block (128): one warp per token and head
// Assumes     HD % 8 == 0; positions below capacity; block_table has a page for each position
// Numerics    fp32, rounded to bf16 once at the end. Hugging Face's bf16 run rounds after the
//             normalisation, the product with norm and each product of the rotation.
// Source      Su et al. 2021, "RoFormer"; half-split pairs as in Hugging Face's rotate_half
// Oracle      tests/kernels/test_qk_norm_rope.py
#include "common.cuh"

constexpr int ROPE_WARPS = 4;
constexpr int ROPE_PAIRS = (HD / 2 + WARP - 1) / WARP;  // pairs per lane

extern "C" __global__ void __launch_bounds__(ROPE_WARPS* WARP)
    qk_norm_rope_bf16(bf16* __restrict__ q, bf16* __restrict__ k_pool, bf16* __restrict__ v_pool,
                      const float* __restrict__ qkv, const bf16* __restrict__ q_norm,
                      const bf16* __restrict__ k_norm, const float* __restrict__ rope_table,
                      const int* __restrict__ positions, const int* __restrict__ slots,
                      const int* __restrict__ block_table, int T, int max_pages) {
    const int t = blockIdx.x;
    const int head = blockIdx.y * ROPE_WARPS + threadIdx.x / WARP;
    const int lane = threadIdx.x % WARP;
    if (t >= T || head >= NH + 2 * NKV) {
        return;
    }
    const bool is_q = head < NH;
    const bool is_v = head >= NH + NKV;
    const int position = positions[t];
    const bool in_cache = position >= 0 && position < max_pages * PAGE_TOKENS;

    const float* source = qkv + (static_cast<size_t>(t) * (NH + 2 * NKV) + head) * HD;
    float low[ROPE_PAIRS];
    float high[ROPE_PAIRS];
#pragma unroll
    for (int j = 0; j < ROPE_PAIRS; ++j) {
        const int i = j * WARP + lane;
        low[j] = i < HD / 2 ? source[i] : 0.0f;
        high[j] = i < HD / 2 ? source[i + HD / 2] : 0.0f;
    }

#if QK_NORM
    if (!is_v) {
        float squares = 0.0f;
#pragma unroll
        for (int j = 0; j < ROPE_PAIRS; ++j) {
            squares += low[j] * low[j] + high[j] * high[j];
        }
        const float scale = 1.0f / sqrtf(warp_sum(squares) / HD + RMS_NORM_EPS);
        const bf16* norm = is_q ? q_norm : k_norm;
#pragma unroll
        for (int j = 0; j < ROPE_PAIRS; ++j) {
            const int i = j * WARP + lane;
            if (i < HD / 2) {
                low[j] *= scale * to_float(norm[i]);
                high[j] *= scale * to_float(norm[i + HD / 2]);
            }
        }
    }
#endif

    if (!is_v) {
        // An idle row still writes q; any angle will do, and row 0 of the table exists.
        const float2* angles =
            reinterpret_cast<const float2*>(rope_table) + static_cast<size_t>(max(position, 0)) * (HD / 2);
#pragma unroll
        for (int j = 0; j < ROPE_PAIRS; ++j) {
            const int i = j * WARP + lane;
            if (i < HD / 2) {
                const float2 angle = angles[i];
                const float rotated = low[j] * angle.x - high[j] * angle.y;
                high[j] = high[j] * angle.x + low[j] * angle.y;
                low[j] = rotated;
            }
        }
    }

    bf16* destination = nullptr;
    if (is_q) {
        destination = q + (static_cast<size_t>(t) * NH + head) * HD;
    } else if (in_cache) {
        const int page = block_table[slots[t] * max_pages + position / PAGE_TOKENS];
        const int kv_head = is_v ? head - NH - NKV : head - NH;
        const size_t row =
            (static_cast<size_t>(page) * NKV + kv_head) * PAGE_TOKENS + position % PAGE_TOKENS;
        destination = (is_v ? v_pool : k_pool) + row * HD;
    }
    if (destination != nullptr) {
#pragma unroll
        for (int j = 0; j < ROPE_PAIRS; ++j) {
            const int i = j * WARP + lane;
            if (i < HD / 2) {
                destination[i] = to_bf16(low[j]);
                destination[i + HD / 2] = to_bf16(high[j]);
            }
        }
    }
}
