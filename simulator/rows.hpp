#pragma once
// Requests and rows as JSON: one object in, one row out, in the shape of the runners' rows.

#include <iosfwd>
#include <optional>
#include <string>

#include "machine.hpp"

namespace tauto::sim {

// Runs one request ("study": loop, mapreduce, power, collective, nbody, balance) and returns its row. Throws
// input_error.
json simulate(const machine& on, const json& request);

// The JSON value in `text`. Throws input_error, which calls it `what`, for other text and for one nested too
// deeply.
json read_json(const std::string& text, const std::string& what);

// Answers each line of `requests` with a row. A line {"machine": {…}} changes the machine `on`. Throws
// input_error.
void answer(std::istream& requests, std::ostream& rows, std::optional<machine> on = {});

}  // namespace tauto::sim
