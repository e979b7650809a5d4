#pragma once
// The serial vector operations of conjugate gradients, with a fixed order of summation (lanes.cpp,
// chain.cpp).

#include "kernels/aligned_floats.hpp"
#include "kernels/kernel.hpp"

namespace tauto {

/// x . y; equal lengths. 2 n operations.
float dot(const aligned_floats& x, const aligned_floats& y, kernel chosen = kernel::tuned) noexcept;

/// x += alpha p and r -= alpha ap in one pass; returns the new r . r. All of equal length. 6 n operations.
float advance_solution(aligned_floats& x, aligned_floats& r, const aligned_floats& p,
                       const aligned_floats& ap, float alpha, kernel chosen = kernel::tuned) noexcept;

/// p = r + beta p; equal lengths. 2 n operations.
void update_direction(aligned_floats& p, const aligned_floats& r, float beta,
                      kernel chosen = kernel::tuned) noexcept;

}  // namespace tauto
