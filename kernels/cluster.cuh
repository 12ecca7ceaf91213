// Clusters: blocks that run at the same time on neighbouring multiprocessors (9.0 and up), can wait
// for each other and write into each other's shared memory.
//
// Operation   none by itself; inlined into the *_cluster.cu files.
// Assumes     a kernel with __cluster_dims__; the first cluster_wait comes before the first store
//             to another block, which may not have started yet, the last one after the last store.
// Numerics    none
// Source      PTX ISA 8.x: barrier.cluster, mapa, st.shared::cluster. Each has a host stand-in.
// Oracle      tests/kernels/test_cluster.py
#pragma once

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

// All threads of all blocks of the cluster arrive, then wait; between the two a thread may do other
// work. What a thread has stored before it arrived can be seen by all after they have waited.
__device__ __forceinline__ void cluster_arrive() {
#ifdef KERNEL_EMULATION
    emulation::cluster_arrive();
#else
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

__device__ __forceinline__ void cluster_wait() {
#ifdef KERNEL_EMULATION
    emulation::cluster_wait();
#else
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Stores to where `place` of this block's dynamic shared memory lies in block `rank`'s.
__device__ __forceinline__ void store_to_block(float* place, int rank, float value) {
#ifdef KERNEL_EMULATION
    *static_cast<float*>(emulation::place_in_block(place, rank)) = value;
#else
    const unsigned own = static_cast<unsigned>(__cvta_generic_to_shared(place));
    asm volatile(
        "{ .reg .u32 there; mapa.shared::cluster.u32 there, %0, %1;"
        "st.shared::cluster.f32 [there], %2; }" ::"r"(own),
        "r"(rank), "f"(value)
        : "memory");
#endif
}
