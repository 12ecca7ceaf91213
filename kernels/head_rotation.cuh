// Norm and rotation of one head of a decode step's new token, by one warp.
//
// Operation   none by itself; inlined into decode_attention.cu and self_attention_cluster.cu
// Assumes     common.cuh before it
// Numerics    fp32; half-split pairing: dim i turns with dim i + HD / 2
// Source      Su et al. 2021 (RoPE); Qwen3's norm of each head of q and k
// Oracle      tests/kernels/test_decode_attention.py, test_self_attention_cluster.py
#pragma once

constexpr int PAIRS = (HD / 2 + WARP - 1) / WARP;  // of head dims rotated together, per lane

// What the products with q and k need of one token, loaded ahead: factors of the norm, angles.
struct Rotation {
    float low[PAIRS];
    float high[PAIRS];
    float2 angle[PAIRS];
};

__device__ __forceinline__ Rotation load_rotation(const bf16* norm, const float* rope_table,
                                                  int position) {
    Rotation rotation = {};
    const float2* angles = reinterpret_cast<const float2*>(rope_table) +
                           static_cast<size_t>(position) * (HD / 2);
#pragma unroll
    for (int j = 0; j < PAIRS; ++j) {
        const int i = j * WARP + static_cast<int>(threadIdx.x) % WARP;
        if (i < HD / 2) {
            rotation.low[j] = QK_NORM ? to_float(norm[i]) : 1.0f;
            rotation.high[j] = QK_NORM ? to_float(norm[i + HD / 2]) : 1.0f;
            rotation.angle[j] = angles[i];
        }
    }
    return rotation;
}

// One warp: norm and rotation of one head of the new token, into shared memory.
__device__ __forceinline__ void rotate_head(float* out, const float* head,
                                            const Rotation& rotation) {
    const int lane = threadIdx.x % WARP;
    float low[PAIRS];
    float high[PAIRS];
    float squares = 0.0f;
#pragma unroll
    for (int j = 0; j < PAIRS; ++j) {
        const int i = j * WARP + lane;
        low[j] = i < HD / 2 ? head[i] : 0.0f;
        high[j] = i < HD / 2 ? head[i + HD / 2] : 0.0f;
        squares += low[j] * low[j] + high[j] * high[j];
    }
    const float scale =
        QK_NORM ? fast_reciprocal_root(warp_sum(squares) * (1.0f / HD) + RMS_NORM_EPS) : 1.0f;
#pragma unroll
    for (int j = 0; j < PAIRS; ++j) {
        const int i = j * WARP + lane;
        if (i < HD / 2) {
            const float x = low[j] * scale * rotation.low[j];
            const float y = high[j] * scale * rotation.high[j];
            out[i] = x * rotation.angle[j].x - y * rotation.angle[j].y;
            out[i + HD / 2] = y * rotation.angle[j].x + x * rotation.angle[j].y;
        }
    }
}
