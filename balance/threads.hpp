#pragma once
// The number of threads that suits unequal CPUs, for programs whose threads have equal shares. More threads
// than CPUs where those that wait sleep: with several on the fast CPUs and one on a slow one, all CPUs are
// done at once. Fewer where they spin: a slow CPU would only hold up the others.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "balance/speeds.hpp"

namespace tauto::balance {

// How many threads of equal shares suit CPUs of these speeds (work per second): as many as there are CPUs, or
// up to five times as many. A number is chosen that does well where speeds are not known to better than 15 %.
std::size_t threads_for(std::span<const double> speeds);

// In how much of the time that the fastest CPU alone takes so many threads are done.
double time_of(std::size_t threads, std::span<const double> speeds);

// Sets OMP_NUM_THREADS for a program that is linked with GCC's OpenMP, where a CPU is slow by itself and the
// user has not chosen a number; `NAME=VALUE` of what was set. Shares are computed in the program itself, so
// they can be changed by the number of threads alone.
std::vector<std::string> set_threads(const std::string& program, const speeds& cpus);

// On how many CPUs, the fastest first, a thread with an equal share on each does most: fewer than there are
// only where that is sure, speeds being known to 15 %.
std::size_t spinning_threads_for(std::span<const double> speeds);

// Sets OPENBLAS_NUM_THREADS where a CPU is slow by itself and the user has chosen no number that OpenBLAS
// reads; `NAME=VALUE` of what was set. Its threads spin in memory while they wait for each other's parts of a
// matrix, too often to be moved in between. It may be loaded late, as by Python; other programs do not read
// the variable.
std::vector<std::string> set_openblas_threads(const speeds& cpus);

}  // namespace tauto::balance
