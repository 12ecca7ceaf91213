// Operation   hidden[t, :] = embed_tokens[token_ids[t], :]
// Arguments   hidden        [T, E] fp32, 16-byte aligned, written
//             embed_tokens  [V, E] bf16, 16-byte aligned
//             token_ids     [T] int32
//             T             int32
// Launch      grid (T), block (128), no dynamic shared memory
// Assumes     E % 8 == 0
// Numerics    exact. An id outside the vocabulary gives a row of NaN, so that it is reported as a
//             numerical error and never read past the table.
// Source      plain table look-up
// Oracle      tests/kernels/test_embedding.py
#include "common.cuh"

extern "C" __global__ void __launch_bounds__(128)
    embedding_bf16(float* __restrict__ hidden, const bf16* __restrict__ embed_tokens,
                   const int* __restrict__ token_ids, int T) {
    // The next kernels read ahead what earlier decode steps wrote: none starts before they ended.
    wait_for_previous_kernel();
    let_next_kernel_start();
    const int t = blockIdx.x;
    if (t >= T) {
        return;
    }
    const int token_id = token_ids[t];
    const bool known = token_id >= 0 && token_id < V;
    const bf16* source = embed_tokens + static_cast<size_t>(known ? token_id : 0) * E;
    float* destination = hidden + static_cast<size_t>(t) * E;
    for (int group = threadIdx.x; group < E / 8; group += blockDim.x) {
        float values[8];
        unpack_8_bf16(values, load_16_bytes_read_only(source + group * 8));
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            values[i] = known ? values[i] : __uint_as_float(0x7FC00000u);
        }
        store_8_floats(destination + group * 8, values);
    }
}
