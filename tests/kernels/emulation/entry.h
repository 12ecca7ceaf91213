// The one function of an emulated kernel library that Python calls; `kKernels` is generated.
#pragma once

// Runs one launch. Returns 0, or 1 with a message in `error`.
extern "C" int emulation_launch(const char* name, const unsigned* grid, const unsigned* block,
                                size_t shared_bytes, void** arguments,
                                const size_t* argument_bytes, int argument_count, int order,
                                int resident, char* error, size_t error_bytes) {
    using emulation::launch;
    launch = emulation::Launch{};
    for (const emulation::Kernel& kernel : kKernels) {
        if (!std::strcmp(kernel.name, name)) {
            launch.kernel = &kernel;
        }
    }
    launch.grid = {grid[0], grid[1], grid[2]};
    launch.block_size = {block[0], block[1], block[2]};
    launch.shared_bytes = shared_bytes;
    launch.arguments = arguments;
    launch.order = order;
    launch.random_state = 0x9E3779B97F4A7C15ull * static_cast<uint64_t>(order + 1);
    if (launch.kernel == nullptr) {
        launch.error = "no kernel of this name in the file";
    } else if (launch.kernel->parameters != argument_count) {
        launch.error = "expected " + std::to_string(launch.kernel->parameters) +
                       " arguments, got " + std::to_string(argument_count);
    } else if (launch.block_size.volume() == 0 || launch.block_size.volume() > 1024 ||
               launch.grid.volume() == 0) {
        launch.error = "expected a grid of 1 or more blocks of 1 to 1024 threads";
    }
    for (int i = 0; i < argument_count && launch.error.empty(); ++i) {
        if (launch.kernel->parameter_bytes[i] != argument_bytes[i]) {
            launch.error = "argument " + std::to_string(i) + ": expected " +
                           std::to_string(launch.kernel->parameter_bytes[i]) + " bytes, got " +
                           std::to_string(argument_bytes[i]);
        }
    }
    if (launch.error.empty()) {
        emulation::run_grid(resident != 0);
    }
    std::snprintf(error, error_bytes, "%s: %s", name, launch.error.c_str());
    return launch.error.empty() ? 0 : 1;
}
