#pragma once
// All slowed CPUs together.

#include <poll.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "emulator/request.hpp"
#include "emulator/slowdown.hpp"
#include "launch/process.hpp"

namespace tauto::emulate {

// So often a witness looks at each slow CPU.
constexpr nanoseconds check_every = 100'000'000;

class emulation {
  public:
    // Claims the CPUs. `period`: the shortest turn, 0: choose. Throws tauto::error if another emulator has
    // one.
    emulation(const std::vector<slow_cpu>& asked, nanoseconds period);

    // Calibrates all CPUs at once, each with its own thread. Throws tauto::error if a factor cannot be
    // reached. A signal to end ends the process.
    void calibrate(const launch::process& self);

    std::deque<slowdown>& cpus() { return slowdowns_; }
    // Slows the CPUs without time windows.
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
