#pragma once
// How fast each CPU is, and how much of it others leave.

#include <cstddef>
#include <vector>

#include "timer/clock.hpp"

namespace tauto::balance {

using timer::nanoseconds;

// Work a second of CPU time, the fastest being 1; and the share of the time that a thread gets there.
struct cpu_speed {
    int cpu = 0;
    double pace = 1.0;
    double share = 1.0;
    double blocks = 0;  // of the probe in a ns of CPU time; 0: not known
};

// Runs on all of these CPUs at once: for 5 ms where it finds them equal and the kernel says so, too; else for
// some 10 ms, and up to 40 ms where they are unequal and the last 10 ms do not agree.
std::vector<cpu_speed> probe(const std::vector<int>& cpus);

// The same, kept up to date from what threads get.
class speeds {
  public:
    explicit speeds(std::vector<cpu_speed> probed);

    std::size_t size() const { return now_.size(); }
    // The place of a CPU in the list; size() if it is not one of them.
    std::size_t index_of(int cpu) const;
    std::vector<int> all_cpus() const;
    const cpu_speed& operator[](std::size_t index) const { return now_[index]; }
    // As the probe found it.
    const cpu_speed& at_start(std::size_t index) const { return probed_[index]; }
    // Work a second of each CPU.
    const std::vector<double>& per_second() const { return per_second_; }
    // Work a second that a CPU usually does: as the probe found it, until threads got something else for a
    // while.
    double usual(std::size_t index) const;
    // Of the `count` fastest together.
    double of_the_fastest(std::size_t count) const;
    // The CPUs that are as fast as the fastest.
    std::vector<int> fastest() const;
    // Of `count` of these at most.
    double of_those_like_the_fastest(std::size_t count) const;
    bool all_equal() const;
    // Whether one has another pace. What a neighbour takes of a CPU may be over soon.
    bool one_is_slow_by_itself() const;

    // Of the last `span`, threads wanted a CPU for `wanted` and had it for `had`.
    void note(std::size_t index, nanoseconds span, nanoseconds wanted, nanoseconds had);
    // A sample of its pace, in blocks of the probe in a ns of CPU time.
    // True where it shows, with the sample before, that the pace has changed much.
    bool note_pace(std::size_t index, double blocks);

  private:
    std::vector<cpu_speed> probed_;
    std::vector<cpu_speed> now_;
    std::vector<double> usual_;  // the share that a CPU is thought to have while nobody wants it
    std::vector<double> per_second_;
    std::vector<double> unconfirmed_;  // the last sample, where it showed another pace than is known; else 0
};

}  // namespace tauto::balance
