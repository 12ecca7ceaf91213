// CPU emulation of one kernel launch: every CUDA thread is a fiber of one OS thread.
//
// Barriers and warp operations are the only places where a fiber gives way, so a run is repeatable
// for a given order. What real hardware leaves undefined is an error here: a barrier that some
// threads of the block never reach (or reach at another line), a warp operation whose mask names a
// lane that is elsewhere, a shuffle from a lane that takes no part, a spin wait that never ends.
// Shared memory starts as 0xFF bytes (NaN). Included by cuda_names.h only.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace emulation {

struct Index3 {
    unsigned x = 1, y = 1, z = 1;
    unsigned volume() const { return x * y * z; }
};

constexpr int kWarp = 32;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 256 * 1024;
#else
constexpr size_t kStackBytes = 64 * 1024;
#endif
// Passes over all fibers in which nothing but spin waits ran, before the launch is called stuck.
constexpr int kSpinPasses = 2000;
constexpr unsigned char kPoison = 0xFF;
constexpr uint64_t kStackCanary = 0x5CA1AB1E0DDBA115ull;

enum class State { kReady, kBarrier, kWarpWait, kSpinning, kDone };

// Where a fiber waits: the operation and its source line; lanes that meet must agree on both.
struct Site {
    const char* operation = "";
    const char* file = "";
    int line = 0;
    bool operator==(const Site& other) const {
        return line == other.line &&
               (operation == other.operation || !std::strcmp(operation, other.operation)) &&
               (file == other.file || !std::strcmp(file, other.file));
    }
    std::string text() const {
        const char* slash = std::strrchr(file, '/');
        return std::string(operation) + " at " + (slash ? slash + 1 : file) + ":" +
               std::to_string(line);
    }
};

struct AsyncCopy {
    void* destination;
    const void* source;
    size_t source_bytes;  // the rest of `bytes` is filled with zeros
    size_t bytes;
};

struct Block;

struct Fiber {
    Index3 thread;
    unsigned linear = 0, lane = 0, warp = 0;
    State state = State::kReady;
    Site site;
    unsigned mask = 0;
    void* payload = nullptr;
    Block* block = nullptr;
    char* stack = nullptr;
#if defined(__x86_64__)
    void* stack_pointer = nullptr;
#else
    ucontext_t context;
#endif
    std::vector<std::vector<AsyncCopy>> copy_groups;  // the last one is still open
};

struct Block {
    Index3 index;
    std::vector<Fiber> fibers;
    std::vector<char> static_shared;       // saved while another block runs (all-resident mode)
    unsigned char* dynamic_shared = nullptr;
    std::vector<unsigned> warp_waiting;    // per warp: lanes that wait in a warp operation
    const Fiber* first_at_barrier = nullptr;
    unsigned at_barrier = 0, done = 0;
    int vote = 0, vote_result = 0;
};

struct Kernel {
    const char* name;
    void (*invoke)(void** arguments);
    const size_t* parameter_bytes;
    int parameters;
};

struct Launch {
    const Kernel* kernel = nullptr;
    void** arguments = nullptr;
    Index3 grid, block_size;
    size_t shared_bytes = 0;
    int order = 0;
    uint64_t random_state = 1;
    std::string error;
    bool progressed = false;
};

inline Fiber* current = nullptr;
inline Launch launch;
inline std::vector<char*> stack_pool;
#if defined(__x86_64__)
inline void* scheduler_stack_pointer = nullptr;
#else
inline ucontext_t scheduler_context;
#endif
#ifdef __SANITIZE_ADDRESS__
inline const void* scheduler_stack_bottom = nullptr;
inline size_t scheduler_stack_size = 0;
#endif

// Static shared variables lie in one section, so that they can be poisoned and swapped per block.
extern "C" char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));

// Byte loops without instrumentation: they run over the red zones between shared variables.
__attribute__((noinline, no_sanitize("address", "undefined"))) inline void raw_copy(
    char* destination, const char* source, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        reinterpret_cast<volatile char*>(destination)[i] = source[i];
    }
}

