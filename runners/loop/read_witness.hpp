#pragma once
// Who reads which part of a matrix, for libraries that compute a whole product and hand out no rows.

#include <cstddef>
#include <span>
#include <vector>

#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// While one exists, the pages of `memory` are closed, and the first access to each piece (up to 1024 of
/// them) faults; the fault's handler notes the thread and its CPU and opens the piece. The counts are
/// therefore of reads that took place, not of threads that were awake. One at a time in a process; slow, so
/// never in a timed part.
class read_witness {
  public:
    explicit read_witness(std::span<float> memory);
    /// Opens all pages again and puts the signal handler of before back.
    ~read_witness();
    read_witness(const read_witness&) = delete;
    read_witness& operator=(const read_witness&) = delete;

    /// Rows of `row_floats` floats by thread and CPU, rounded from the pieces that each read first.
    std::vector<worker_share> workers(std::size_t row_floats) const;
};

}  // namespace tauto::runner
