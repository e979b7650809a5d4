#include "runners/loop/check.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "kernels/fnv1a.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

// ||r_k|| / ||r_0|| after k iterations is at most 2 sqrt(c) ((sqrt(c) - 1) / (sqrt(c) + 1))^k for condition
// number c (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., SIAM 2003, section 6.11.3, in the
// energy norm).
double guaranteed_residual(std::int64_t iterations) {
    const double root = std::sqrt(toeplitz_system::condition_bound());
    return 2.0 * root * std::pow((root - 1.0) / (root + 1.0), as_double(iterations));
}

}  // namespace

solve_limits limits_of(const loop_request& asked) {
    if (asked.solution_iterations) return {.iterations = *asked.solution_iterations, .tolerance = 0.0};
    return {};
}

answer_check check_answer(const loop_request& asked, const toeplitz_system& system,
                          const conjugate_gradient& solve) {
    answer_check check{};
    check.iterations = solve.iterations();
    check.relative_residual = relative_residual(system, solve.solution());
    check.relative_error = relative_error(system, solve.solution());
    check.tolerance =
        asked.solution_iterations ? std::max(5e-5, guaranteed_residual(solve.iterations())) : 5e-5;
    check.solution_fnv1a = fnv1a_text(fnv1a(solve.solution().values()));
    check.passed = check.relative_residual <= check.tolerance &&
                   check.relative_error <= check.tolerance * toeplitz_system::condition_bound();
    return check;
}

std::optional<std::string> reason_of_failure(const answer_check& check) {
    if (check.passed) return std::nullopt;
    std::ostringstream reason;
    reason << "relative residual " << check.relative_residual << " where at most " << check.tolerance
           << " is right";
    return reason.str();
}

}  // namespace tauto::runner
