#pragma once
// Performance counters and energy meters: what is there, and what stands in the way.

#include <optional>
#include <string>
#include <vector>

#include <tauto/machine.hpp>

#include "machine_files.hpp"

namespace tauto::detail {

// Whether cycles of one's own process can be counted; on the live system the event is opened to find out.
availability read_counters(const file_tree& files, const std::optional<std::string>& hypervisor,
                           bool container);

// Meters that the system lists. None is opened: that takes a busy loop, as virtual machines list some that
// read 0 J.
std::vector<energy_meter> read_energy_meters(const file_tree& files,
                                             const std::optional<std::string>& hypervisor);

// What the list amounts to.
availability judge_energy(const std::vector<energy_meter>& meters,
                          const std::optional<std::string>& hypervisor, bool container);

}  // namespace tauto::detail
