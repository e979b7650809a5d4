#pragma once
// The one line of JSON that a collective runner prints.

#include <cstdint>
#include <vector>

#include "runners/collective/request.hpp"
#include "runners/shared/row.hpp"

namespace tauto::runner {

/// One operation at one length, all repetitions.
struct collective_point {
    collective operation;
    std::int64_t words;  ///< 0 for a barrier
    std::vector<std::int64_t>
        nanoseconds;        ///< of each repetition: from the common start to the last rank's end
    std::int64_t late = 0;  ///< repetitions that were left out: a rank began too late
};

struct collective_result {
    std::vector<collective_point> points;
    std::int64_t wrong_repetitions = 0;
    std::int64_t seed = 0;
    double clock_seconds = 0.0;  ///< that an operation which does nothing seems to take; it is in every time
    std::vector<int> rank_cpus;  ///< where each rank ran at the end
};

/// The value below which `share` of the values lie; of at least one value, which are sorted by it.
double quantile(std::vector<std::int64_t>& values, double share);

/// `seconds` is the geometric mean over the points.
finished_row collective_row(const description& runtime, const collective_request& asked,
                            collective_result& seen);

}  // namespace tauto::runner
