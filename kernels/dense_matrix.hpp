#pragma once
// A square matrix in single precision, row-major.

#include <cstddef>

#include "kernels/aligned_floats.hpp"

namespace tauto {

/// order x order floats. Row i starts at row(i), on a cache line; rows are pitch() floats apart, and the
/// pitch() - order() floats behind each row are zero. pitch() is order() rounded up to a cache line: at order
/// 500 that costs 2.4 % of memory and makes the product 1.5 times as fast, for no load crosses a line then.
class dense_matrix {
  public:
    explicit dense_matrix(std::size_t order)
        : order_{order}, pitch_{padded_length(order)}, values_{order * padded_length(order)} {}

    std::size_t order() const noexcept { return order_; }
    std::size_t pitch() const noexcept { return pitch_; }
    float* row(std::size_t i) noexcept { return values_.data() + i * pitch_; }
    const float* row(std::size_t i) const noexcept { return values_.data() + i * pitch_; }
    aligned_floats& storage() noexcept { return values_; }

    /// Bytes that a matrix of this order takes, as a real number: it does not overflow for any order.
    static double bytes(double order) noexcept {
        return order * (order + double(line_floats - 1)) * sizeof(float);
    }

  private:
    std::size_t order_;
    std::size_t pitch_;
    aligned_floats values_;
};

}  // namespace tauto
