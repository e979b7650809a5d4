#pragma once
// Where in its code a thread is, now and then.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "timer/clock.hpp"

namespace tauto::balance {

using timer::nanoseconds;

struct sample {
    nanoseconds at;
    std::uint64_t address;  // of the instruction
    int cpu;
};

class samples {
  public:
    virtual ~samples() = default;
    // Adds those since the last call.
    virtual void read(std::vector<sample>& into) = 0;
};

// One each time that the thread has run for `period` more. Null where the system refuses that.
std::unique_ptr<samples> sample_thread(pid_t thread, nanoseconds period);

}  // namespace tauto::balance
