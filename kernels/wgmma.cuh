// Hopper's warpgroup matrix products: wrappers of the PTX that exists on compute capability 9.0 only.
//
// Operation   none by itself; inlined into the *_hopper.cu files, which are compiled for sm_90a.
// Numerics    bf16 products are exact, sums fp32 in the tensor core's own order; runs repeat.
// Source      PTX ISA 8.x, "Asynchronous warpgroup level matrix instructions"; matrix descriptors as
//             in NVIDIA CUTLASS, mma_sm90_desc.hpp. Each wrapper has a host stand-in.
// Oracle      tests/kernels/test_wgmma.py
//
// A warpgroup is four warps, the first one's index a multiple of 4; all 128 threads call together.
// Operands lie in shared memory in rows of 128 bytes (64 bf16), whose 16-byte chunks are swizzled:
// chunk c of row r lies at place c ^ r % 8. Every such tile begins at a multiple of 1024 bytes.
#pragma once

// ---------------------------------------------------------------- descriptors

constexpr int ROW_BYTES = 128;

// Bytes from one group of eight 128-byte rows to the next.
constexpr int SWIZZLE_ATOM_BYTES = 1024;

__device__ __forceinline__ unsigned shared_address(const void* shared) {
#ifdef KERNEL_EMULATION
    return emulation::shared_address(shared);
#else
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
#endif
}

// The first byte at or after `shared` whose address is a multiple of 1024: one such place lies in
// any 1024 bytes of dynamic shared memory that a kernel asks for on top.
__device__ __forceinline__ unsigned char* align_to_atom(unsigned char* shared) {
    return shared + (-shared_address(shared) & (SWIZZLE_ATOM_BYTES - 1));
}

// Descriptor of an operand. K-major (rows along the outputs, 64 of k in a row): `column_bytes` is
// not read. Transposed (rows along k, 64 outputs in a row): `column_bytes` leads from one tile of 64
// outputs to the next. A step of 16 along k: K-major + 32 bytes, transposed + 2048 bytes.
__device__ __forceinline__ unsigned long long matrix_descriptor(const void* tile,
                                                                int column_bytes = 16) {
    constexpr unsigned long long SWIZZLE_128 = 1ull << 62;
    return static_cast<unsigned long long>((shared_address(tile) & 0x3FFFF) >> 4) |
           static_cast<unsigned long long>(column_bytes >> 4) << 16 |
           static_cast<unsigned long long>(SWIZZLE_ATOM_BYTES >> 4) << 32 | SWIZZLE_128;
}

// The descriptor `bytes` further on.
__device__ __forceinline__ unsigned long long advance(unsigned long long descriptor, int bytes) {
    return descriptor + static_cast<unsigned long long>(bytes >> 4);
}

// ---------------------------------------------------------------- order

// Makes this thread's writes to shared memory visible to the tensor core; a barrier must follow.
__device__ __forceinline__ void fence_for_tensor_core() {
#ifndef KERNEL_EMULATION
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

// Before the first product of a group: registers that were written by ordinary code may be read.
__device__ __forceinline__ void wgmma_begin() {
#ifndef KERNEL_EMULATION
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

// Closes the group of products that this warpgroup has started.
__device__ __forceinline__ void wgmma_commit() {
#ifdef KERNEL_EMULATION
    emulation::wgmma_commit();
#else
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

// Waits until at most `PENDING` newest groups are under way; before it nobody may read their sums
// or overwrite their operands.
template <int PENDING>
__device__ __forceinline__ void wgmma_wait() {
#ifdef KERNEL_EMULATION
    emulation::wgmma_wait(PENDING);
#else
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#endif
}

// After the wait: keeps the compiler from reading sums earlier than here.
template <int COUNT>
__device__ __forceinline__ void settle(float (&sums)[COUNT]) {
#ifndef KERNEL_EMULATION
#pragma unroll
    for (int i = 0; i < COUNT; ++i) {
        asm volatile("" : "+f"(sums[i])::"memory");
    }
#endif
}

// ---------------------------------------------------------------- barriers

// A barrier in shared memory at which threads arrive and go on; whoever needs that all `count` have
// arrived waits. It serves one phase after the other, the first of parity 0.
__device__ __forceinline__ void barrier_init(unsigned long long* barrier, int count) {
#ifdef KERNEL_EMULATION
    emulation::barrier_init(barrier, count);
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)),
                 "r"(count)
                 : "memory");
#endif
}

// What this thread has done before can be seen by whoever has waited.
__device__ __forceinline__ void barrier_arrive(unsigned long long* barrier) {
#ifdef KERNEL_EMULATION
    emulation::barrier_arrive(barrier);
#else
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared::cta.b64 state, [%0]; }" ::"r"(
                     shared_address(barrier))
                 : "memory");
