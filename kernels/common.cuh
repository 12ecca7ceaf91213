// What all kernels share: sizes, bf16, vector loads, reductions, and the only PTX of the project.
//
// Operation   none by itself; inlined into every .cu (no CUDA header is needed).
// Assumes     -DDIM_E, DIM_F, DIM_NH, DIM_NKV, DIM_HD, DIM_V, QK_NORM, RMS_NORM_EPS from the compiler.
// Numerics    float to bf16 rounds to nearest even; every NaN becomes 0x7FFF.
// Source      PTX ISA 8.x: mma.m16n8k16, ldmatrix, movmatrix, cp.async; each wrapper has a host stand-in.
// Oracle      tests/kernels/test_common.py
#pragma once

// Architecture as a number (800 = 8.0); the emulation passes the one that it stands for.
#ifdef KERNEL_EMULATION
#define KERNEL_ARCH KERNEL_EMULATION
#elif defined(__CUDA_ARCH__)
#define KERNEL_ARCH __CUDA_ARCH__
#else
#define KERNEL_ARCH 0
#endif

// mma.sync on bf16 and cp.async exist from 8.0 on; 7.5 takes the plain paths.
#define HAS_BF16_MMA (KERNEL_ARCH >= 800)
#define HAS_CP_ASYNC (KERNEL_ARCH >= 800)

constexpr int E = DIM_E;
constexpr int F = DIM_F;
constexpr int NH = DIM_NH;
constexpr int NKV = DIM_NKV;
constexpr int HD = DIM_HD;
constexpr int V = DIM_V;
constexpr int PAGE_TOKENS = 64;
constexpr int WARP = 32;
constexpr unsigned FULL_MASK = 0xFFFFFFFFu;

// Newton's iteration, for constants.
__device__ constexpr double square_root(double x) {
    double root = x;
    for (int i = 0; i < 40; ++i) {
        root = 0.5 * (root + x / root);
    }
    return root;
}

// Scores times this are logarithms to base 2 of attention weights: log2(e) / sqrt(HD).
constexpr float SOFTMAX_SCALE = static_cast<float>(1.4426950408889634 / square_root(HD));

static_assert(E % 8 == 0 && F % 8 == 0 && HD % 8 == 0, "rows must be multiples of 16 bytes");
static_assert(NH % NKV == 0, "query heads share kv heads evenly");

// Dynamic shared memory, aligned to 128 bytes; once per kernel.
#ifdef KERNEL_EMULATION
#define DYNAMIC_SHARED(type, name) \
    type* const name = reinterpret_cast<type*>(emulation::current->block->dynamic_shared)
