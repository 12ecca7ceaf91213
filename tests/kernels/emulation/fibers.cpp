// Stacks of the fibers and the switch between them and the scheduler.
#include <sys/mman.h>

#include "internal.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace emulation {

Fiber* current = nullptr;
Launch launch;
std::string error;

namespace {

constexpr uint64_t kStackCanary = 0x5CA1AB1E0DDBA115ull;
std::vector<char*> stack_pool;
#if defined(__x86_64__)
void* scheduler_stack_pointer = nullptr;
#else
ucontext_t scheduler_context;
#endif
#ifdef __SANITIZE_ADDRESS__
const void* scheduler_stack_bottom = nullptr;
size_t scheduler_stack_size = 0;
#endif

}  // namespace

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

void to_scheduler() {
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

void to_fiber(Fiber& fiber) {
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
[[noreturn]] void fail(const std::string& message) {
    if (error.empty()) {
        error = message;
    }
    while (true) {
        to_scheduler();
    }
}

std::string fiber_name(const Fiber& fiber) {
    return "thread " + std::to_string(fiber.linear) + " of block (" +
           std::to_string(fiber.block->index.x) + "," + std::to_string(fiber.block->index.y) + "," +
           std::to_string(fiber.block->index.z) + ")";
}

__attribute__((no_sanitize("address"))) void fiber_main() {
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

void prepare_fiber(Fiber& fiber, size_t pool_slot) {
    while (stack_pool.size() <= pool_slot) {
        void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            error = "no memory for fiber stacks: use a smaller grid or block";
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

bool stack_intact(const Fiber& fiber) {
    return !std::memcmp(fiber.stack, &kStackCanary, sizeof kStackCanary);
}

std::string site_text(const Site& site) {
    const char* slash = std::strrchr(site.file, '/');
    return std::string(site.operation) + " at " + (slash ? slash + 1 : site.file) + ":" +
           std::to_string(site.line);
}

}  // namespace emulation
