#pragma once
// Was the answer of the loop study right?

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/conjugate_gradient.hpp"
#include "kernels/toeplitz.hpp"
#include "runners/loop/request.hpp"

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
solve_limits limits_of(const loop_request& asked);

/// Checks a finished solve. Its residual must be within 5e-5; where the iterations were given and are too few
/// for that, within what conjugate gradients guarantee after that many.
answer_check check_answer(const loop_request& asked, const toeplitz_system& system,
                          const conjugate_gradient& solve);

/// Why the answer is wrong; nothing where it passed.
std::optional<std::string> reason_of_failure(const answer_check& check);

}  // namespace tauto::runner
