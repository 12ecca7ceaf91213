// Runs the blocks of a launch: one after the other, or all together (grid-wide barriers); and the
// one function that Python calls.
#include <cstdio>
#include <new>

#include "internal.h"

namespace emulation {

namespace {

// Static shared variables lie in one section, so that they can be poisoned and swapped per block.
extern "C" char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));

// A byte loop without instrumentation: it runs over the red zones between shared variables.
__attribute__((noinline, no_sanitize("address", "undefined"))) void raw_copy(
    char* destination, const char* source, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        reinterpret_cast<volatile char*>(destination)[i] = source[i];
    }
}

size_t static_shared_bytes() {
    return static_cast<size_t>(__stop_emulated_shared - __start_emulated_shared);
}

uint64_t next_random() {
    uint64_t& s = launch.random_state;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
}

// Order of `count` things: 0, 3 and -3 forward, 1 and -1 backward, others random and different per pass.
void fill_order(std::vector<unsigned>& order, unsigned count) {
    order.resize(count);
    for (unsigned i = 0; i < count; ++i) {
        order[i] = launch.order == 1 || launch.order == -1 ? count - 1 - i : i;
    }
    if (launch.order == 2 || launch.order > 3) {
        for (unsigned i = count; i > 1; --i) {
            std::swap(order[i - 1], order[next_random() % i]);
        }
    }
}

void create_block(Block& block, unsigned linear, size_t first_stack) {
    const Index3& grid = launch.grid;
    const Index3& size = launch.block_size;
    block.index = {linear % grid.x, linear / grid.x % grid.y, linear / grid.x / grid.y};
    block.fibers = std::vector<Fiber>(size.volume());
    block.warp_waiting.assign((size.volume() + kWarp - 1) / kWarp, 0);
    block.static_shared.assign(static_shared_bytes(), static_cast<char>(kPoison));
    // Allocated to the byte, so that the address sanitizer sees an access past its end.
    block.dynamic_shared = new (std::align_val_t{128}) unsigned char[launch.shared_bytes];
    std::memset(block.dynamic_shared, kPoison, launch.shared_bytes);
    for (unsigned i = 0; i < block.fibers.size(); ++i) {
        Fiber& fiber = block.fibers[i];
        fiber.thread = {i % size.x, i / size.x % size.y, i / size.x / size.y};
        fiber.linear = i;
        fiber.lane = i % kWarp;
        fiber.warp = i / kWarp;
        fiber.block = &block;
        prepare_fiber(fiber, first_stack + i);
    }
}

void destroy_block(Block& block) {
    operator delete[](block.dynamic_shared, std::align_val_t{128});
}

std::string stuck_message(const Block& block) {
    const Fiber* waiting = nullptr;
    for (const Fiber& fiber : block.fibers) {
        if (fiber.state == State::kReady) {
            return "a spin wait of " + fiber_name(fiber) +
                   " never ends: do all blocks of the grid run (resident=True)?";
        }
        if (fiber.state == State::kWarpWait || (fiber.state == State::kBarrier && !waiting)) {
            waiting = &fiber;
        }
    }
    for (const Fiber& fiber : block.fibers) {
        const bool elsewhere = fiber.state != waiting->state;
        const bool same_group = waiting->state == State::kBarrier || fiber.warp == waiting->warp;
        if (elsewhere && same_group) {
            const std::string where =
                fiber.state == State::kDone ? "has ended" : "waits in " + site_text(fiber.site);
            return std::string(waiting->state == State::kBarrier ? "divergent barrier: "
                                                                 : "divergent warp operation: ") +
                   fiber_name(*waiting) + " waits in " + site_text(waiting->site) + ", but thread " +
                   std::to_string(fiber.linear) + " " + where;
        }
    }
    return "divergent wait: " + fiber_name(*waiting) + " waits in " + site_text(waiting->site);
}

// Whoever spins may look again.
void wake_spinning(Block& block) {
    for (Fiber& fiber : block.fibers) {
        if (fiber.state == State::kSpinning) {
            fiber.state = State::kReady;
        }
    }
}

// Runs each ready fiber of the block until it waits; returns whether any is still alive.
bool run_pass(Block& block, std::vector<unsigned>& order) {
    raw_copy(__start_emulated_shared, block.static_shared.data(), block.static_shared.size());
    // Stay in this block while its fibers make progress: swapping shared memory costs.
    bool again = true;
    while (again) {
        again = false;
        if (launch.order != 0) {
            wake_spinning(block);  // at once; in order 0 when nobody else can go on
        }
        fill_order(order, static_cast<unsigned>(block.fibers.size()));
        unsigned moved_warp = 0;
        for (unsigned i : order) {
            Fiber& fiber = block.fibers[i];
            if ((launch.order == 3 || launch.order == -3) && again && fiber.warp != moved_warp) {
                break;  // the lowest warp first, as far as it can
            }
            if (fiber.state != State::kReady) {
                continue;
            }
            moved_warp = fiber.warp;
            to_fiber(fiber);
            if (!error.empty()) {
                return false;
            }
            if (fiber.state == State::kDone && !stack_intact(fiber)) {
                error = fiber_name(fiber) + " used more than its stack";
                return false;
            }
            if (fiber.state != State::kSpinning) {
                again = true;
                launch.progressed = true;
            }
        }
    }
    raw_copy(block.static_shared.data(), __start_emulated_shared, block.static_shared.size());
    wake_spinning(block);
    return block.done < block.fibers.size();
}

