#include "kernels/toeplitz.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "kernels/matvec.hpp"

namespace tauto {

namespace {

float element(std::size_t distance) {
    const double k = static_cast<double>(distance);
    return static_cast<float>(1.0 / ((1.0 + k) * (1.0 + k)));
}

// Plain double precision, and not the kernel that is being checked. Eight sums hide the latency of an
// addition.
double row_product(const float* row, const float* x, std::size_t n) {
    std::array<double, 8> sums{};
    std::size_t j = 0;
    for (; j + sums.size() <= n; j += sums.size())
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += double{row[j + k]} * double{x[j + k]};
    for (; j < n; ++j) sums[0] += double{row[j]} * double{x[j]};
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return total;
}

// NaN stays NaN and so fails every comparison with a tolerance.
double ratio_of_norms(double numerator, double denominator) {
    if (denominator == 0.0) return std::sqrt(numerator);
    return std::sqrt(numerator / denominator);
}

}  // namespace

toeplitz_system::toeplitz_system(std::size_t order, std::size_t first, std::size_t last)
    : a{order}, b{order}, true_solution{order} {
    fill_rows(first, last);
    for (std::size_t i = 0; i < order; ++i) {
        const double turn = (static_cast<double>(i) + 0.5) / static_cast<double>(order);
        true_solution[i] = static_cast<float>(1.0 + 0.5 * std::sin(6.0 * std::numbers::pi * turn));
    }
    matvec_rows(a, true_solution, b, first, last);
}

void toeplitz_system::fill_rows(std::size_t first, std::size_t last) {
    const std::size_t n = a.order();
    if (n == 0) return;
    std::vector<float> band(2 * n - 1);
    for (std::size_t k = 0; k < n; ++k) band[n - 1 - k] = band[n - 1 + k] = element(k);
    for (std::size_t i = first; i < last; ++i) std::copy_n(band.data() + (n - 1 - i), n, a.row(i));
}

double toeplitz_system::condition_bound() noexcept {
    constexpr double zeta_2 = std::numbers::pi * std::numbers::pi / 6.0;
    return (2.0 * zeta_2 - 1.0) / (zeta_2 - 1.0);
}

double toeplitz_system::bytes(double order) noexcept {
    // The matrix, and b, the true solution, x, r, p, A p.
    return dense_matrix::bytes(order) + 6.0 * sizeof(float) * (order + double(line_floats));
}

double relative_residual(const toeplitz_system& system, const aligned_floats& x) {
    double residual = 0.0;
    double norm = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double b = double{system.b[i]};
        const double difference = row_product(system.a.row(i), x.data(), x.size()) - b;
        residual += difference * difference;
        norm += b * b;
    }
    return ratio_of_norms(residual, norm);
}

double relative_error(const toeplitz_system& system, const aligned_floats& x) {
    double error = 0.0;
    double norm = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double exact = double{system.true_solution[i]};
        const double difference = double{x[i]} - exact;
        error += difference * difference;
        norm += exact * exact;
    }
    return ratio_of_norms(error, norm);
}

}  // namespace tauto
