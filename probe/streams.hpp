#pragma once
// How fast one core reads memory along several streams at once, near each other and far.

#include <cstdint>
#include <vector>

#include <tauto/machine.hpp>

#include "probe/measured.hpp"

namespace tauto::probe {

// 1, 2, 4 … 32 streams of one core through `bytes` of memory, a line of each in turn. For each number the
// streams lie once a power of two apart, where their lines want the same sets of a cache and the same bank of
// memory, and once that and 17 lines. One stream has no spacing. Throws tauto::error if memory is short.
std::vector<stream_point> measure_streams(int cpu, std::int64_t bytes, double seconds);

}  // namespace tauto::probe
