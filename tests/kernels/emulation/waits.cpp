// Where fibers meet: barriers, warp operations, spin waits, asynchronous copies.
#include "internal.h"

namespace emulation {

// Waits for all threads of the block at one line; returns how many of them voted non-zero.
int block_barrier(const Site& site, int vote) {
    Block& block = *current->block;
    current->site = site;
    if (block.at_barrier == 0) {
        block.first_at_barrier = current;
    } else if (!(block.first_at_barrier->site == site)) {
        fail("divergent barrier: " + fiber_name(*current) + " waits in " + site_text(site) +
             ", thread " + std::to_string(block.first_at_barrier->linear) + " in " +
             site_text(block.first_at_barrier->site));
    }
    block.vote += vote != 0;
    current->state = State::kBarrier;
    block.at_barrier += 1;
    if (block.at_barrier == block.fibers.size()) {
        for (Fiber& other : block.fibers) {
            other.state = State::kReady;
        }
        block.at_barrier = 0;
        block.vote_result = block.vote;
        block.vote = 0;
    }
    to_scheduler();
    return block.vote_result;
}

// Meets all lanes of `mask`; the last one to arrive computes the results of all.
void warp_operation(const Site& site, unsigned mask, void* payload, Resolve resolve) {
    Fiber& self = *current;
    Block& block = *self.block;
    const unsigned first = self.warp * kWarp;
    if (!(mask >> self.lane & 1u)) {
        fail(site_text(site) + ": " + fiber_name(self) + " is not in its own mask");
    }
    self.site = site;
    self.mask = mask;
    self.payload = payload;
    self.state = State::kWarpWait;
    if (first + kWarp > block.fibers.size() && mask >> (block.fibers.size() - first) != 0) {
        fail(site_text(site) + ": the mask names a lane that does not exist in this block");
    }
    // Any lane of the mask that waits already must wait for the same.
    unsigned& waiting = block.warp_waiting[self.warp];
    if ((waiting & mask) != 0) {
        const int lane = __builtin_ctz(waiting & mask);
        const Fiber& other = block.fibers[first + lane];
        if (other.mask != mask || !(other.site == site)) {
            fail("divergent warp operation: " + fiber_name(self) + " waits in " + site_text(site) +
                 ", lane " + std::to_string(lane) + " in " + site_text(other.site) +
                 (other.mask != mask ? " with another mask" : ""));
        }
    }
    waiting |= 1u << self.lane;
    if ((waiting & mask) == mask) {
        void* payloads[kWarp] = {};
        for (int lane = 0; lane < kWarp; ++lane) {
            if (mask >> lane & 1u) {
                payloads[lane] = block.fibers[first + lane].payload;
                block.fibers[first + lane].state = State::kReady;
            }
        }
        waiting &= ~mask;
        if (resolve != nullptr) {
            resolve(payloads, mask);
        }
    }
    to_scheduler();
}

struct ShufflePayload {
    uint64_t value, result;
    int source;
    const Site* site;
};

void resolve_shuffle(void** payloads, unsigned mask) {
    for (int lane = 0; lane < kWarp; ++lane) {
        if (mask >> lane & 1u) {
            auto* mine = static_cast<ShufflePayload*>(payloads[lane]);
            if (!(mask >> mine->source & 1u)) {
                fail(site_text(*mine->site) + ": lane " + std::to_string(lane) + " reads lane " +
                     std::to_string(mine->source) + ", which takes no part");
            }
            mine->result = static_cast<ShufflePayload*>(payloads[mine->source])->value;
        }
    }
}

uint64_t shuffle_bits(const Site& site, unsigned mask, uint64_t value, int source) {
    ShufflePayload payload{value, 0, source, &site};
    warp_operation(site, mask, &payload, &resolve_shuffle);
    return payload.result;
}

struct BallotPayload {
    bool predicate;
    unsigned result;
};

void resolve_ballot(void** payloads, unsigned mask) {
    unsigned votes = 0;
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((mask >> lane & 1u) && static_cast<BallotPayload*>(payloads[lane])->predicate) {
            votes |= 1u << lane;
        }
    }
    for (int lane = 0; lane < kWarp; ++lane) {
        if (mask >> lane & 1u) {
            static_cast<BallotPayload*>(payloads[lane])->result = votes;
        }
    }
}

unsigned ballot(const Site& site, unsigned mask, bool predicate) {
    BallotPayload payload{predicate, 0};
    warp_operation(site, mask, &payload, &resolve_ballot);
    return payload.result;
}

// Lets other fibers run inside a loop that waits for memory to change.
void spin_wait() {
    current->state = State::kSpinning;
    to_scheduler();
}

// The bytes arrive at the wait, not before: a kernel that forgets to wait reads poison.
void async_copy(void* destination, const void* source, size_t source_bytes, size_t bytes) {
    std::memset(destination, kPoison, bytes);
    if (current->copy_groups.empty()) {
        current->copy_groups.emplace_back();
    }
    current->copy_groups.back().push_back({destination, source, source_bytes, bytes});
}

void async_commit() {
    // An empty group counts too, as on the device.
    current->copy_groups.resize(current->copy_groups.empty() ? 2 : current->copy_groups.size() + 1);
}

void finish_copies(std::vector<AsyncCopy>& group) {
    for (const AsyncCopy& copy : group) {
        std::memset(copy.destination, 0, copy.bytes);
        std::memcpy(copy.destination, copy.source, copy.source_bytes);
    }
    group.clear();
}

// Finishes all committed groups but the newest `pending`.
void async_wait(size_t pending) {
    auto& groups = current->copy_groups;
    while (groups.size() > pending + 1) {
        finish_copies(groups.front());
        groups.erase(groups.begin());
    }
}

}  // namespace emulation
