#pragma once
// Sets of CPUs as lists of numbers: what this process may use, text, and pinning.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tauto::runner {

/// Environment variable in which a runner that restarts itself on fewer CPUs hands on those that it had.
inline constexpr const char* cpus_before_restart = "TAUTO_RUNNER_CPUS";

/// CPUs that this process was allowed when it started, ascending. A library's start-up code may have pinned
/// the main thread since (libgomp does when OMP_PROC_BIND is set); this is the mask before that.
std::vector<int> cpus_at_start();

/// "0,2-4" to {0, 2, 3, 4}, in the order written. Throws input_error for other text and for a CPU named
/// twice.
std::vector<int> parse_cpus(std::string_view text);

/// {0, 2, 3} to "0,2,3", with separator between the numbers.
std::string cpus_text(std::span<const int> cpus, std::string_view separator = ",");

/// The calling thread, and threads that it starts later, run on these CPUs only. Throws input_error if
/// refused.
void pin_to(std::span<const int> cpus);

/// Pins the calling thread for as long as this exists; then it has the mask that it had before.
class pinned_for_now {
  public:
    explicit pinned_for_now(std::span<const int> cpus);
    ~pinned_for_now();
    pinned_for_now(const pinned_for_now&) = delete;
    pinned_for_now& operator=(const pinned_for_now&) = delete;

  private:
    std::vector<int> before_;
};

}  // namespace tauto::runner
