#include "runners/common/check.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/fnv1a.hpp"
#include "runners/common/cpus.hpp"

namespace tauto::runner {

namespace {

// ||r_k|| / ||r_0|| after k iterations is at most 2 sqrt(c) ((sqrt(c) - 1) / (sqrt(c) + 1))^k for condition
// number c (Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., SIAM 2003, section 6.11.3, in the
// energy norm).
double guaranteed_residual(std::int64_t iterations) {
    const double root = std::sqrt(toeplitz_system::condition_bound());
    return 2.0 * root * std::pow((root - 1.0) / (root + 1.0), static_cast<double>(iterations));
}

std::string cpu_set_text(const std::set<int>& cpus) {
    const std::vector<int> list{cpus.begin(), cpus.end()};
    return (list.size() == 1 ? "CPU " : "CPUs ") + cpus_text(list);
}

}  // namespace

solve_limits limits_of(const options& asked) {
    if (asked.solution_iterations) return {.iterations = *asked.solution_iterations, .tolerance = 0.0};
    return {};
}

answer_check check_answer(const options& asked, const toeplitz_system& system,
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

std::optional<std::string> missing_workers(const options& asked, const std::vector<worker_rows>& workers) {
    const std::set<int> used = cpus_of(workers);
    const std::set<int> wanted{asked.cpus.begin(), asked.cpus.end()};
    const auto chunk = asked.chunk.value_or(1);
    const auto pieces = static_cast<std::size_t>((asked.size + chunk - 1) / chunk);
    const std::size_t least = std::min(wanted.size(), pieces);
    const bool elsewhere = !std::ranges::includes(wanted, used);
    const bool enough_threads =
        asked.threads > static_cast<int>(wanted.size()) || threads_of(workers).size() >= least;
    if (!elsewhere && used.size() >= least && enough_threads) return std::nullopt;
    const std::size_t count = threads_of(workers).size();
    return std::to_string(asked.threads) + " workers on " + cpu_set_text(wanted) + " were asked for, but " +
           std::to_string(count) + (count == 1 ? " thread" : " threads") + " computed rows, on " +
           cpu_set_text(used);
}

}  // namespace tauto::runner
