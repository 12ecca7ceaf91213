// Operation   out[t, f] = silu(gate_up[t, f]) * gate_up[t, F + f], silu(g) = g / (1 + exp(-g))
// Arguments   out      [T, F] bf16, 16-byte aligned, written
//             gate_up  [T, 2F] fp32, 16-byte aligned: the gates of a row, then its ups
//             T        int32
// Launch      grid (ceil(F / 1024), T), block (128): 8 outputs per thread
// Assumes     F % 8 == 0; T at most 65535 (a prefill chunk)
// Numerics    fp32, rounded to bf16 once; exp(-g) may be infinite, the quotient then is -0
// Source      Shazeer 2020, "GLU Variants Improve Transformer"
// Oracle      tests/kernels/test_swiglu.py
#include "common.cuh"

extern "C" __global__ void __launch_bounds__(128)
    swiglu_bf16(bf16* __restrict__ out, const float* __restrict__ gate_up, int T) {
    const int t = blockIdx.y;
    const int f = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
    if (t >= T || f >= F) {
        return;
    }
    const float* row = gate_up + static_cast<size_t>(t) * 2 * F;
    float gate[8];
    float up[8];
    load_8_floats(gate, row + f);
    load_8_floats(up, row + F + f);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        gate[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
    }
    store_16_bytes(out + static_cast<size_t>(t) * F + f, pack_8_bf16(gate));
}
