#pragma once
// Performance counters and energy meters: what is available, and what prevents the rest.

#include <optional>
#include <string>
#include <vector>

#include "probe/host.hpp"
#include "runtime/machine_files.hpp"

namespace tauto::probe {

// Whether cycles of the own process can be counted; on the running system the event is opened to test it.
availability read_counters(const detail::file_tree& files, const std::optional<std::string>& hypervisor,
                           bool container);

// Meters that the system lists. None is tested: a test needs a busy loop, because virtual machines list
// meters that read 0 J.
std::vector<energy_meter> read_energy_meters(const detail::file_tree& files,
                                             const std::optional<std::string>& hypervisor);

// The summary of the list.
availability judge_energy(const std::vector<energy_meter>& meters,
                          const std::optional<std::string>& hypervisor, bool container);

}  // namespace tauto::probe
