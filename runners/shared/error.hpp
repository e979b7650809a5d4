#pragma once
// How a runner ends when something is not as asked.

#include <stdexcept>

namespace tauto::runner {

enum exit_code : int {
    exit_ok = 0,
    exit_bad_input = 2,
    exit_wrong_answer = 3,
    exit_missing_worker = 4,
    exit_missing_library = 5,
};

/// What was asked cannot be done here; what() says what was asked, what was found and what to do.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace tauto::runner
