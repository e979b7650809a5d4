#pragma once
// What every runner of the collective study is asked.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runners/shared/options.hpp"

namespace tauto::runner {

enum class collective {
    barrier,
    broadcast,
    all_reduce,
    all_gather,
    reduce_scatter,
    reduce_broadcast,  ///< a reduction to rank 0 and a broadcast from there: what all_reduce may not exceed
    gather_broadcast,  ///< likewise for all_gather
};

std::string_view name_of(collective operation);

/// In which the ranks hold equal parts of the words: their number is rounded up to a multiple of the ranks.
bool has_parts(collective operation);

inline constexpr std::int64_t most_words = std::int64_t{1} << 26;

struct collective_request : options {
    collective_request() {
        warmup_seconds = 0.001;
        min_seconds = 0.01;
    }

    std::vector<collective> operations;
    std::vector<std::int64_t> lengths;  ///< 8-byte words, ascending, each once
    int sweeps = 3;                     ///< visits to each length, in shuffled order
    std::optional<std::int64_t> seed;   ///< of that order; another one in each run if none
    double word_seconds = 0.0;          ///< of an addition of a reduction, in virtual time
};

/// Parses and checks everything that can be known before a runtime starts. The schedules of `runtime` are its
/// engines. Throws input_error. Prints the help text and exits the process with 0 on --help.
collective_request parse_collective(int argc, char** argv, std::string_view executable,
                                    const description& runtime);

}  // namespace tauto::runner
