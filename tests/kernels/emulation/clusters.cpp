// Barriers of a cluster of blocks, and the way from one block's shared memory to another's.
#include "internal.h"

namespace emulation {

int cluster_rank() { return current->block->rank; }

void cluster_arrive() {
    Cluster& cluster = *current->block->cluster;
    if (current->cluster_arrivals != current->cluster_waits) {
        fail("cluster_arrive: " + fiber_name(*current) + " arrives again and has not waited");
    }
    current->cluster_arrivals += 1;
    cluster.arrived += 1;
    if (cluster.arrived == cluster.threads) {
        cluster.arrived = 0;
        cluster.phases += 1;
    }
}

void cluster_wait() {
    if (current->cluster_arrivals == current->cluster_waits) {
        fail("cluster_wait: " + fiber_name(*current) + " has not arrived");
    }
    current->cluster_waits += 1;
    while (current->block->cluster->phases < current->cluster_waits) {
        spin_wait();
    }
}

void* place_in_block(void* place, int rank) {
    const Block& own = *current->block;
    const Cluster& cluster = *own.cluster;
    const auto offset = static_cast<unsigned char*>(place) - own.dynamic_shared;
    if (offset < 0 || static_cast<size_t>(offset) >= launch.shared_bytes) {
        fail("place_in_block: " + fiber_name(*current) + " names no dynamic shared memory");
    }
    if (rank < 0 || static_cast<size_t>(rank) >= cluster.blocks.size()) {
        fail("place_in_block: no block " + std::to_string(rank) + " in this cluster");
    }
    if (cluster.blocks.size() < 2) {
        fail("place_in_block: a cluster of one block");
    }
    Block& other = *cluster.blocks[rank];
    // A wait for all is what tells that the other block has started.
    if (&other != &own && current->cluster_waits == 0) {
        fail("place_in_block: block " + std::to_string(rank) + " may not have started");
    }
    if (other.done == other.fibers.size()) {
        fail("place_in_block: block " + std::to_string(rank) + " has ended");
    }
    return other.dynamic_shared + offset;
}

void count_arrival(void* arrivals, size_t bytes) {
    uint64_t& left = *static_cast<uint64_t*>(arrivals);
    if (left < bytes) {
        fail("count_arrival: " + fiber_name(*current) + " sends more bytes than are expected");
    }
    left -= bytes;
}

void wait_for_arrivals(const void* arrivals) {
    while (*static_cast<const volatile uint64_t*>(arrivals) != 0) {
        spin_wait();
    }
}

}  // namespace emulation
