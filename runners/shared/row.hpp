#pragma once
// The one line of JSON that a runner prints, as far as it is the same in every study.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runners/shared/options.hpp"
#include "runners/shared/process_usage.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::runner {

using json = nlohmann::ordered_json;

/// What --describe prints.
json describe(const description& runtime);

/// What was asked, what is loaded, and the times. The study adds its own fields.
json row_of(const description& runtime, const options& asked, const timing& timed);

/// What the kernel counted in the timed part: load of the CPUs, and context switches an iteration.
json usage_json(const options& asked, const timing& timed, const process_usage& usage);

/// Writes `content` to a file that the user asked for. Throws input_error if it cannot be written.
void write_trace_file(const std::string& file, const std::string& content);

}  // namespace tauto::runner
