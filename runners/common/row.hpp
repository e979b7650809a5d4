#pragma once
// The one line of JSON that a loop runner prints.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "runners/common/check.hpp"
#include "runners/common/options.hpp"
#include "runners/common/timing.hpp"
#include "runners/common/work_account.hpp"

namespace tauto::runner {

using json = nlohmann::ordered_json;

/// One product: when it ended on CLOCK_MONOTONIC, and how long it took.
struct loop_time {
    double end_seconds;
    double seconds;
};

json describe(const description& runtime);

json row_of(const description& runtime, const options& asked, const timing& timed,
            const std::vector<worker_rows>& workers, const answer_check& check);

/// Writes [[end_seconds, seconds], …]. Throws input_error if the file cannot be written.
void write_trace(const std::filesystem::path& file, const std::vector<loop_time>& loops);

}  // namespace tauto::runner
