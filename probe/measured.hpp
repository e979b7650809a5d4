#pragma once
// The measurements of a machine, and their effort.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tauto/machine.hpp>

#include "probe/fork_join.hpp"

namespace tauto::probe {

struct cpu_measurement {
    int cpu = 0;
    // Floating-point operations of sixteen independent chains of multiply and add in double precision, with
    // the instructions that every processor of this architecture has: a speed to compare CPUs by, not a peak.
    double compute_per_second = 0;
    double hash_bytes_per_second = 0;    // FNV-1a of 64 bits, one byte after the other
    double cache_bytes_per_second = 0;   // read from half of the second-level cache
    double memory_bytes_per_second = 0;  // read from an array that the last-level cache cannot hold
    // The largest gap between two readings of the clock in each millisecond: the maximum and the 99th
    // percentile over the milliseconds.
    double noise_largest_gap_seconds = 0;
    double noise_p99_gap_seconds = 0;
    std::optional<double> steal_fraction;  // of the time of the whole measurement; absent: not reported
};

struct triad_point {
    int members = 1;
    double bytes_per_second = 0;  // 24 bytes an element, as in STREAM
};

// Rows of the loop study's matrix that `members` read repeatedly.
struct read_point {
    std::string kind;  // of the core; empty: all cores together
    int members = 1;
    int rows_at_once = 1;      // that one call of the loop's body takes
    std::int64_t bytes = 0;    // that all members read before they start again
    double pause_seconds = 0;  // sum of their pauses meanwhile
    double bytes_per_second = 0;
};

// What one core reads of memory, a line of each of several streams in turn.
struct stream_point {
    int streams = 1;
    std::int64_t spacing_bytes = 0;  // from one stream to the next; 0: there is one
    double bytes_per_second = 0;
};

// Events of a counter for each line that a core reads of memory. Where `sequential` is the less, what is
// prefetched is not counted.
struct counted_lines {
    std::string event;
    double sequential = 0;
    double scattered = 0;
};

struct futex_measurement {
    double waker_seconds = 0;  // the system call, with one sleeper
    double wakee_seconds = 0;  // from before the call until the sleeper runs
};

// What a thread loses that changes from one CPU to another, with so many bytes that it updates again and
// again.
struct move_point {
    int from = 0;
    int to = 0;
    std::int64_t bytes = 0;
    double seconds = 0;
};

struct measurements {
    std::string when;  // ISO 8601, UTC
    std::string effort;
    double elapsed_seconds = 0;
    std::vector<cpu_measurement> cpus;
    std::vector<triad_point> triad;
    std::int64_t triad_array_bytes = 0;  // all three arrays
    std::vector<read_point> reads;
    std::vector<stream_point> streams;   // of the first core
    std::vector<counted_lines> counted;  // by the first core; empty where nothing can be counted
    // One way, from row to column, over the CPUs of `cpus`; absent on the diagonal.
    std::vector<std::vector<std::optional<double>>> latency_seconds;
    std::optional<double> round_trip_seconds;  // between the first two CPUs in order of use
    std::optional<double> barrier_seconds;
    fork_join_costs tautochrone_fork_join;
    fork_join_costs libgomp_fork_join;
    fork_join_costs libomp_fork_join;
    // A member's time to get a chunk of schedule(dynamic) with a microsecond of work, while all members do
    // so.
    std::optional<double> libgomp_dequeue_seconds;
    std::optional<double> libomp_dequeue_seconds;
    int fork_join_members = 0;
    std::optional<futex_measurement> futex_wake;
    std::vector<move_point> moves;
    std::vector<std::string> notes;  // why something is missing
};

// How long each part may take. Parts that grow with the number of CPUs share their budget among them.
struct effort {
    std::string name;
    double speeds_seconds = 0;   // all probes of all CPUs
    double triad_seconds = 0;    // all points, without touching the memory first
    double read_seconds = 0;     // all points of the reads, as above
    double stream_seconds = 0;   // all points; 0: none
    double latency_seconds = 0;  // all pairs
    double noise_seconds = 0;    // every CPU at the same time
    double launch_seconds = 0;   // each of fork/join and barrier
    int wakes = 0;
    int moves = 0;  // each way, of each pair and size
    std::int64_t most_array_bytes = 0;
};

// "brief", "quick" or "full"; throws tauto::error otherwise.
effort effort_named(const std::string& name);

// Called with the current step and the finished share of the whole, from 0 to 1.
using progress_function = std::function<void(const std::string& what, double done)>;

// Measures the allowed CPUs. Throws tauto::error if a thread cannot be pinned or memory is short.
measurements measure(const machine_record& machine, const effort& effort, const progress_function& progress);

}  // namespace tauto::probe
