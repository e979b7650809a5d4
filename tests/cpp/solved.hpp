#pragma once
// A whole solve by conjugate gradients.

#include "kernels/conjugate_gradient.hpp"
#include "kernels/matvec.hpp"
#include "kernels/toeplitz.hpp"

namespace tauto::testing {

// From x = 0 until finished.
template <matrix_product Product>
conjugate_gradient solved(const aligned_floats& b, Product&& product, const solve_limits& limits = {}) {
    conjugate_gradient state{b};
    while (!state.finished(limits)) state.iterate(product);
    return state;
}

// The product with all rows of a system that outlives it.
inline auto whole_product(const toeplitz_system& system) {
    return
        [&system](const aligned_floats& x, aligned_floats& y) { matvec_rows(system.a, x, y, 0, x.size()); };
}

}  // namespace tauto::testing
