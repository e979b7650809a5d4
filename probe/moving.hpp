#pragma once
// What a thread loses when it changes to another CPU: the change itself, and what it has to fetch again.

#include <utility>
#include <vector>

#include <tauto/machine.hpp>

#include "probe/measured.hpp"

namespace tauto::probe {

// From the first of these cores to one of each other kind, and to one behind another last-level cache; to the
// second where there is neither. Empty with one core.
std::vector<std::pair<int, int>> pairs_to_move_between(const machine_record& machine,
                                                       const std::vector<int>& cores);

// For each pair, both ways, with no data, and with an eighth and half of `l2_bytes` that the thread updates
// again and again: the change and the first pass after it, without what a pass takes there later. Medians of
// `moves` changes each way. The thread changes by its own mask. Throws tauto::error if a CPU cannot be used.
std::vector<move_point> measure_moves(const std::vector<std::pair<int, int>>& pairs, std::int64_t l2_bytes,
                                      int moves);

}  // namespace tauto::probe