#else
#define DYNAMIC_SHARED(type, name)                            \
    extern __shared__ __align__(128) unsigned char name##_bytes[]; \
    type* const name = reinterpret_cast<type*>(name##_bytes)
#endif

// ---------------------------------------------------------------- bf16

// Storage only: arithmetic is fp32. Half the size of a float, the upper half of its bits.
struct __align__(2) bf16 {
    unsigned short bits;
};

__device__ __forceinline__ float to_float(bf16 value) {
    return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

__device__ __forceinline__ bf16 to_bf16(float value) {
    const unsigned bits = __float_as_uint(value);
    // Adding 0x7FFF, and 1 more when the kept part is odd, rounds to nearest even; a NaN would
    // overflow into an infinity or a number.
    const unsigned rounded = (bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16;
    const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    return {static_cast<unsigned short>(is_nan ? 0x7FFFu : rounded)};
}

// Two bf16 in one register, `low` in the lower half.
__device__ __forceinline__ unsigned pack_bf16(float low, float high) {
#if !defined(KERNEL_EMULATION) && KERNEL_ARCH >= 800
    unsigned packed;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    return packed;
#else
    return static_cast<unsigned>(to_bf16(low).bits) |
           static_cast<unsigned>(to_bf16(high).bits) << 16;
#endif
}

__device__ __forceinline__ float low_bf16(unsigned packed) { return __uint_as_float(packed << 16); }
__device__ __forceinline__ float high_bf16(unsigned packed) {
    return __uint_as_float(packed & 0xFFFF0000u);
}

// ---------------------------------------------------------------- 16-byte vectors

// Eight bf16 or four floats per access; the address must be a multiple of 16 bytes.
__device__ __forceinline__ uint4 load_16_bytes(const void* address) {
    return *static_cast<const uint4*>(address);
}

// The same through the read-only path: for weights and inputs that no kernel writes meanwhile.
__device__ __forceinline__ uint4 load_16_bytes_read_only(const void* address) {
    return __ldg(static_cast<const uint4*>(address));
}

// The same for weights that are read once per launch: they do not push the inputs out of L1.
__device__ __forceinline__ uint4 load_16_bytes_streaming(const void* address) {
#ifdef KERNEL_EMULATION
    return *static_cast<const uint4*>(address);
#else
    uint4 value;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
        : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
        : "l"(address));
    return value;
#endif
}

__device__ __forceinline__ void store_16_bytes(void* address, uint4 value) {
    *static_cast<uint4*>(address) = value;
}

__device__ __forceinline__ void unpack_8_bf16(float (&out)[8], uint4 packed) {
    out[0] = low_bf16(packed.x);
    out[1] = high_bf16(packed.x);
    out[2] = low_bf16(packed.y);
    out[3] = high_bf16(packed.y);
    out[4] = low_bf16(packed.z);
    out[5] = high_bf16(packed.z);
    out[6] = low_bf16(packed.w);
    out[7] = high_bf16(packed.w);
}

// Eight floats from a 16-byte aligned address.
__device__ __forceinline__ void load_8_floats(float (&out)[8], const float* address) {
    const float4 low = *reinterpret_cast<const float4*>(address);
    const float4 high = *reinterpret_cast<const float4*>(address + 4);
    out[0] = low.x;
    out[1] = low.y;
    out[2] = low.z;
    out[3] = low.w;
    out[4] = high.x;
    out[5] = high.y;
    out[6] = high.z;
    out[7] = high.w;
}

__device__ __forceinline__ uint4 pack_8_bf16(const float (&in)[8]) {
    return make_uint4(pack_bf16(in[0], in[1]), pack_bf16(in[2], in[3]), pack_bf16(in[4], in[5]),
                      pack_bf16(in[6], in[7]));
}

// What a maximum starts from and a masked score is; NVRTC has no INFINITY without a header.
__device__ __forceinline__ float negative_infinity() { return __uint_as_float(0xFF800000u); }

__device__ __forceinline__ void store_8_floats(float* address, const float (&in)[8]) {
    *reinterpret_cast<float4*>(address) = make_float4(in[0], in[1], in[2], in[3]);
    *reinterpret_cast<float4*>(address + 4) = make_float4(in[4], in[5], in[6], in[7]);
}

// ---------------------------------------------------------------- reductions

// Sum over the warp, in every lane; all 32 lanes must call. The order is fixed, so runs repeat.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) {
        value += __shfl_xor_sync(FULL_MASK, value, lanes);
    }
    return value;
}

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
    for (int lanes = WARP / 2; lanes > 0; lanes /= 2) {
        value = fmaxf(value, __shfl_xor_sync(FULL_MASK, value, lanes));
    }
    return value;
}

// Sum over the block, in every thread. `scratch` is shared memory of 32 floats that may be used
// again at once; blockDim.x must be a multiple of 32 and all threads must call.
__device__ __forceinline__ float block_sum(float value, float* scratch) {
    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;
    value = warp_sum(value);
    if (lane == 0) {
        scratch[warp] = value;
    }
    __syncthreads();
    value = lane < static_cast<int>(blockDim.x) / WARP ? scratch[lane] : 0.0f;
    value = warp_sum(value);
    __syncthreads();  // nobody writes scratch again before all have read it
    return value;
}

__device__ __forceinline__ float block_max(float value, float* scratch) {
    const int lane = threadIdx.x % WARP;
    const int warp = threadIdx.x / WARP;
    value = warp_max(value);
    if (lane == 0) {
        scratch[warp] = value;
    }
    __syncthreads();
    value = scratch[lane < static_cast<int>(blockDim.x) / WARP ? lane : 0];
    value = warp_max(value);
    __syncthreads();
    return value;
}

// ---------------------------------------------------------------- PTX wrappers

// d[16, 8] += a[16, 16] * b[16, 8], bf16 in, fp32 sums; all 32 lanes. With group = lane / 4 and
// pair = lane % 4 * 2, each register two neighbours (lower index in the lower half):
//   a[0]: row group, columns pair, pair + 1;  a[1]: row group + 8;  a[2], a[3]: columns + 8
//   b[0]: rows pair, pair + 1 of column group;  b[1]: rows + 8
//   d[0], d[1]: row group, columns pair, pair + 1;  d[2], d[3]: row group + 8
#if HAS_BF16_MMA
#ifdef KERNEL_EMULATION
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
    emulation::mma_m16n8k16(d, a, b, __FILE__, __LINE__);
}
#else
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const unsigned (&a)[4],
                                             const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif
#endif

