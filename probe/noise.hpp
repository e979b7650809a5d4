#pragma once
// Time that our CPUs lose: interruptions of a spinning thread, and time stolen by the host.

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "probe/measured.hpp"

namespace tauto::probe {

// Spins on every CPU at once, so that no thread of ours disturbs, and fills in the gaps.
void measure_noise(std::vector<cpu_measurement>& cpus, double seconds);

// Clock ticks of one CPU since the start of the system: all of them, and those that the host stole.
struct cpu_ticks {
    std::int64_t all = 0;
    std::int64_t stolen = 0;
};

// From the text of /proc/stat, by CPU; empty if the kernel is too old to report stolen time.
std::map<int, cpu_ticks> parse_stat(std::string_view stat);
std::map<int, cpu_ticks> read_stat();

// Steal between two readings; absent for CPUs without one.
void fill_steal(const std::map<int, cpu_ticks>& before, const std::map<int, cpu_ticks>& after,
                std::vector<cpu_measurement>& cpus);

}  // namespace tauto::probe
