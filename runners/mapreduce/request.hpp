#pragma once
// What every runner of the mapreduce study is asked.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runners/shared/options.hpp"

namespace tauto::runner {

struct mapreduce_request : options {
    std::int64_t tasks = 50;
    std::int64_t bytes = 400'000;  ///< of one task
    std::optional<std::string> trace_file;
};

/// Parses and checks everything that can be known before a runtime starts. Throws input_error. Prints the
/// help text and exits the process with 0 on --help.
mapreduce_request parse_mapreduce(int argc, char** argv, std::string_view executable,
                                  const description& runtime);

}  // namespace tauto::runner
