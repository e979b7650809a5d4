#pragma once
// What all jobs of the power study ask for.

#include <cstdint>

#include "runners/shared/options.hpp"

namespace tauto::runner {

/// Throws input_error unless the schedule takes as many threads as were asked for.
void require_threads(const options& asked);

/// Throws input_error unless that many bytes of data, what is made of them, and a copy to check against fit.
void require_memory_for(std::int64_t bytes);

}  // namespace tauto::runner