// Runs `blocks` together to their end, or until nothing moves.
void run_blocks(std::vector<Block>& blocks) {
    std::vector<unsigned> block_order, fiber_order;
    int idle_passes = 0;
    while (true) {
        bool alive = false;
        bool spinning = false;
        launch.progressed = false;
        fill_order(block_order, static_cast<unsigned>(blocks.size()));
        for (unsigned b : block_order) {
            if (blocks[b].done == blocks[b].fibers.size()) {
                continue;
            }
            alive = run_pass(blocks[b], fiber_order) || alive;
            if (!error.empty()) {
                return;
            }
            for (const Fiber& fiber : blocks[b].fibers) {
                spinning = spinning || fiber.state == State::kReady;
            }
        }
        if (!alive) {
            return;
        }
        idle_passes = launch.progressed ? 0 : idle_passes + 1;
        if (idle_passes > 0 && (!spinning || idle_passes > kSpinPasses)) {
            for (const Block& block : blocks) {
                if (block.done < block.fibers.size()) {
                    error = stuck_message(block);
                    return;
                }
            }
        }
    }
}

}  // namespace

void run_grid(bool resident) {
    const unsigned grid_blocks = launch.grid.volume();
    const unsigned cluster_blocks = launch.kernel->cluster;
    const unsigned together = resident ? grid_blocks : cluster_blocks;
    std::vector<unsigned> order;
    fill_order(order, grid_blocks / together);
    for (unsigned group : order) {
        std::vector<Block> blocks(together);
        std::vector<Cluster> clusters(together / cluster_blocks);
        for (unsigned i = 0; i < together && error.empty(); ++i) {
            create_block(blocks[i], group * together + i, size_t{i} * launch.block_size.volume());
            Cluster& cluster = clusters[i / cluster_blocks];
            blocks[i].cluster = &cluster;
            blocks[i].rank = static_cast<int>(i % cluster_blocks);
            cluster.blocks.push_back(&blocks[i]);
            cluster.threads += launch.block_size.volume();
        }
        if (error.empty()) {
            run_blocks(blocks);
        }
        for (Block& block : blocks) {
            destroy_block(block);
        }
        if (!error.empty()) {
            return;
        }
    }
}

}  // namespace emulation

// Runs one launch. Returns 0, or 1 with a message in `message`.
extern "C" __attribute__((visibility("default"))) int emulation_launch(const char* name, const unsigned* grid, const unsigned* block,
                                size_t shared_bytes, void** arguments,
                                const size_t* argument_bytes, int argument_count, int order,
                                int resident, char* message, size_t message_bytes) {
    using emulation::error;
    using emulation::launch;
    error.clear();
    launch = emulation::Launch{};
    for (const emulation::Kernel* kernel = emulation_kernels; kernel->name != nullptr; ++kernel) {
        if (!std::strcmp(kernel->name, name)) {
            launch.kernel = kernel;
        }
    }
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block_size = {block[0], block[1], block[2]};
    launch.shared_bytes = shared_bytes;
    launch.arguments = arguments;
    launch.order = order;
    launch.random_state = 0x9E3779B97F4A7C15ull * static_cast<uint64_t>(order + 1);
    if (launch.kernel == nullptr) {
        error = "no kernel of this name in the file";
    } else if (launch.kernel->parameters != argument_count) {
        error = "expected " + std::to_string(launch.kernel->parameters) +
                       " arguments, got " + std::to_string(argument_count);
    } else if (launch.block_size.volume() == 0 || launch.block_size.volume() > 1024 ||
               launch.grid.volume() == 0) {
        error = "expected a grid of 1 or more blocks of 1 to 1024 threads";
    } else if (launch.grid.x % launch.kernel->cluster != 0) {
        error = "expected a grid of whole clusters of " + std::to_string(launch.kernel->cluster);
    }
    for (int i = 0; i < argument_count && error.empty(); ++i) {
        if (launch.kernel->parameter_bytes[i] != argument_bytes[i]) {
            error = "argument " + std::to_string(i) + ": expected " +
                           std::to_string(launch.kernel->parameter_bytes[i]) + " bytes, got " +
                           std::to_string(argument_bytes[i]);
        }
    }
    if (error.empty()) {
        emulation::run_grid(resident != 0);
    }
    std::snprintf(message, message_bytes, "%s: %s", name, error.c_str());
    return error.empty() ? 0 : 1;
}