// Loads `N` (1, 2, 4) matrices of 8 x 8 bf16 from shared memory: lane i gives the 16-byte aligned
// address of row i % 8 of matrix i / 8; register m gets row lane / 4, columns lane % 4 * 2 and the
// next of matrix m (TRANSPOSED: of its transpose). All 32 lanes must call, each with a valid row.
template <int N, bool TRANSPOSED>
__device__ __forceinline__ void ldmatrix(unsigned (&registers)[N], const void* row) {
    static_assert(N == 1 || N == 2 || N == 4, "ldmatrix moves 1, 2 or 4 matrices");
#ifdef KERNEL_EMULATION
    emulation::ldmatrix(registers, row, N, TRANSPOSED, __FILE__, __LINE__);
#else
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    if constexpr (N == 4 && TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
                       "=r"(registers[3])
                     : "r"(address)
                     : "memory");
    } else if constexpr (N == 4) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]),
                       "=r"(registers[3])
                     : "r"(address)
                     : "memory");
    } else if constexpr (N == 2 && TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(registers[0]), "=r"(registers[1])
                     : "r"(address)
                     : "memory");
    } else if constexpr (N == 2) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(registers[0]), "=r"(registers[1])
                     : "r"(address)
                     : "memory");
    } else if constexpr (TRANSPOSED) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                     : "=r"(registers[0])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                     : "=r"(registers[0])
                     : "r"(address)
                     : "memory");
    }
#endif
}

// The transpose of a matrix of 8 x 8 bf16 that lies in registers as ldmatrix leaves it: row lane / 4,
// columns lane % 4 * 2 and the next. All 32 lanes must call.
__device__ __forceinline__ unsigned transpose_matrix(unsigned packed) {
#ifdef KERNEL_EMULATION
    return emulation::transpose_matrix(packed, __FILE__, __LINE__);
#else
    unsigned transposed;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(packed));
    return transposed;
#endif
}

// Copies 16 bytes from global to shared memory in the background; with `valid` false it writes
// zeros and does not read. Both addresses are multiples of 16 bytes. Before 8.0: a plain copy.
__device__ __forceinline__ void cp_async_16(void* shared, const void* global, bool valid = true) {
#if defined(KERNEL_EMULATION) && HAS_CP_ASYNC
    emulation::async_copy(shared, global, valid ? 16 : 0, 16);
#elif HAS_CP_ASYNC
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const int source_bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address),
                 "l"(global), "r"(source_bytes)
                 : "memory");
#else
    store_16_bytes(shared, valid ? load_16_bytes(global) : make_uint4(0, 0, 0, 0));
#endif
}

// Closes the group of copies that this thread has started.
__device__ __forceinline__ void cp_async_commit() {
#if defined(KERNEL_EMULATION) && HAS_CP_ASYNC
    emulation::async_commit();
#elif HAS_CP_ASYNC
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `PENDING` newest groups of this thread are under way; a __syncthreads must
// follow before other threads read what it copied.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() {
#if defined(KERNEL_EMULATION) && HAS_CP_ASYNC
    emulation::async_wait(PENDING);
#elif HAS_CP_ASYNC
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

// Inside a loop that waits for another block: reads must be volatile.
__device__ __forceinline__ void spin_wait() {
#ifdef KERNEL_EMULATION
    emulation::spin_wait();
#else
    __nanosleep(32);
#endif
}

// ---------------------------------------------------------------- kernels that overlap

// From 9.0 on a kernel may be launched while the one before it still runs (programmatic dependent
// launch). It may then read what no kernel of the step writes; everything else only after this
// wait, which ends when the kernel before has ended and its writes can be seen. Every kernel that
// is launched so must call it. Without such a launch, and before 9.0: nothing.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if !defined(KERNEL_EMULATION) && KERNEL_ARCH >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Allows the next kernel to be launched once all blocks have called this or ended.
__device__ __forceinline__ void let_next_kernel_start() {
#if !defined(KERNEL_EMULATION) && KERNEL_ARCH >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Past L1: for what another block of the same launch has written.
__device__ __forceinline__ float load_from_l2(const float* address) {
#ifdef KERNEL_EMULATION
    return *address;
#else
    float value;
    asm volatile("ld.global.cg.f32 %0, [%1];" : "=f"(value) : "l"(address) : "memory");
    return value;
#endif
}

// Choose<flag, A, B>::type is A where the flag is set, else B.
template <bool FLAG, typename A, typename B>
struct Choose {
    typedef A type;
};
template <typename A, typename B>
struct Choose<false, A, B> {
    typedef B type;
};

// ---------------------------------------------------------------- short code

// A kernel of the decode step runs a few microseconds, so that fetching its instructions counts: the
// approximations of the hardware (2 ulp) take one instruction where the exact ones take forty.
__device__ __forceinline__ float fast_exp2(float x) {
#ifdef KERNEL_EMULATION
    return exp2f(x);
#else
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#endif
}

__device__ __forceinline__ float fast_reciprocal(float x) {
#ifdef KERNEL_EMULATION
    return 1.0f / x;
#else
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#endif
}

__device__ __forceinline__ float fast_reciprocal_root(float x) {
#ifdef KERNEL_EMULATION
    return 1.0f / sqrtf(x);
#else
    float result;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
#endif
}

// x / (1 + exp(-x)).
__device__ __forceinline__ float fast_silu(float x) {
    return x * fast_reciprocal(1.0f + fast_exp2(-1.4426950408889634f * x));
}
