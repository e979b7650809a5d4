#pragma once
// Rows of a matrix-vector product: the work inside every loop of the loop study.

#include <cstddef>

#include "kernels/dense_matrix.hpp"
#include "kernels/instruction_set.hpp"
#include "kernels/kernel.hpp"

namespace tauto {

/// y[i] = (A x)[i] for first <= i < last <= A.order(); x and y have A.order() elements and are not the same.
/// Threads may call it at once for disjoint ranges. The bits of y[i] depend on A and x alone, not on the
/// range. 2 (last - first) order floating-point operations. Source of the summation order: lanes.cpp,
/// chain.cpp.
void matvec_rows(const dense_matrix& a, const aligned_floats& x, aligned_floats& y, std::size_t first,
                 std::size_t last, kernel chosen = kernel::tuned) noexcept;

/// The same, tuned, with chosen instructions; they must be among available_instruction_sets().
void matvec_rows(const dense_matrix& a, const aligned_floats& x, aligned_floats& y, std::size_t first,
                 std::size_t last, instruction_set set) noexcept;

}  // namespace tauto
