#pragma once
// How fast the loop study's rows are read, by the size of the set: from the second-level cache, from the
// last-level cache, and from memory; by one core of each kind alone, and by all cores together.

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <tauto/machine.hpp>

#include "probe/measured.hpp"

namespace tauto::probe {

// The CPU's second-level cache; 512 KiB where that is unknown.
std::int64_t l2_bytes_of(const machine_record& machine, int cpu);

// Bytes that one of `members` reads repeatedly, ascending: around its L2 cache of `l2` bytes, then (all
// members together) parts and multiples of the last-level cache. None exceeds `most` for all together. Whole
// steps of 8 KiB.
std::vector<std::int64_t> read_sets(std::int64_t l2, std::int64_t last_level, int members, std::int64_t most);

// Where a curve of rates should be read next: the middle of the two neighbours between which a straight line
// would be farthest off, in whole steps. `curve`: the set of each member and its rate, in any order. Sets
// below `least` do not count, nor neighbours whose rates are alike. Empty if no place is left.
std::optional<std::int64_t> steepest_place(std::vector<std::pair<std::int64_t, double>> curve,
                                           std::int64_t least);

// The largest set of a curve that a cache still holds: almost as fast as the smallest from `least` bytes on.
// Empty without such sets.
std::optional<std::int64_t> largest_held(std::vector<std::pair<std::int64_t, double>> curve,
                                         std::int64_t least);

// One core of each kind with the sets that distinguish its caches, then all of `cores` together with all
// sets, and both with some sets more where the rate falls: what a core finds of a last-level cache is seen in
// its reads, not in the cache's size. `bytes`: as for measure_speeds. `step` is called before each point with
// the size of the set.
std::vector<read_point> measure_reads(const machine_record& machine, const std::vector<int>& cores,
                                      const effort& effort, std::int64_t bytes,
                                      const std::function<void(std::int64_t set)>& step);

}  // namespace tauto::probe
