// Operation   sums[block] = exclusive or of all words that the block reads; all blocks together read
//             data once: how fast that goes is the limit of every decode step
// Arguments   sums  [gridDim.x] uint32, written
//             data  [4 n] uint32, 16-byte aligned
//             n     int32, number of 16-byte vectors
// Launch      grid (any number of blocks), block (512), no dynamic shared memory
// Assumes     nothing
// Numerics    exact
// Source      eight loads of each thread are under way at a time: 64 KiB a block
// Oracle      tests/kernels/test_read_limit.py
#include "common.cuh"

constexpr int READ_LIMIT_THREADS = 512;
constexpr int READS_UNDER_WAY = 8;

extern "C" __global__ void __launch_bounds__(READ_LIMIT_THREADS)
    read_limit(unsigned* __restrict__ sums, const unsigned* __restrict__ data, int n) {
    __shared__ unsigned of_warp[READ_LIMIT_THREADS / WARP];
    const long long stride = static_cast<long long>(gridDim.x) * READ_LIMIT_THREADS;
    unsigned sum = 0;
    for (long long first = static_cast<long long>(blockIdx.x) * READ_LIMIT_THREADS + threadIdx.x;
         first < n; first += READS_UNDER_WAY * stride) {
        uint4 values[READS_UNDER_WAY];
#pragma unroll
        for (int i = 0; i < READS_UNDER_WAY; ++i) {
            const long long at = first + i * stride;
            values[i] = at < n ? load_16_bytes_streaming(data + 4 * at) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < READS_UNDER_WAY; ++i) {
            sum ^= values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
        }
    }
#pragma unroll
    for (int lane = WARP / 2; lane > 0; lane /= 2) {
        sum ^= __shfl_xor_sync(FULL_MASK, sum, lane);
    }
    if (threadIdx.x % WARP == 0) {
        of_warp[threadIdx.x / WARP] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int warp = 1; warp < READ_LIMIT_THREADS / WARP; ++warp) {
            sum ^= of_warp[warp];
        }
        sums[blockIdx.x] = sum;
    }
}
