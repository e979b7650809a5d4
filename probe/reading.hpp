#pragma once
// How fast the loop study's rows are read, by the size of the set: from the second-level cache, from the
// last-level cache, and from memory; by one core of each kind alone, and by all cores together.

#include <cstdint>
#include <functional>
#include <vector>

#include <tauto/machine.hpp>

#include "probe/measured.hpp"

namespace tauto::probe {

// Bytes that one of `members` reads repeatedly, ascending: around its L2 cache of `l2` bytes, then (all
// members together) parts and multiples of the last-level cache. None exceeds `most` for all together. Whole
// rows.
std::vector<std::int64_t> read_sets(std::int64_t l2, std::int64_t last_level, int members, std::int64_t most);

// One core of each kind with the sets that distinguish its caches, then all of `cores` together with all
// sets. `bytes`: as for measure_speeds. `step` is called before each point with the size of the set.
std::vector<read_point> measure_reads(const machine_record& machine, const std::vector<int>& cores,
                                      const effort& effort, std::int64_t bytes,
                                      const std::function<void(std::int64_t set)>& step);

}  // namespace tauto::probe
