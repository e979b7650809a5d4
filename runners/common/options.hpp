#pragma once
// What every loop runner is asked on its command line.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tauto::runner {

/// What a runtime is and what it can be asked.
struct description {
    std::string runtime;          ///< "openmp", "tbb", …
    std::string library;          ///< "libgomp", …: what is really loaded in this process
    std::string library_version;  ///< empty if the library does not tell
    struct schedule {
        std::string name;
        bool has_chunk;
    };
    std::vector<schedule> schedules;  ///< the first one is the default
    std::vector<std::string> wait_policies{"default"};
    /// Rows. On two equal cores at order 500, dynamic chunks of 1, 4, 16, 32, 64 rows take 43,
    /// 13, 8.2, 7.4, 7.2 microseconds an iteration on libgomp; beyond 32 little is gained and balance is
    /// lost.
    std::int64_t default_chunk = 32;
    int most_threads = 4096;
};

struct options {
    std::int64_t size = 0;
    int threads = 0;
    std::vector<int> cpus;  ///< no more than threads; worker i belongs on cpus[i % cpus.size()]
    std::string schedule;
    std::optional<std::int64_t> chunk;  ///< none for a schedule without chunks
    std::string wait = "default";
    double warmup_seconds = 0.05;
    double min_seconds = 0.1;
    std::optional<std::int64_t> max_iterations;
    std::optional<std::int64_t> solution_iterations;
    std::optional<std::string> trace_file;
    bool describe = false;  ///< then nothing else is set

    /// Rows that one worker is given at a time by a schedule with chunks.
    std::size_t chunk_rows() const { return static_cast<std::size_t>(chunk.value_or(1)); }
};

/// Parses and checks everything that can be known before a runtime starts. Throws input_error. Prints the
/// help text and exits the process with 0 on --help.
options parse_options(int argc, char** argv, std::string_view executable, const description& runtime);

}  // namespace tauto::runner
