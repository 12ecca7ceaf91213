// Operation   decode_product.cu for one row, where the residual stream has not been put together: it
//             is x, or out, plus the parts of o_proj that the kv heads have left:
//               NORM 1, KIND 2   out[n] = silu(.) * (.) of x + sum_p parts[p], normalised  (gate_up)
//               NORM 0, KIND 1   out[n] += sum_p parts[p, n] + the sum with weight[n]          (down)
// Arguments   out, x, norm, weight as decode_product.cu with B = 1
//             parts   [NKV, E] fp32, 16-byte aligned, written by self_attention_cluster.cu; E is K of
//                     gate_up and N of down
// Launch      as decode_product.cu; with NORM 4 K bytes of dynamic shared memory more
// Assumes     as decode_product.cu; K % 4 == 0
// Numerics    as decode_product.cu; the parts are added in the order of the kv heads
// Source      as decode_product.cu. With NORM each block reads all parts once, so few large blocks
//             are better here than many small ones.
// Oracle      tests/kernels/test_decode_product_parts.py
#include "common.cuh"
#include "decode_product.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    decode_product_parts_bf16(Output* out, const Input* x, const bf16* norm, const bf16* weight,
                              const float* parts) {
    multiply<NKV>(out, x, norm, weight, parts, 1);
}