#endif
}

// Waits until a phase of this parity has ended; at most one phase may lie behind the caller.
__device__ __forceinline__ void barrier_wait(unsigned long long* barrier, int parity) {
#ifdef KERNEL_EMULATION
    while (!emulation::barrier_passed(barrier, parity)) {
        emulation::spin_wait();
    }
#else
    unsigned passed;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
            "selp.u32 %0, 1, 0, p; }"
            : "=r"(passed)
            : "r"(shared_address(barrier)), "r"(parity)
            : "memory");
    } while (!passed);
#endif
}

// ---------------------------------------------------------------- roles

// The register file moves between warpgroups of different roles: all four warps call, once, at the
// start of their role, which is one branch of a single if/else. COUNT is a multiple of 8.
template <int COUNT>
__device__ __forceinline__ void give_registers_back() {
#ifndef KERNEL_EMULATION
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

template <int COUNT>
__device__ __forceinline__ void take_registers() {
#ifndef KERNEL_EMULATION
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
#endif
}

// ---------------------------------------------------------------- products

// d[64, N] = a[64, 16] * b[16, N], added to d if `accumulate`; both K-major in shared memory. Lane l
// of warp w holds d[j * 4 + half * 2 + c] = row 16 w + l / 4 + 8 half, column 8 j + l % 4 * 2 + c.
#ifdef KERNEL_EMULATION
template <int COUNT>
__device__ __forceinline__ void wgmma(float (&d)[COUNT], unsigned long long a,
                                      unsigned long long b, bool accumulate) {
    emulation::wgmma(d, COUNT * 2, nullptr, a, b, false, accumulate, __FILE__, __LINE__);
}

// d[64, N] += a[64, 16] * b[16, N], a in registers as in mma_m16n8k16, b transposed in shared memory.
template <int COUNT>
__device__ __forceinline__ void wgmma_transposed(float (&d)[COUNT], const unsigned (&a)[4],
                                                 unsigned long long b) {
    emulation::wgmma(d, COUNT * 2, a, 0, b, true, true, __FILE__, __LINE__);
}
#else
#define WGMMA_SUMS_8(i)                                                                    \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]),            \
        "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define WGMMA_SUMS_64(i)                                                                   \
    WGMMA_SUMS_8(i), WGMMA_SUMS_8(i + 8), WGMMA_SUMS_8(i + 16), WGMMA_SUMS_8(i + 24),      \
        WGMMA_SUMS_8(i + 32), WGMMA_SUMS_8(i + 40), WGMMA_SUMS_8(i + 48), WGMMA_SUMS_8(i + 56)
#define WGMMA_NAMES_64 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WGMMA_NAMES_128 \
    "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
    "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31," \
    "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
    "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63," \
    "%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79," \
    "%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95," \
    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111," \
    "%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

__device__ __forceinline__ void wgmma(float (&d)[64], unsigned long long a, unsigned long long b,
                                      bool accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %66, 0;"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_NAMES_64
        "}, %64, %65, p, 1, 1, 0, 0; }"
        : WGMMA_SUMS_64(0)
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

__device__ __forceinline__ void wgmma(float (&d)[128], unsigned long long a, unsigned long long b,
                                      bool accumulate) {
    asm volatile(
        "{ .reg .pred p; setp.ne.b32 p, %130, 0;"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" WGMMA_NAMES_128
        "}, %128, %129, p, 1, 1, 0, 0; }"
        : WGMMA_SUMS_64(0), WGMMA_SUMS_64(64)
        : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));
}

__device__ __forceinline__ void wgmma_transposed(float (&d)[64], const unsigned (&a)[4],
                                                 unsigned long long b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" WGMMA_NAMES_64
        "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"
        : WGMMA_SUMS_64(0)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#endif

// ---------------------------------------------------------------- sums

// Row of the block that this lane holds sums of; the other one is eight below.
__device__ __forceinline__ int lane_row() {
    return threadIdx.x / WARP * 16 + threadIdx.x % WARP / 4;
}

// Stores columns 8 j + lane % 4 * 2 and the next (`first`), and those eight columns on (`second`),
// as bf16 pairs: neighbours swap, so that a lane stores 8 bytes and a quad 32 that lie together.
__device__ __forceinline__ void store_two_pairs(bf16* row, int j, unsigned first, unsigned second,
                                                bool inside) {
    const bool odd = threadIdx.x % 2;
    const unsigned received = __shfl_xor_sync(FULL_MASK, odd ? first : second, 1);
    if (inside) {
        const int column = (j + odd) * 8 + threadIdx.x % 4 / 2 * 4;
        *reinterpret_cast<uint2*>(row + column) =
            odd ? make_uint2(received, second) : make_uint2(first, received);
    }
}
