#pragma once
// What every runner is asked on its command line, whatever it measures.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runners/shared/signed.hpp"
#include "runners/shared/timing.hpp"

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
    std::int64_t default_chunk = 1;
    int most_threads = 4096;
    bool has_ranks = false;  ///< its workers are processes, or threads of several
    int ranks = 0;           ///< processes that a launcher has started; 0: none did
    bool has_costs = false;  ///< it runs in virtual time, in which work costs what it is told
};

struct options : timing_limits {
    int threads = 0;
    int threads_per_rank = 1;  ///< of each process, where there are several
    std::vector<int> cpus;     ///< no more than threads; worker i belongs on cpus[i % cpus.size()]
    std::string schedule;
    std::optional<std::int64_t> chunk;  ///< none for a schedule without chunks
    std::string wait = "default";
    bool describe = false;  ///< then nothing else is set

    /// Rows, or tasks, that one worker is given at a time by a schedule with chunks.
    std::size_t chunk_size() const { return usize(chunk.value_or(1)); }

    /// Of `count` rows or tasks: what a worker is given at a time, counted.
    std::size_t pieces_of(std::int64_t count) const {
        return (usize(count) + chunk_size() - 1) / chunk_size();
    }

    /// The CPU of worker `rank`.
    int cpu_of(int rank) const { return cpus[usize(rank) % cpus.size()]; }
};

}  // namespace tauto::runner
