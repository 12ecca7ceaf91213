// Stand-ins for wgmma.cuh: warpgroup matrix products, each lane its own sums, and barriers.
//
// A product runs as late as the device may run it, at the wait, or in positive odd orders at once.
// Operands in shared memory that are overwritten too early or not there yet, and sums that are read
// before the wait, show as wrong results in one of the orders. Descriptors are
// decoded as the PTX ISA says ("Matrix descriptor format", 128-byte swizzle).
#include <string>

#include "internal.h"

namespace emulation {

unsigned shared_address(const void* shared) {
    return static_cast<unsigned>(static_cast<const unsigned char*>(shared) -
                                 current->block->dynamic_shared);
}

float bf16_half(unsigned packed, int half);

namespace {

constexpr int kStep = 16;

struct Descriptor {
    size_t start, leading, stride;

    explicit Descriptor(uint64_t bits)
        : start((bits & 0x3FFF) << 4), leading((bits >> 16 & 0x3FFF) << 4),
          stride((bits >> 32 & 0x3FFF) << 4) {
        if (bits >> 62 != 1) {
            fail("wgmma: expected a descriptor with 128-byte swizzle");
        }
    }

    // Value at a byte offset that the swizzle still has to be applied to.
    static float value(size_t address) {
        const size_t place = address ^ (address >> 7 & 7) << 4;
        if (place + 2 > launch.shared_bytes) {
            fail("wgmma: an operand lies outside dynamic shared memory");
        }
        uint16_t bits;
        std::memcpy(&bits, current->block->dynamic_shared + place, sizeof bits);
        return bf16_half(bits, 0);
    }

    // Rows along the outputs, k within a row.
    float along_k(size_t row, size_t k) const {
        return value(start + row / 8 * stride + row % 8 * 128 + k * 2);
    }

    // Rows along k, 64 outputs within a row.
    float along_outputs(size_t column, size_t k) const {
        return value(start + column / 64 * leading + column % 64 * 2 + k / 8 * stride +
                     k % 8 * 128);
    }
};

struct APayload {
    const unsigned* own;
    float (*rows)[kStep];
};

// Gathers, for each lane, rows lane / 4 and lane / 4 + 8 of the fragments that four lanes hold.
void resolve_a(void** payloads, unsigned) {
    for (int lane = 0; lane < kWarp; ++lane) {
        auto* mine = static_cast<APayload*>(payloads[lane]);
        for (int from = 0; from < 4; ++from) {
            const auto* a = static_cast<const APayload*>(payloads[lane / 4 * 4 + from])->own;
            for (int part = 0; part < 4; ++part) {
                for (int half = 0; half < 2; ++half) {
                    const int k = part / 2 * 8 + from * 2 + half;
                    mine->rows[part % 2][k] = bf16_half(a[part], half);
                }
            }
        }
    }
}

void multiply(const WgmmaOperation& operation) {
    const Descriptor b(operation.b);
    float a[2][kStep];
    std::memcpy(a, operation.a_rows, sizeof a);
    if (!operation.a_in_registers) {
        const Descriptor descriptor(operation.a);
        for (int half = 0; half < 2; ++half) {
            for (int k = 0; k < kStep; ++k) {
                const size_t row = current->warp % 4 * 16 + current->lane / 4 + half * 8;
                a[half][k] = descriptor.along_k(row, k);
            }
        }
    }
    for (int j = 0; j < operation.columns / 8; ++j) {
        for (int c = 0; c < 2; ++c) {
            const size_t column = j * 8 + current->lane % 4 * 2 + c;
            float sums[2] = {};
            for (int k = 0; k < kStep; ++k) {
                const float value = operation.b_transposed ? b.along_outputs(column, k)
                                                           : b.along_k(column, k);
                sums[0] += a[0][k] * value;
                sums[1] += a[1][k] * value;
            }
            for (int half = 0; half < 2; ++half) {
                float& d = operation.d[j * 4 + half * 2 + c];
                d = (operation.accumulate ? d : 0.0f) + sums[half];
            }
        }
    }
}

}  // namespace

void wgmma(float* d, int columns, const unsigned* a_registers, uint64_t a, uint64_t b,
           bool b_transposed, bool accumulate, const char* file, int line) {
    WgmmaOperation operation{d, columns, a_registers != nullptr, {}, a, b, b_transposed, accumulate};
    APayload payload{a_registers, operation.a_rows};
    // All lanes of the warp meet, as `.sync.aligned` demands.
    warp_operation({"wgmma", file, line}, 0xFFFFFFFFu, &payload,
                   a_registers != nullptr ? &resolve_a : nullptr);
    if (launch.order % 2 == 1) {  // of a negative order the rest is -1
        multiply(operation);
        return;
    }
    if (current->wgmma_groups.empty()) {
        current->wgmma_groups.emplace_back();
    }
    current->wgmma_groups.back().push_back(operation);
    // Nobody may read the sums before the wait.
    if (!accumulate) {
        std::memset(d, kPoison, sizeof(float) * columns / 2);
    }
}

void wgmma_commit() {
    current->wgmma_groups.resize(current->wgmma_groups.empty() ? 2
                                                               : current->wgmma_groups.size() + 1);
}

void wgmma_wait(size_t pending) {
    auto& groups = current->wgmma_groups;
    while (groups.size() > pending + 1) {
        for (const WgmmaOperation& operation : groups.front()) {
            multiply(operation);
        }
        groups.erase(groups.begin());
    }
}

// Low to high: threads that must arrive, threads that have not yet, phases that have ended.
void barrier_init(unsigned long long* barrier, int count) {
    *barrier = static_cast<uint64_t>(count) | static_cast<uint64_t>(count) << 16;
}

void barrier_arrive(unsigned long long* barrier) {
    const uint64_t count = *barrier & 0xFFFF;
    uint64_t left = *barrier >> 16 & 0xFFFF, phase = *barrier >> 32;
    if (count == 0 || count > 1024 || left == 0 || left > count) {
        fail("barrier_arrive: no barrier was made here");
    }
    left -= 1;
    if (left == 0) {
        left = count;
        phase += 1;
    }
    *barrier = count | left << 16 | phase << 32;
    if (launch.order != 0) {
        to_scheduler();  // others may go on before this thread does
    }
}

bool barrier_passed(const unsigned long long* barrier, int parity) {
    return (*barrier >> 32 & 1) != static_cast<uint64_t>(parity);
}

}  // namespace emulation
