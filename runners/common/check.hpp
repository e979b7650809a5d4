#pragma once
// Was the answer right, and did every worker that was asked for take part?

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/conjugate_gradient.hpp"
#include "kernels/toeplitz.hpp"
#include "runners/common/options.hpp"
#include "runners/common/work_account.hpp"

namespace tauto::runner {

struct answer_check {
    bool passed;
    double relative_residual;
    double relative_error;
    double tolerance;  ///< of the residual; the error may be larger by the condition number
    std::string solution_fnv1a;
    std::int64_t iterations;
};

/// Iterations and tolerance of a solve with these options.
solve_limits limits_of(const options& asked);

/// Checks a finished solve. Its residual must be within 5e-5; where the iterations were given and are too few
/// for that, within what conjugate gradients guarantee after so many.
answer_check check_answer(const options& asked, const toeplitz_system& system,
                          const conjugate_gradient& solve);

/// Why `workers` are fewer, or elsewhere, than asked; nothing if all is well. One worker a CPU must have
/// computed rows on each CPU; with more workers than CPUs, each CPU must have been used; a loop with fewer
/// chunks than workers needs one worker a chunk.
std::optional<std::string> missing_workers(const options& asked, const std::vector<worker_rows>& workers);

}  // namespace tauto::runner
