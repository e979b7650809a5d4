#pragma once
// `tauto balance` without the laboratory, whose start takes a tenth of a second.

#include <optional>
#include <string>
#include <vector>

namespace tauto::command {

/// What tauto-balance is told by the words behind `tauto balance`. Nothing where the laboratory is to answer:
/// where no command stands behind `--`, or an option is --pid, --help or none at all.
[[nodiscard]] std::optional<std::vector<std::string>> balancer_words(const std::vector<std::string>& given);

/// The file of tauto-balance: where TAUTO_RUNNERS says, beside `tauto` in this folder, or in the package of
/// the one Python that has its commands there. Empty where none of them has it.
[[nodiscard]] std::string find_balancer(const std::string& folder);

}  // namespace tauto::command
