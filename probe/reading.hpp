#pragma once
// How fast the loop study's own rows are read, by how much is read again and again: out of the second-level
// cache, out of the last level, out of memory; one core of each kind alone, and all cores together.

#include <cstdint>
#include <functional>
#include <vector>

#include <tauto/machine.hpp>

#include "probe_measured.hpp"

namespace tauto::probe {

// Bytes that one of `members` reads again and again, ascending: around its L2 cache of `l2`, then (all
// members together) parts and multiples of the last level. None is above `most` for all together. Whole rows.
std::vector<std::int64_t> read_sets(std::int64_t l2, std::int64_t last_level, int members, std::int64_t most);

// One core of each kind with the sets that tell its caches apart, then all of `cores` together with all sets.
// `bytes` is as for measure_speeds. `step` is called before each point with what is read.
std::vector<read_point> measure_reads(const machine_record& machine, const std::vector<int>& cores,
                                      const effort& effort, std::int64_t bytes,
                                      const std::function<void(std::int64_t set)>& step);

}  // namespace tauto::probe
