#pragma once
// Conjugate gradients with the product injected: the caller decides who computes the rows.
// Method: M. R. Hestenes, E. Stiefel, J. Res. Natl. Bur. Stand. 49 (1952) 409, without preconditioning.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>

#include "kernels/aligned_floats.hpp"
#include "kernels/vector_operations.hpp"

namespace tauto {

/// product(x, y) computes y = A x; x and y have as many elements as the system has unknowns.
template <class Product>
concept matrix_product = std::invocable<Product&, const aligned_floats&, aligned_floats&>;

struct solve_limits {
    std::int64_t iterations = 60;
    /// Stop when ||r|| / ||b|| falls below it. Single precision leaves nothing to gain below 1e-7, and the
    /// squares of much smaller residuals leave the range of floats; smaller values are taken as 1e-7.
    double tolerance = 1e-5;
};

/// The state of one solve of A x = b from x = 0. Everything but the product runs on the calling thread.
class conjugate_gradient {
  public:
    /// Keeps a reference to b. b must be finite.
    explicit conjugate_gradient(const aligned_floats& b, kernel chosen = kernel::tuned)
        : b_{b},
          kernel_{chosen},
          x_{b.size()},
          r_{b.size()},
          p_{b.size()},
          ap_{b.size()},
          b_squared_{dot(b, b, chosen)} {
        restart();
    }

    /// Back to x = 0, r = p = b. O(n).
    void restart() noexcept {
        std::ranges::fill(x_.values(), 0.0F);
        std::ranges::copy(b_.values(), r_.data());
        std::ranges::copy(b_.values(), p_.data());
        r_squared_ = b_squared_;
        iterations_ = 0;
    }

    /// One iteration: one product, and 10 n operations on vectors. Call only while finished() is false.
    template <matrix_product Product>
    void iterate(Product&& product) {
        product(std::as_const(p_), ap_);
        const float alpha = r_squared_ / dot(ap_, p_, kernel_);
        const float r_squared = advance_solution(x_, r_, p_, ap_, alpha, kernel_);
        update_direction(p_, r_, r_squared / r_squared_, kernel_);
        r_squared_ = r_squared;
        ++iterations_;
    }

    bool finished(const solve_limits& limits) const noexcept {
        const auto tolerance = static_cast<float>(std::max(limits.tolerance, 1e-7));
        return iterations_ >= limits.iterations || !(r_squared_ > tolerance * tolerance * b_squared_);
    }

    const aligned_floats& solution() const noexcept { return x_; }
    std::int64_t iterations() const noexcept { return iterations_; }

    /// Of one iteration on n unknowns: the product and the four vector operations.
    static constexpr double flops_per_iteration(double n) noexcept { return 2.0 * n * n + 10.0 * n; }
    /// Bytes that one iteration reads and writes, every operand counted once an operation.
    static constexpr double bytes_per_iteration(double n) noexcept {
        return sizeof(float) * (n * n + 13.0 * n);
    }

  private:
    const aligned_floats& b_;
    kernel kernel_;
    aligned_floats x_, r_, p_, ap_;
    float b_squared_;
    float r_squared_ = 0.0F;
    std::int64_t iterations_ = 0;
};

}  // namespace tauto