__attribute__((noinline, no_sanitize("address", "undefined"))) inline void raw_fill(char* destination,
                                                                                   size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        reinterpret_cast<volatile char*>(destination)[i] = static_cast<char>(kPoison);
    }
}

inline size_t static_shared_bytes() {
    return static_cast<size_t>(__stop_emulated_shared - __start_emulated_shared);
}

// ---------------------------------------------------------------- switching

#if defined(__x86_64__)
// Saves the callee-saved registers on the old stack and takes them from the new one.
asm(R"(
.text
.local emulation_switch_stack
.type emulation_switch_stack,@function
emulation_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulation_switch_stack,.-emulation_switch_stack
)");
extern "C" __attribute__((visibility("hidden"))) void emulation_switch_stack(void** save, void* load);
#endif

inline void to_scheduler() {
    Fiber* self = current;
#ifdef __SANITIZE_ADDRESS__
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, scheduler_stack_bottom, scheduler_stack_size);
#endif
#if defined(__x86_64__)
    emulation_switch_stack(&self->stack_pointer, scheduler_stack_pointer);
#else
    swapcontext(&self->context, &scheduler_context);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake_stack, &scheduler_stack_bottom, &scheduler_stack_size);
#endif
}

inline void to_fiber(Fiber& fiber) {
    current = &fiber;
#ifdef __SANITIZE_ADDRESS__
    void* fake_stack = nullptr;
    __sanitizer_start_switch_fiber(&fake_stack, fiber.stack, kStackBytes);
#endif
#if defined(__x86_64__)
    emulation_switch_stack(&scheduler_stack_pointer, fiber.stack_pointer);
#else
    swapcontext(&scheduler_context, &fiber.context);
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

// Ends the launch: no fiber runs again, the scheduler returns the message.
[[noreturn]] inline void fail(const std::string& message) {
    if (launch.error.empty()) {
        launch.error = message;
    }
    while (true) {
        to_scheduler();
    }
}

inline std::string fiber_name(const Fiber& fiber) {
    return "thread " + std::to_string(fiber.linear) + " of block (" +
           std::to_string(fiber.block->index.x) + "," + std::to_string(fiber.block->index.y) + "," +
           std::to_string(fiber.block->index.z) + ")";
}

__attribute__((no_sanitize("address"))) inline void fiber_main() {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack_bottom, &scheduler_stack_size);
#endif
    launch.kernel->invoke(launch.arguments);
    current->state = State::kDone;
    current->block->done += 1;
    while (true) {
        to_scheduler();
    }
}

inline void prepare_fiber(Fiber& fiber, size_t pool_slot) {
    while (stack_pool.size() <= pool_slot) {
        void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            launch.error = "no memory for fiber stacks: use a smaller grid or block";
            return;
        }
        stack_pool.push_back(static_cast<char*>(memory));
    }
    fiber.stack = stack_pool[pool_slot];
#ifdef __SANITIZE_ADDRESS__
    // The last frames of an ended fiber never return, so their red zones are still marked.
    __asan_unpoison_memory_region(fiber.stack, kStackBytes);
#endif
    std::memcpy(fiber.stack, &kStackCanary, sizeof kStackCanary);
#if defined(__x86_64__)
    // At entry %rsp must be 8 modulo 16, as after a call; six registers lie below the address.
    // Tops are staggered: at equal offsets all stacks would share the same few cache lines.
    auto* top = reinterpret_cast<void**>(fiber.stack + kStackBytes - 64 - pool_slot % 61 * 192);
    top[-1] = nullptr;
    top[-2] = reinterpret_cast<void*>(&fiber_main);
    for (int i = 3; i <= 8; ++i) {
        top[-i] = nullptr;
    }
    fiber.stack_pointer = top - 8;
#else
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &fiber_main, 0);
#endif
}

// ---------------------------------------------------------------- barriers and warp operations

