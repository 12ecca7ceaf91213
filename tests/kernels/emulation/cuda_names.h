// CUDA's keywords, built-in variables and intrinsics for g++, on top of the fiber runtime.
//
// Included before an unmodified .cu file; `KERNEL_EMULATION` is the emulated architecture
// (800 = 8.0). Only what the kernels use stands here: an unknown intrinsic is a compile error.
#pragma once
#include <cmath>

#include "runtime.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)  // build.py reads it
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __constant__ static const
// Only inside `extern "C" __global__` functions: GCC cannot place variables of templates and
// inline functions in a named section.
#define __shared__ static __attribute__((section("emulated_shared")))

#define threadIdx (emulation::current->thread)
#define blockIdx (emulation::current->block->index)
#define blockDim (emulation::launch.block_size)
#define gridDim (emulation::launch.grid)

using std::isfinite;
using std::isinf;
using std::isnan;
using std::max;
using std::min;

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// The default arguments are evaluated at the call, so they name the kernel's own line.
#define EMULATION_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(EMULATION_SITE) { emulation::block_barrier({"__syncthreads", file, line}, 0); }
inline int __syncthreads_count(int predicate, EMULATION_SITE) {
    return emulation::block_barrier({"__syncthreads_count", file, line}, predicate);
}
inline int __syncthreads_or(int predicate, EMULATION_SITE) {
    return emulation::block_barrier({"__syncthreads_or", file, line}, predicate) > 0;
}
inline int __syncthreads_and(int predicate, EMULATION_SITE) {
    return emulation::block_barrier({"__syncthreads_and", file, line}, !predicate) == 0;
}
inline void __syncwarp(unsigned mask = 0xFFFFFFFFu, EMULATION_SITE) {
    emulation::warp_operation({"__syncwarp", file, line}, mask, nullptr, nullptr);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, EMULATION_SITE) {
    const int lane = static_cast<int>(emulation::current->lane);
    return emulation::shuffle({"__shfl_sync", file, line}, mask, value,
                              (lane & ~(width - 1)) + (source & (width - 1)));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, EMULATION_SITE) {
    const int lane = static_cast<int>(emulation::current->lane);
    const int source = lane ^ lanes;
    return emulation::shuffle({"__shfl_xor_sync", file, line}, mask, value,
                              source / width > lane / width ? lane : source);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, int lanes, int width = 32, EMULATION_SITE) {
    const int lane = static_cast<int>(emulation::current->lane);
    return emulation::shuffle({"__shfl_down_sync", file, line}, mask, value,
                              lane % width + lanes < width ? lane + lanes : lane);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, int lanes, int width = 32, EMULATION_SITE) {
    const int lane = static_cast<int>(emulation::current->lane);
    return emulation::shuffle({"__shfl_up_sync", file, line}, mask, value,
                              lane % width >= lanes ? lane - lanes : lane);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATION_SITE) {
    return emulation::ballot({"__ballot_sync", file, line}, mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate, EMULATION_SITE) {
    return emulation::ballot({"__any_sync", file, line}, mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate, EMULATION_SITE) {
    return emulation::ballot({"__all_sync", file, line}, mask, predicate != 0) == mask;
}

// One fiber runs at a time, so a plain read and write is atomic.
template <typename T, typename U>
T atomicAdd(T* address, U value) {
    static_assert(std::is_integral_v<T>, "no atomics on floats: runs must repeat");
    const T old = *address;
    *address = static_cast<T>(old + static_cast<T>(value));
    return old;
}
template <typename T, typename U>
T atomicMax(T* address, U value) {
    const T old = *address;
    *address = std::max(old, static_cast<T>(value));
    return old;
}
template <typename T, typename U>
T atomicMin(T* address, U value) {
    const T old = *address;
    *address = std::min(old, static_cast<T>(value));
    return old;
}
template <typename T, typename U>
T atomicOr(T* address, U value) {
    const T old = *address;
    *address = old | static_cast<T>(value);
    return old;
}
template <typename T, typename U>
T atomicExch(T* address, U value) {
    const T old = *address;
    *address = static_cast<T>(value);
    return old;
}
template <typename T>
T atomicCAS(T* address, T compare, T value) {
    const T old = *address;
    if (old == compare) {
        *address = value;
    }
    return old;
}
inline void __threadfence() {}
inline void __threadfence_block() {}

template <typename T>
T __ldg(const T* address) {
    return *address;
}
template <typename T>
T __ldcs(const T* address) {
    return *address;
}
inline float __uint_as_float(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
inline unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float __int_as_float(int bits) { return __uint_as_float(static_cast<unsigned>(bits)); }
inline int __float_as_int(float value) { return static_cast<int>(__float_as_uint(value)); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline unsigned long long __float2ull_rn(float x) {
    return static_cast<unsigned long long>(rintf(x));
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __clz(int bits) { return bits == 0 ? 32 : __builtin_clz(static_cast<unsigned>(bits)); }
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<uint64_t>(a) * b) >> 32);
}
