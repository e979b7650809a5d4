#pragma once
// Requests and rows as JSON: one object in, one row out, in the shape of the runners' rows.

#include "machine.hpp"

namespace tauto::sim {

// Runs one request ("study": loop, mapreduce, power, collective, nbody) and returns its row. Throws
// input_error.
json simulate(const machine& on, const json& request);

}  // namespace tauto::sim
