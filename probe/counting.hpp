#pragma once
// What the processor's counters count of the lines that a core reads of memory: those that it prefetches,
// too?

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "probe/measured.hpp"

namespace tauto::probe {

// A counter's reading; empty where there is no such counter.
using counter = std::function<std::uint64_t()>;

// The kernel's counter of that name (cache_references, cache_misses, llc_load_misses) for the calling thread.
counter open_counter(const std::string& event);

// Events a line, for each counter that opens, while `cpu` reads lines of `bytes` of memory one after the
// other, and while it reads scattered ones, of which each names the next. Empty where none opens. Throws
// tauto::error if memory is short.
std::vector<counted_lines> measure_counting(
    int cpu, std::int64_t bytes, const std::function<counter(const std::string& event)>& open = open_counter);

}  // namespace tauto::probe
