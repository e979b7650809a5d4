#pragma once
// Restarting a runner with the environment that its library reads only once, when it is loaded.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tauto::runner {

/// Variables to set, or to remove (no value).
using environment_changes = std::vector<std::pair<std::string, std::optional<std::string>>>;

/// True in a process that restart_with started.
bool restarted();

/// Replaces this process by itself with the changes made and with `cpus` as its affinity mask. Returns only
/// by throwing input_error when the system refuses.
[[noreturn]] void restart_with(const environment_changes& changes, std::span<const int> cpus, char** argv);

}  // namespace tauto::runner
