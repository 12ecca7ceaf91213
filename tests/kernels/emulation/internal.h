// What the .cpp files of the runtime share and kernels do not see.
#pragma once
#include <string>

#include "runtime.h"

namespace emulation {

constexpr int kWarp = 32;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t kStackBytes = 256 * 1024;
#else
constexpr size_t kStackBytes = 64 * 1024;
#endif
// Passes over all fibers in which nothing but spin waits ran, before the launch is called stuck.
constexpr int kSpinPasses = 2000;
constexpr unsigned char kPoison = 0xFF;

// Message of the first fault of this launch.
extern std::string error;

std::string site_text(const Site& site);
std::string fiber_name(const Fiber& fiber);
// Ends the launch: no fiber runs again, the scheduler returns the message.
[[noreturn]] void fail(const std::string& message);
void to_scheduler();
void to_fiber(Fiber& fiber);
// Gives the fiber the stack number `pool_slot`, so that it starts in the kernel.
void prepare_fiber(Fiber& fiber, size_t pool_slot);
bool stack_intact(const Fiber& fiber);
void run_grid(bool resident);

}  // namespace emulation
