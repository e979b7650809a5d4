#pragma once
// The request: which CPUs to slow, by how much, and when.

#include <sched.h>

#include <string>
#include <vector>

namespace tauto::emulate {

constexpr double largest_factor = 32.0;

// Seconds after the command started.
struct time_window {
    double on_seconds;
    double off_seconds;
};

struct slow_cpu {
    int cpu;
    double factor;                     // 1 … largest_factor
    std::vector<time_window> windows;  // in order, not overlapping; empty: all the time
};

// Reads "CPU:FACTOR[@START-END…][,…]". Throws tauto::error with a message for the user.
std::vector<slow_cpu> parse_slow(const std::string& text);

// Throws tauto::error if a CPU is not on this machine or not in `allowed`.
void check_cpus(const std::vector<slow_cpu>& asked, const cpu_set_t& allowed, int configured_cpus);

// The value of TAUTO_EMULATED, "CPU:FACTOR,…", after `outer`, its previous value. Throws tauto::error if a
// requested CPU is already slowed.
std::string emulated_variable(const std::vector<slow_cpu>& asked, const std::string& outer);

// "0-2,5"
std::string cpu_list(const cpu_set_t& cpus);

}  // namespace tauto::emulate
