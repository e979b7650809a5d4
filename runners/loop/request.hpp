#pragma once
// What every runner of the loop study is asked.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/kernel.hpp"
#include "runners/shared/options.hpp"

namespace tauto::runner {

struct loop_request : options {
    std::int64_t size = 0;
    std::optional<std::int64_t> solution_iterations;
    std::optional<std::string> trace_file;
    kernel computes = kernel::tuned;
    /// How long work and waiting are accounted for; at least one solve.
    double account_seconds = 0.0;
};

/// Rows. On two equal cores at order 500, dynamic chunks of 1, 4, 16, 32, 64 rows take 43, 13, 8.2, 7.4, 7.2
/// microseconds an iteration on libgomp; beyond 32 little is gained and balance is lost.
inline constexpr std::int64_t default_chunk_rows = 32;

std::string_view name_of(kernel chosen) noexcept;

/// Parses and checks everything that can be known before a runtime starts. Throws input_error. Prints the
/// help text and exits the process with 0 on --help.
loop_request parse_loop(int argc, char** argv, std::string_view executable, const description& runtime);

/// Throws input_error unless a system of `order` unknowns fits: asked, there, and the largest size that fits.
void require_memory_for(double order);

}  // namespace tauto::runner
