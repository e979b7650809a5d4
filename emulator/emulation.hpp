#pragma once
// All slowed CPUs together.

#include <poll.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "emulate_process.hpp"
#include "emulate_request.hpp"
#include "emulate_slowdown.hpp"

namespace tauto::emulate {

constexpr nanoseconds check_every = 500'000'000;

class emulation {
  public:
    // Claims the CPUs. `period`: the shortest turn, 0: choose. Throws tauto::error when another emulator has
    // one.
    emulation(const std::vector<slow_cpu>& asked, nanoseconds period);

    // All CPUs at once, each by a thread of its own. Throws tauto::error when a factor cannot be met. A
    // signal to leave ends the process.
    void calibrate(const process& self);

    std::deque<slowdown>& cpus() { return slowdowns_; }
    // Slows the CPUs that have no time windows.
    void on();
    void off();
    void release();
    void check();

    // Schema "tautochrone.emulation/1".
    nlohmann::json report() const;

  private:
    nanoseconds period_;
    std::deque<slowdown> slowdowns_;
    double calibration_seconds_ = 0.0;
};

// Waits for input on a file, at most until `deadline`.
void wait_until(nanoseconds deadline, pollfd* files, nfds_t count);

}  // namespace tauto::emulate
