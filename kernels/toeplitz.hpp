#pragma once
// The linear system of the loop study.

#include <cstddef>

#include "kernels/aligned_floats.hpp"
#include "kernels/dense_matrix.hpp"

namespace tauto {

/// A x = b with a[i][j] = 1 / (1 + |i - j|)^2. The sequence is positive, decreasing and convex, hence A is
/// positive definite for every order (Pólya's criterion). Its eigenvalues lie between the extremes of the
/// symbol 1 + 2 sum cos(k t) / (1 + k)^2: pi^2 / 3 - 1 at t = 0 and pi^2 / 6 - 1 at t = pi.
struct toeplitz_system {
    dense_matrix a;
    aligned_floats b;              ///< A times true_solution, rounded
    aligned_floats true_solution;  ///< 1 + sin(6 pi (i + 1/2) / n) / 2: smooth and not constant

    /// Fills n^2 floats, O(n^2), at the speed of memcpy: row i is a slice of the 2 n - 1 distinct elements.
    explicit toeplitz_system(std::size_t order) : toeplitz_system{order, 0, order} {}

    /// Only the rows from `first` until before `last`, and their elements of b: the others stay zero, and
    /// take no memory in a matrix of more than half a megabyte.
    toeplitz_system(std::size_t order, std::size_t first, std::size_t last);

    /// Fills these rows of a.
    void fill_rows(std::size_t first, std::size_t last);

    /// Upper bound of the condition number in the 2-norm, for every order: about 3.55.
    static double condition_bound() noexcept;
    /// Bytes that a system of this order takes, before it is built.
    static double bytes(double order) noexcept;
};

/// ||A x - b|| / ||b||, in double precision. O(n^2), serial.
double relative_residual(const toeplitz_system& system, const aligned_floats& x);

/// ||x - true_solution|| / ||true_solution||, in double precision. O(n).
double relative_error(const toeplitz_system& system, const aligned_floats& x);

}  // namespace tauto
