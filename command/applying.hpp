#pragma once
// Applies a profile to this process, and says what the kernel made of it.

#include <optional>
#include <string>
#include <vector>

#include "command/profile.hpp"

namespace tauto::command {

/// Sets what the profile says for this process; a warning for each thing that came out otherwise. Throws
/// input_error where none of its CPUs may be used here.
[[nodiscard]] std::vector<std::string> apply(const profile& asked);

/// A warning for each thing that the variables ask for and that is not there for this process.
[[nodiscard]] std::vector<std::string> looked_at_here(const profile& asked);

/// What the command begins with, as the kernel has it for this process, and the variables.
[[nodiscard]] std::string given(const profile& asked);

/// Whether this is a file that may be executed.
[[nodiscard]] bool is_program(const std::string& file);

/// The file that a command's first word names, as the shell would find it with the variables of now. Returns
/// its path, or empty with the number of the error in `error`.
[[nodiscard]] std::string found_program(const std::string& word, int& error);

/// A warning for each thing that the variables ask for where only these CPUs, and a quota of them, are there.
[[nodiscard]] std::vector<std::string> looked_at(const profile& asked, const cpu_numbers& allowed,
                                                 std::optional<double> quota);

}  // namespace tauto::command
