#pragma once
// More threads than CPUs, for programs whose threads have equal shares of each loop: with several on the fast
// CPUs and one on a slow one, all CPUs are done at once.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "balance/speeds.hpp"

namespace tauto::balance {

// How many threads of equal shares suit CPUs of these speeds (work per second): as many as there are CPUs, or
// up to four times as many. A number is chosen that does well where speeds are not known to better than 15 %.
std::size_t threads_for(std::span<const double> speeds);

// In how much of the time that the fastest CPU alone takes so many threads are done.
double time_of(std::size_t threads, std::span<const double> speeds);

// Sets OMP_NUM_THREADS for a program that is linked with GCC's OpenMP, where a CPU is slow by itself and the
// user has not chosen a number; `NAME=VALUE` of what was set. Shares are computed in the program itself, so
// they can be changed by the number of threads alone.
std::vector<std::string> set_threads(const std::string& program, const speeds& cpus);

}  // namespace tauto::balance
