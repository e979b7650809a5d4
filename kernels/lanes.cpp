// The inner kernels, built once for each instruction set (TAUTO_LANES names the table).
//
// Order of summation, the same in every build and for every grouping of rows: 64 partial sums, partial sum l
// taking the elements l, l + 64, l + 128, …; then a fixed tree over the 64. That is 4 registers of AVX-512 or
// 8 of AVX2, enough chains to hide the latency of a fused multiply-add. With fused multiply-add all builds
// give equal bits.

#include "kernels/lanes.hpp"

#ifndef TAUTO_LANES
#error "TAUTO_LANES must name the instruction set that this file is built for"
#endif

namespace tauto::lanes {

namespace {

// The widest register of the build. GCC splits wider vectors through the stack, which made AVX2 nine times
// slower.
#if defined(__AVX512F__)
constexpr std::size_t width = 16;
#elif defined(__AVX2__)
constexpr std::size_t width = 8;
#else
constexpr std::size_t width = 4;
#endif
typedef float float4 __attribute__((vector_size(16)));
typedef float float8 __attribute__((vector_size(32)));
typedef float float16 __attribute__((vector_size(64)));
typedef float vector __attribute__((vector_size(width * sizeof(float))));

constexpr std::size_t registers = 64 / width;  // that hold the 64 partial sums
constexpr std::size_t parts = 16 / width;      // registers of one cache line

// Four rows at a time share each load of x: 1.24 times as fast as single rows at order 500 on a Sapphire
// Rapids core (8.3 against 10.2 microseconds; software prefetch made both slower). Sixteen accumulators need
// the 32 registers of AVX-512, elsewhere they would spill. Long rows come from the shared cache or from
// memory, which is the limit then, and one stream is better for it than four (2.286 against 2.319
// milliseconds at order 4000).
#ifdef __AVX512F__
constexpr std::size_t row_block = 4;
#else
constexpr std::size_t row_block = 1;
#endif
constexpr std::size_t longest_blocked_row = 3072;

inline vector load(const float* values) {
    return *reinterpret_cast<const vector*>(values);
}
inline void store(float* values, vector v) {
    *reinterpret_cast<vector*>(values) = v;
}

// 16 numbers in one, two or four registers to 4: those 8 apart are added first, then those 4 apart.
[[maybe_unused]] inline float4 folded(const float8 (&half)[1]) {
    return __builtin_shufflevector(half[0], half[0], 0, 1, 2, 3) +
           __builtin_shufflevector(half[0], half[0], 4, 5, 6, 7);
}
[[maybe_unused]] inline float4 folded(const float8 (&line)[2]) {
    const float8 half[1] = {line[0] + line[1]};
    return folded(half);
}
[[maybe_unused]] inline float4 folded(const float16 (&line)[1]) {
    const float8 half[1] = {__builtin_shufflevector(line[0], line[0], 0, 1, 2, 3, 4, 5, 6, 7) +
                            __builtin_shufflevector(line[0], line[0], 8, 9, 10, 11, 12, 13, 14, 15)};
    return folded(half);
}
[[maybe_unused]] inline float4 folded(const float4 (&line)[4]) {
    return (line[0] + line[2]) + (line[1] + line[3]);
}

struct partial_sums {
    vector r[registers] = {};

    // 64 sums to 16, then to 4.
    float4 quarter() const {
        vector line[parts];
        for (std::size_t i = 0; i < parts; ++i)
            line[i] = (r[i] + r[i + parts]) + (r[i + 2 * parts] + r[i + 3 * parts]);
        return folded(line);
    }
    float total() const {
        const float4 q = quarter();
        return (q[0] + q[2]) + (q[1] + q[3]);
    }
};

// The totals of four rows by a transposition: the same additions as partial_sums::total, four at a time.
[[maybe_unused]] inline float4 totals(const partial_sums (&rows)[4]) {
    const float4 a = rows[0].quarter(), b = rows[1].quarter(), c = rows[2].quarter(), d = rows[3].quarter();
    const float4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const float4 cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
}

template <std::size_t Rows>
inline __attribute__((always_inline)) void accumulate(partial_sums (&sums)[Rows], const float* a,
                                                      std::size_t pitch, const float* x, std::size_t length) {
    std::size_t j = 0;
    for (; j + registers * width <= length; j += registers * width)
#pragma GCC unroll 16
        for (std::size_t k = 0; k < registers; ++k) {
            const vector factor = load(x + j + k * width);
#pragma GCC unroll 4
            for (std::size_t row = 0; row < Rows; ++row)
                sums[row].r[k] += load(a + row * pitch + j + k * width) * factor;
        }
        // At most three lines of 16 are left; they belong to the first 48 partial sums.
#pragma GCC unroll 16
    for (std::size_t k = 0; k < registers - parts; ++k) {
        if (j + k * width >= length) break;
        const vector factor = load(x + j + k * width);
#pragma GCC unroll 4
        for (std::size_t row = 0; row < Rows; ++row)
            sums[row].r[k] += load(a + row * pitch + j + k * width) * factor;
    }
}

void rows(const float* a, std::size_t pitch, const float* x, float* y, std::size_t length,
          std::size_t count) {
    std::size_t i = 0;
    if constexpr (row_block == 4)
        for (; length <= longest_blocked_row && i + 4 <= count; i += 4) {
            partial_sums sums[4];
            accumulate(sums, a + i * pitch, pitch, x, length);
            const float4 four = totals(sums);
            __builtin_memcpy(y + i, &four, sizeof four);
        }
    for (; i < count; ++i) {
        partial_sums sums[1];
        accumulate(sums, a + i * pitch, pitch, x, length);
        y[i] = sums[0].total();
    }
}

// The serial operations between two products touch a few kilobytes each; one pass over the registers in turn.
template <class Term>
inline __attribute__((always_inline)) float sum(std::size_t length, Term&& term) {
    partial_sums sums;
    std::size_t j = 0;
    for (; j + registers * width <= length; j += registers * width)
#pragma GCC unroll 16
        for (std::size_t k = 0; k < registers; ++k) sums.r[k] = term(j + k * width, sums.r[k]);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < registers - parts; ++k) {
        if (j + k * width >= length) break;
        sums.r[k] = term(j + k * width, sums.r[k]);
    }
    return sums.total();
}

float dot(const float* x, const float* y, std::size_t length) {
    return sum(length, [&](std::size_t j, vector so_far) { return so_far + load(x + j) * load(y + j); });
}

float advance(float* x, float* r, const float* p, const float* ap, float alpha, std::size_t length) {
    return sum(length, [&](std::size_t j, vector so_far) {
        store(x + j, load(x + j) + alpha * load(p + j));
        const vector residual = load(r + j) - alpha * load(ap + j);
        store(r + j, residual);
        return so_far + residual * residual;
    });
}

void redirect(float* p, const float* r, float beta, std::size_t length) {
    for (std::size_t j = 0; j < length; j += width) store(p + j, load(r + j) + beta * load(p + j));
}

}  // namespace

const table TAUTO_LANES = {rows, dot, advance, redirect};

}  // namespace tauto::lanes
