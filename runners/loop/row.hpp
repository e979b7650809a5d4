#pragma once
// The one line of JSON that a loop runner prints.

#include <string>
#include <vector>

#include "runners/loop/check.hpp"
#include "runners/loop/request.hpp"
#include "runners/loop/waiting.hpp"
#include "runners/shared/row.hpp"
#include "runners/shared/timing.hpp"
#include "runners/shared/work_account.hpp"

namespace tauto::runner {

/// One product: when it ended on CLOCK_MONOTONIC, and how long it took.
struct loop_time {
    double end_seconds;
    double seconds;
};

finished_row loop_row(const description& runtime, const loop_request& asked, const timing& timed,
                      const std::vector<worker_share>& workers, const waiting_account& waiting,
                      const answer_check& check);

/// Writes [[end_seconds, seconds], …]. Throws input_error if the file cannot be written.
void write_loops(const std::string& file, const std::vector<loop_time>& loops);

}  // namespace tauto::runner
