// Clusters: blocks that run at the same time on neighbouring multiprocessors (9.0 and up) and write
// into each other's shared memory.
//
// Operation   none by itself; inlined into the *_cluster.cu files.
// Assumes     a kernel with __cluster_dims__ of two blocks or more (st.async in a cluster of one is
//             undefined); everything named here lies in dynamic shared memory.
//             expect_bytes, then cluster_arrive, come before cluster_wait, and that before the first
//             send: the other block may not have started. A block ends only after it has all that
//             is sent to it.
// Numerics    none
// Source      PTX ISA 8.x: st.async, mbarrier, barrier.cluster, mapa. Each has a host stand-in. A
//             store that counts its own bytes needs no fence; the fence of a second barrier of the
//             cluster would wait for every copy from memory that is still under way.
// Oracle      tests/kernels/test_cluster.py
#pragma once

// How many bytes this block still waits for; once per launch. Of an mbarrier's size.
struct __align__(8) Arrivals {
    unsigned long long state;
};

// This block's number in its cluster.
__device__ __forceinline__ int cluster_rank() {
#ifdef KERNEL_EMULATION
    return emulation::cluster_rank();
#else
    unsigned rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return static_cast<int>(rank);
#endif
}

// By one thread: the blocks of the cluster will send so many bytes.
__device__ __forceinline__ void expect_bytes(Arrivals& arrivals, int bytes) {
#ifdef KERNEL_EMULATION
    arrivals.state = bytes;
#else
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&arrivals));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address),
                 "r"(bytes)
                 : "memory");
#endif
}

// All threads of all blocks of the cluster arrive, then wait: then all have started, and expect.
__device__ __forceinline__ void cluster_arrive() {
#ifdef KERNEL_EMULATION
    emulation::cluster_arrive();
#else
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void cluster_wait() {
#ifdef KERNEL_EMULATION
    emulation::cluster_wait();
#else
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

#ifndef KERNEL_EMULATION
// Where `place` of this block lies in block `rank`, as an address that st.async takes.
__device__ __forceinline__ unsigned address_in_block(const void* place, int rank) {
    unsigned address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                 : "=r"(address)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(place))), "r"(rank));
    return address;
}
#endif

// Stores to where `place` of this block lies in block `rank`, and counts the bytes there.
__device__ __forceinline__ void send(float* place, Arrivals& arrivals, int rank, float value) {
#ifdef KERNEL_EMULATION
    *static_cast<float*>(emulation::place_in_block(place, rank)) = value;
    emulation::count_arrival(emulation::place_in_block(&arrivals, rank), sizeof value);
#else
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %2, [%1];" ::"r"(
            address_in_block(place, rank)),
        "r"(address_in_block(&arrivals, rank)), "f"(value)
        : "memory");
#endif
}

// The same for four floats; `place` is 16-byte aligned.
__device__ __forceinline__ void send_4(float* place, Arrivals& arrivals, int rank, float4 value) {
#ifdef KERNEL_EMULATION
    *static_cast<float4*>(emulation::place_in_block(place, rank)) = value;
    emulation::count_arrival(emulation::place_in_block(&arrivals, rank), sizeof value);
#else
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%0], "
        "{%2, %3, %4, %5}, [%1];" ::"r"(address_in_block(place, rank)),
        "r"(address_in_block(&arrivals, rank)), "f"(value.x), "f"(value.y), "f"(value.z),
        "f"(value.w)
        : "memory");
#endif
}

// Until all expected bytes are here; by every thread that reads them. By the letter of PTX a wait
// for another block's stores acquires at the scope of the cluster. All that this adds on 9.0 and
// 10.0 is to empty L1 (CCTL.IVALL), and what is sent lies in this block's own shared memory.
__device__ __forceinline__ void wait_for_bytes(Arrivals& arrivals) {
#ifdef KERNEL_EMULATION
    emulation::wait_for_arrivals(&arrivals);
#else
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&arrivals));
    asm volatile(
        "{ .reg .pred arrived; again: mbarrier.try_wait.parity.shared::cta.b64 arrived, [%0], 0; "
        "@!arrived bra again; }" ::"r"(address)
        : "memory");
#endif
}
