// CPU emulation of one kernel launch: every CUDA thread is a fiber of one OS thread.
//
// Barriers and warp operations are the only places where a fiber gives way, so a run is repeatable
// for a given order. What real hardware leaves undefined is an error here: a barrier that some
// threads of the block never reach (or reach at another line), a warp operation whose mask names a
// lane that is elsewhere, a shuffle from a lane that takes no part, a spin wait that never ends.
// Shared memory starts as 0xFF bytes (NaN). Only types, declarations and templates stand here: the
// .cpp files are compiled once and linked to every kernel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace emulation {

struct Index3 {
    unsigned x = 1, y = 1, z = 1;
    unsigned volume() const { return x * y * z; }
};

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
};

struct AsyncCopy {
    void* destination;
    const void* source;
    size_t source_bytes;  // the rest of `bytes` is filled with zeros
    size_t bytes;
};

// One product of wgmma.cuh that has been started and not waited for.
struct WgmmaOperation {
    float* d;
    int columns;
    bool a_in_registers;
    float a_rows[2][16];  // rows lane / 4 and lane / 4 + 8, if in registers
    uint64_t a, b;        // descriptors
    bool b_transposed, accumulate;
};

struct Block;

// Blocks that run together, can wait for each other and write to each other's shared memory.
struct Cluster {
    std::vector<Block*> blocks;
    unsigned threads = 0, arrived = 0;
    unsigned phases = 0;  // barriers that all threads have reached
};

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
    std::vector<std::vector<WgmmaOperation>> wgmma_groups;  // likewise
    unsigned cluster_arrivals = 0, cluster_waits = 0;
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
    Cluster* cluster = nullptr;
    int rank = 0;  // in the cluster
};

struct Kernel {
    const char* name;
    unsigned cluster;  // blocks of a cluster; neighbours along x
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
    bool progressed = false;
};

extern Fiber* current;
extern Launch launch;

using Resolve = void (*)(void** payloads, unsigned mask);

// Waits for all threads of the block at one line; returns how many of them voted non-zero.
int block_barrier(const Site& site, int vote);
// Meets all lanes of `mask`; the last one to arrive computes the results of all.
void warp_operation(const Site& site, unsigned mask, void* payload, Resolve resolve);
// The value that lane `source` of `mask` has.
uint64_t shuffle_bits(const Site& site, unsigned mask, uint64_t value, int source);
unsigned ballot(const Site& site, unsigned mask, bool predicate);
// Lets other fibers run inside a loop that waits for memory to change.
void spin_wait();
// The bytes arrive at the wait, not before: a kernel that forgets to wait reads poison.
void async_copy(void* destination, const void* source, size_t source_bytes, size_t bytes);
void async_commit();
// Finishes all committed groups but the newest `pending`.
void async_wait(size_t pending);
// Warp-wide PTX, in tensor_core.cpp.
void mma_m16n8k16(float* d, const unsigned* a, const unsigned* b, const char* file, int line);
void ldmatrix(unsigned* registers, const void* row, int matrices, bool transposed,
              const char* file, int line);
unsigned transpose_matrix(unsigned packed, const char* file, int line);

// Warpgroup-wide PTX, in wgmma.cpp: `columns` sums of 64 rows; a from registers or, if null, shared.
unsigned shared_address(const void* shared);
void wgmma(float* d, int columns, const unsigned* a_registers, uint64_t a, uint64_t b,
           bool b_transposed, bool accumulate, const char* file, int line);
void wgmma_commit();
void wgmma_wait(size_t pending);
// A barrier of eight bytes in shared memory; `barrier_passed`: whether a phase of this parity ended.
void barrier_init(unsigned long long* barrier, int count);
void barrier_arrive(unsigned long long* barrier);
bool barrier_passed(const unsigned long long* barrier, int parity);

// Clusters, in clusters.cpp. `place_in_block`: where a place in this block's dynamic shared memory
// lies in the block of that rank.
int cluster_rank();
void cluster_arrive();
void cluster_wait();
void* place_in_block(void* place, int rank);
void count_arrival(void* arrivals, size_t bytes);
void wait_for_arrivals(const void* arrivals);

template <typename T>
T shuffle(const Site& site, unsigned mask, T value, int source) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves 4 or 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = shuffle_bits(site, mask, bits, source);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename... P>
struct Parameters {
    static constexpr size_t kBytes[sizeof...(P) + 1] = {sizeof(P)..., 0};
};

template <auto kFunction>
struct Binding;

template <typename... P, void (*kFunction)(P...)>
struct Binding<kFunction> {
    template <size_t... I>
    static void call(void** arguments, std::index_sequence<I...>) {
        kFunction(*static_cast<P*>(arguments[I])...);
    }
    static void invoke(void** arguments) { call(arguments, std::index_sequence_for<P...>{}); }
    static constexpr Kernel kernel(const char* name, unsigned cluster = 1) {
        return {name, cluster, &invoke, Parameters<P...>::kBytes, static_cast<int>(sizeof...(P))};
    }
};

}  // namespace emulation

// Generated for each .cu file: its kernels, the last one without a name.
extern const emulation::Kernel emulation_kernels[];
