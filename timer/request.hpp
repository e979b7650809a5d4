#pragma once
// What the lab asks for, a line of JSON for each request.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "timer/clock.hpp"

namespace tauto::timer {

// A line that is no request; the text says what is wrong with it.
struct protocol_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class output_to { nowhere, memory, file };

struct request {
    std::int64_t number = 0;
    std::vector<std::string> command;
    std::int64_t most_runs = 1;
    std::optional<nanoseconds> window;  // runs are repeated until this has passed
    bool after_failure = false;         // whether a run that failed is followed by more
    std::vector<std::pair<std::string, std::optional<std::string>>> variables;  // no value: is removed
    std::optional<std::string> folder;
    std::vector<unsigned> cpus;  // empty: those of the timer
    int nice = 0;                // a step, as of nice(1)
    std::string input = "/dev/null";
    output_to output = output_to::nowhere;
    std::string output_file;
    nanoseconds time_limit = never;          // of each run
    std::optional<nanoseconds> alive_after;  // how long what a run leaves may take to end; see offspring.hpp
    std::vector<std::string> remove;         // when the input ends meanwhile
};

// Throws protocol_error.
request parse_request(std::string_view line);

}  // namespace tauto::timer
