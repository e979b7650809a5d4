#pragma once
// A whole solve by conjugate gradients.

#include "kernels/conjugate_gradient.hpp"

namespace tauto::testing {

// From x = 0 until finished.
template <matrix_product Product>
conjugate_gradient solved(const aligned_floats& b, Product&& product, const solve_limits& limits = {}) {
    conjugate_gradient state{b};
    while (!state.finished(limits)) state.iterate(product);
    return state;
}

}  // namespace tauto::testing
