#pragma once
// Memory that can still be had, so that a too large problem is refused before it is allocated.

#include <string>

namespace tauto::runner {

struct memory_limit {
    double bytes;
    std::string source;  ///< "MemAvailable" or "the memory limit of the control group"
};

/// The smaller of MemAvailable and what the control groups (v1 or v2, all levels) leave. Infinite if unknown.
memory_limit available_memory();

/// Throws input_error unless a system of `order` unknowns fits: asked, there, and the largest size that fits.
void require_memory_for(double order);

}  // namespace tauto::runner
