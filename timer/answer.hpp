#pragma once
// What the lab is told of a request, one line of JSON.

#include <sys/resource.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "timer/output.hpp"

namespace tauto::timer {

// What one run or several have used; the memory is the most of one process.
struct usage {
    double user_seconds = 0.0;
    double system_seconds = 0.0;
    std::int64_t max_rss_bytes = 0;
    std::int64_t minor_faults = 0;
    std::int64_t major_faults = 0;
    std::int64_t voluntary_switches = 0;
    std::int64_t involuntary_switches = 0;

    void add(const rusage& more);
};

struct answer {
    std::int64_t number = 0;
    std::vector<double> elapsed;  // seconds
    std::vector<int> exit_codes;  // minus the signal
    usage used;
    const char* stopped_for = nullptr;  // "timeout" or "cancelled"
    int start_error = 0;                // errno
    const char* start_error_of = nullptr;
    bool reads_terminal = false;
    std::set<std::string> left_running;
    std::optional<printed> output;  // of the last run
    bool outputs_differ = false;
    std::string errors;  // the end of what the last run wrote to standard error
    std::optional<double> load_before;
    std::optional<double> others_cpu_seconds;
    std::optional<double> steal_seconds;
    double bridge_seconds = 0.0;
    std::map<std::string, std::optional<double>> counters;  // sums of all runs
    const char* counters_scope = nullptr;
    std::string counters_reason;  // why some are not known
};

// With its line end.
std::string to_line(const answer& said);

// The line of a protocol_error.
std::string to_error_line(const std::string& text);

}  // namespace tauto::timer
