#pragma once
// The one line of JSON that a runner prints, as far as it is the same in every study.

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runners/shared/options.hpp"
#include "runners/shared/process_usage.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::runner {

/// Incomplete here: compiling it takes longer than all else in a runner, which only passes its row on.
using json = nlohmann::ordered_json;
using finished_row = std::shared_ptr<json>;

/// What --describe prints.
void print_description(const description& runtime);

/// One line on standard output.
void print_row(const json& row);

/// Adds or corrects a field.
void set_field(json& row, const char* key,
               const std::variant<bool, std::int64_t, double, std::string, std::vector<double>>& value);

/// What was asked, what is loaded, and the times. The study adds its own fields.
json row_of(const description& runtime, const options& asked, const timing& timed);

/// What the kernel counted in the timed part: load of the CPUs, and context switches an iteration.
json usage_json(const options& asked, const timing& timed, const process_usage& usage);

/// Writes `content` to a file that the user asked for, through no link of another user's. Throws input_error,
/// which says `what` it should have been, if it cannot be written.
void write_file(std::string_view what, const std::string& file, std::string_view content);

}  // namespace tauto::runner
