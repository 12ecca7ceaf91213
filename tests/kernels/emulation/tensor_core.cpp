// Stand-ins for the warp-wide PTX of common.cuh: mma.sync m16n8k16 (bf16), ldmatrix and movmatrix.
//
// Fragment layouts as in the PTX ISA, "Matrix Fragments for mma.m16n8k16": group = lane / 4,
// pair = lane % 4; the lower half of a register is the element with the lower index.
#include "internal.h"

namespace emulation {

float bf16_half(unsigned packed, int half) {
    const unsigned bits = (half ? packed >> 16 : packed & 0xFFFFu) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

struct MmaPayload {
    float* d;
    const unsigned* a;
    const unsigned* b;
};

// d[16, 8] += a[16, 16] * b[16, 8]: fp32 sums of exact bf16 products.
void resolve_mma(void** payloads, unsigned) {
    float a[16][16], b[16][8];
    for (int lane = 0; lane < kWarp; ++lane) {
        const auto* p = static_cast<const MmaPayload*>(payloads[lane]);
        const int group = lane / 4, pair = lane % 4 * 2;
        for (int half = 0; half < 2; ++half) {
            a[group][pair + half] = bf16_half(p->a[0], half);
            a[group + 8][pair + half] = bf16_half(p->a[1], half);
            a[group][pair + 8 + half] = bf16_half(p->a[2], half);
            a[group + 8][pair + 8 + half] = bf16_half(p->a[3], half);
            b[pair + half][group] = bf16_half(p->b[0], half);
            b[pair + 8 + half][group] = bf16_half(p->b[1], half);
        }
    }
    for (int lane = 0; lane < kWarp; ++lane) {
        const auto* p = static_cast<const MmaPayload*>(payloads[lane]);
        for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
            float sum = 0.0f;
            for (int k = 0; k < 16; ++k) {
                sum += a[row][k] * b[k][column];
            }
            p->d[i] += sum;
        }
    }
}

void mma_m16n8k16(float* d, const unsigned* a, const unsigned* b, const char* file, int line) {
    MmaPayload payload{d, a, b};
    warp_operation({"mma_m16n8k16", file, line}, 0xFFFFFFFFu, &payload, &resolve_mma);
}

struct LdmatrixPayload {
    unsigned* registers;
    const void* row;
    int matrices;
    bool transposed;
};

void resolve_ldmatrix(void** payloads, unsigned) {
    const auto* first = static_cast<const LdmatrixPayload*>(payloads[0]);
    for (int matrix = 0; matrix < first->matrices; ++matrix) {
        uint16_t tile[8][8];
        for (int row = 0; row < 8; ++row) {
            const void* address = static_cast<LdmatrixPayload*>(payloads[matrix * 8 + row])->row;
            if (reinterpret_cast<uintptr_t>(address) % 16 != 0) {
                fail("ldmatrix: a row address is not aligned to 16 bytes");
            }
            std::memcpy(tile[row], address, sizeof tile[row]);
        }
        for (int lane = 0; lane < kWarp; ++lane) {
            const int group = lane / 4, pair = lane % 4 * 2;
            const unsigned low = first->transposed ? tile[pair][group] : tile[group][pair];
            const unsigned high = first->transposed ? tile[pair + 1][group] : tile[group][pair + 1];
            static_cast<LdmatrixPayload*>(payloads[lane])->registers[matrix] = low | high << 16;
        }
    }
}

void ldmatrix(unsigned* registers, const void* row, int matrices, bool transposed,
                     const char* file, int line) {
    LdmatrixPayload payload{registers, row, matrices, transposed};
    warp_operation({"ldmatrix", file, line}, 0xFFFFFFFFu, &payload, &resolve_ldmatrix);
}

struct TransposePayload {
    unsigned packed;
    unsigned transposed;
};

void resolve_transpose(void** payloads, unsigned) {
    const auto half_of = [&](int row, int column) {
        const unsigned packed = static_cast<TransposePayload*>(payloads[row * 4 + column / 2])->packed;
        return column % 2 ? packed >> 16 : packed & 0xFFFFu;
    };
    for (int lane = 0; lane < kWarp; ++lane) {
        const int group = lane / 4, pair = lane % 4 * 2;
        static_cast<TransposePayload*>(payloads[lane])->transposed =
            half_of(pair, group) | half_of(pair + 1, group) << 16;
    }
}

unsigned transpose_matrix(unsigned packed, const char* file, int line) {
    TransposePayload payload{packed, 0};
    warp_operation({"transpose_matrix", file, line}, 0xFFFFFFFFu, &payload, &resolve_transpose);
    return payload.transposed;
}

}  // namespace emulation
