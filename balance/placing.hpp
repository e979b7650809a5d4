#pragma once
// The rule: who has done least gets the fastest CPU.

#include <cstddef>
#include <span>
#include <vector>

namespace tauto::balance {

// A thread that has work.
struct worker {
    double done;      // seconds of work on a CPU of speed 1
    std::size_t cpu;  // where it is, as an index of the speeds
    bool fixed = false;
};

// For each worker the CPU that it should have. `speeds`: work per second of each CPU. Each CPU gets a worker
// before one gets two, the fastest first, and what is left goes where a worker then gets most. A worker
// leaves a CPU for a faster one only where the one there has done more by over `tolerance`. Fixed workers
// stay.
std::vector<std::size_t> place(std::span<const worker> workers, std::span<const double> speeds,
                               double tolerance);

// In how many seconds one may have done more than another on a slower CPU by over `tolerance`, if all stay
// where they are and each has its CPU for itself; infinity if that is never.
double until_a_change(std::span<const worker> workers, std::span<const double> speeds, double tolerance);

// CPUs whose speeds differ by less are equal.
constexpr double same_speed = 1.06;

// How far two may drift apart before they change CPUs, if each has `stretch` to do until both wait for each
// other: with one change, or three, they then arrive together.
double tolerance_for(double stretch, double fast, double slow);

}  // namespace tauto::balance
