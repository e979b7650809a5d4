#pragma once
// Did every worker that was asked for take part?

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runners/shared/options.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// Why `workers` are fewer, or elsewhere, than asked; nothing if all is well. One worker a CPU must have
/// worked on each CPU; with more workers than CPUs, each CPU must have been used; with fewer `pieces` of work
/// than workers, one worker a piece is enough. `work` is what they do, in the past tense.
std::optional<std::string> missing_workers(const options& asked, std::size_t pieces, const std::string& work,
                                           const std::vector<worker_share>& workers);

}  // namespace tauto::runner
