#pragma once
// Where CPUs are calibrated: a process of its own, out of the way of other programs.

#include <string>
#include <vector>

#include "emulate_calibration.hpp"
#include "emulate_process.hpp"
#include "emulate_request.hpp"

namespace tauto::emulate {

// Calibrates all CPUs at once, each with its own thief and probe, and waits for it. A signal to leave ends
// the emulator meanwhile. Throws tauto::error without the right to SCHED_FIFO. Results stand in the order of
// `asked`.
//
// A nice value counts only within a scheduling autogroup, and every session is one: beside a compiler in
// another session a probe of nice -20 got 65 % of its CPU. So the probes get a session and its autogroup the
// nice value.
std::vector<calibration> calibrate_apart(const std::vector<slow_cpu>& asked, nanoseconds period,
                                         const process& self);

// What is said where the system refuses a thief: why, and what to do.
std::string explain_refusal(int reason, int cpu);

}  // namespace tauto::emulate
