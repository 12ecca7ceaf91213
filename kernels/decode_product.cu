// Operation   one matrix-vector product of a decode step, with what stands around it:
//               PRODUCT_NORM 1      x is normalised first: x[k] * norm[k] / sqrt(mean(x^2) + eps)
//               PRODUCT_KIND 0      out[b, n] = sum_k x[b, k] * weight[n, k]
//               PRODUCT_KIND 1      out[b, n] += that sum                        (residual)
//               PRODUCT_KIND 2      out[b, n] = silu(sum with weight[n]) * (sum with weight[N + n])
//             qkv: norm, 0. o and down: 1. gate_up: norm, 2. lm_head: norm, 0.
// Arguments   out     [B, N] fp32; with KIND 2 bf16
//             x       [B, K] bf16, 16-byte aligned; with NORM fp32 (the residual stream)
//             norm    [K] bf16; not read without NORM
//             weight  [N, K] bf16, 16-byte aligned; with KIND 2 [2 N, K]
//             B       int32, 1 or more
// Launch      grid: any number of blocks, block (32 WARPS), dynamic shared memory
//             TURNS * ROWS * STAGED * 512 * WARPS bytes (0 before 8.0). A warp takes ROWS rows of
//             weight at a time; WARPS * ROWS rows per block and turn, so with grid
//             ceil(rows / (WARPS * ROWS)) one turn does all.
//             -DPRODUCT_K, _N, _NORM, _KIND and the launch shape _WARPS, _ROWS, _STAGED, _TURNS
// Assumes     K % 8 == 0; with KIND 2 ROWS is even
// Numerics    fp32 sums of exact bf16 weights, one order for each K, so a row's result changes
//             neither with B nor with the launch shape. With NORM the sum is scaled at the end, so
//             the normalised vector is never rounded.
// Source      bound by reading weight once. Each thread copies the 16-byte pieces that it will
//             multiply into shared memory of its own, in the background: no block barrier, and on
//             9.0 and up the copies start before the previous kernel has ended (programmatic
//             dependent launch), since weights never change.
// Oracle      tests/kernels/test_decode_product.py
#include "common.cuh"
#include "decode_product.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    decode_product_bf16(Output* out, const Input* x, const bf16* norm, const bf16* weight, int B) {
    multiply<0>(out, x, norm, weight, nullptr, B);
}