// Waits for all threads of the block at one line; returns how many of them voted non-zero.
inline int block_barrier(const Site& site, int vote) {
    Block& block = *current->block;
    current->site = site;
    if (block.at_barrier == 0) {
        block.first_at_barrier = current;
    } else if (!(block.first_at_barrier->site == site)) {
        fail("divergent barrier: " + fiber_name(*current) + " waits in " + site.text() +
             ", thread " + std::to_string(block.first_at_barrier->linear) + " in " +
             block.first_at_barrier->site.text());
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

using Resolve = void (*)(void** payloads, unsigned mask);

// Meets all lanes of `mask`; the last one to arrive computes the results of all.
inline void warp_operation(const Site& site, unsigned mask, void* payload, Resolve resolve) {
    Fiber& self = *current;
    Block& block = *self.block;
    const unsigned first = self.warp * kWarp;
    if (!(mask >> self.lane & 1u)) {
        fail(site.text() + ": " + fiber_name(self) + " is not in its own mask");
    }
    self.site = site;
    self.mask = mask;
    self.payload = payload;
    self.state = State::kWarpWait;
    if (first + kWarp > block.fibers.size() && mask >> (block.fibers.size() - first) != 0) {
        fail(site.text() + ": the mask names a lane that does not exist in this block");
    }
    // Any lane of the mask that waits already must wait for the same.
    unsigned& waiting = block.warp_waiting[self.warp];
    if ((waiting & mask) != 0) {
        const int lane = __builtin_ctz(waiting & mask);
        const Fiber& other = block.fibers[first + lane];
        if (other.mask != mask || !(other.site == site)) {
            fail("divergent warp operation: " + fiber_name(self) + " waits in " + site.text() +
                 ", lane " + std::to_string(lane) + " in " + other.site.text() +
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

inline void resolve_shuffle(void** payloads, unsigned mask) {
    for (int lane = 0; lane < kWarp; ++lane) {
        if (mask >> lane & 1u) {
            auto* mine = static_cast<ShufflePayload*>(payloads[lane]);
            if (!(mask >> mine->source & 1u)) {
                fail(mine->site->text() + ": lane " + std::to_string(lane) + " reads lane " +
                     std::to_string(mine->source) + ", which takes no part");
            }
            mine->result = static_cast<ShufflePayload*>(payloads[mine->source])->value;
        }
    }
}

template <typename T>
T shuffle(const Site& site, unsigned mask, T value, int source) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
    ShufflePayload payload{0, 0, source, &site};
    std::memcpy(&payload.value, &value, sizeof value);
    warp_operation(site, mask, &payload, &resolve_shuffle);
    std::memcpy(&value, &payload.result, sizeof value);
    return value;
}

struct BallotPayload {
    bool predicate;
    unsigned result;
};

inline void resolve_ballot(void** payloads, unsigned mask) {
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

inline unsigned ballot(const Site& site, unsigned mask, bool predicate) {
    BallotPayload payload{predicate, 0};
    warp_operation(site, mask, &payload, &resolve_ballot);
    return payload.result;
}

// Lets other fibers run inside a loop that waits for memory to change.
inline void spin_wait() {
    current->state = State::kSpinning;
    to_scheduler();
}

// ---------------------------------------------------------------- asynchronous copies

// The bytes arrive at the wait, not before: a kernel that forgets to wait reads poison.
inline void async_copy(void* destination, const void* source, size_t source_bytes, size_t bytes) {
    std::memset(destination, kPoison, bytes);
    if (current->copy_groups.empty()) {
        current->copy_groups.emplace_back();
    }
    current->copy_groups.back().push_back({destination, source, source_bytes, bytes});
}

inline void async_commit() {
    // An empty group counts too, as on the device.
    current->copy_groups.resize(current->copy_groups.empty() ? 2 : current->copy_groups.size() + 1);
}

inline void finish_copies(std::vector<AsyncCopy>& group) {
    for (const AsyncCopy& copy : group) {
        std::memset(copy.destination, 0, copy.bytes);
        std::memcpy(copy.destination, copy.source, copy.source_bytes);
    }
    group.clear();
}

// Finishes all committed groups but the newest `pending`.
inline void async_wait(size_t pending) {
    auto& groups = current->copy_groups;
    while (groups.size() > pending + 1) {
        finish_copies(groups.front());
        groups.erase(groups.begin());
    }
}

}  // namespace emulation
