#pragma once
// Memory that can still be had, so that a too large problem is refused before it is allocated.

#include <functional>
#include <string>

namespace tauto::runner {

struct memory_limit {
    double bytes;
    std::string source;  ///< "MemAvailable" or "the memory limit of the control group"
};

/// The smaller of MemAvailable and what the control groups (v1 or v2, all levels) leave. Infinite if unknown.
memory_limit available_memory();

/// Throws input_error unless `bytes` can be had for `what`. remedy(available bytes) says what to ask for
/// instead.
void require_memory(double bytes, const std::string& what, const std::function<std::string(double)>& remedy);

/// 1e9 to "1000000000".
std::string whole_number(double value);

}  // namespace tauto::runner
