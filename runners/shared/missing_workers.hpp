#pragma once
// Did every worker that was asked for take part?

#include <cstddef>
#include <functional>
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

/// How long a runner waits for a worker that has not been seen yet.
inline constexpr double patience_seconds = 2.0;

/// Adds to `workers` those that come late, with the amount 0: `repeat` does the work once more, counts it in
/// the account that it gets, and each worker waits there for the others. A dynamic schedule leaves nothing to
/// a worker whose CPU another program uses. Takes `patience_seconds` if one is really missing.
void call_roll(const options& asked, std::size_t pieces, std::vector<worker_share>& workers,
               const std::function<void(work_account&)>& repeat);

}  // namespace tauto::runner
