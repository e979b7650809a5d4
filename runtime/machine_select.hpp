#pragma once
// The CPUs that a team uses by default.

#include <vector>

#include "machine_files.hpp"
#include "machine_limits.hpp"

namespace tauto::detail {

// One hardware thread of each allowed core in the order of select_cpus, no more than usable_members: the
// selection `cores`, from a few files instead of hwloc.
std::vector<int> usable_cores(const file_tree& files, const limits& allowed);

}  // namespace tauto::detail
