#pragma once

namespace tauto::detail {

// Counts forks of the process; a team whose number is older has lost its threads.
unsigned current_fork_generation() noexcept;

}  // namespace tauto::detail
