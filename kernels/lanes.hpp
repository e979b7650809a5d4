#pragma once
// The inner kernels as raw functions, one table for each instruction set. Callers use matvec.hpp and
// vector_operations.hpp; this header is shared by the translation units behind them.

#include <cstddef>

// Nothing else is included: see CMakeLists.txt for the reason.

namespace tauto {
enum class instruction_set;
enum class kernel;
}  // namespace tauto

namespace tauto::lanes {

/// All lengths are padded_length()s: multiples of 16 floats. All pointers are 64-byte aligned except `y` of
/// rows.
struct table {
    /// y[i] = sum over j of a[i * pitch + j] * x[j], 0 <= j < length, for 0 <= i < rows.
    void (*rows)(const float* a, std::size_t pitch, const float* x, float* y, std::size_t length,
                 std::size_t rows);
    float (*dot)(const float* x, const float* y, std::size_t length);
    /// x += alpha * p; r -= alpha * ap; returns r . r
    float (*advance)(float* x, float* r, const float* p, const float* ap, float alpha, std::size_t length);
    /// p = r + beta * p
    void (*redirect)(float* p, const float* r, float beta, std::size_t length);
};

extern const table generic;
extern const table avx2;
extern const table avx512;
extern const table chain;

const table& of(instruction_set set) noexcept;
const table& best() noexcept;
const table& of(kernel chosen) noexcept;

}  // namespace tauto::lanes
