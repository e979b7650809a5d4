#pragma once
// Calibrates CPUs in a separate process, with priority over other programs.

#include <string>
#include <vector>

#include "emulator/calibration.hpp"
#include "emulator/request.hpp"
#include "launch/process.hpp"

namespace tauto::emulate {

// Calibrates all CPUs at once, each with its own thief and probe, and waits for the results, which are in the
// order of `asked`. A signal to end ends the emulator meanwhile. Throws tauto::error without permission for
// SCHED_FIFO.
//
// A nice value counts only within a scheduling autogroup, and every session has its own. Next to a compiler
// in another session, a probe with nice -20 got 65 % of its CPU. Therefore the probes get a session, and the
// nice value is set for its autogroup.
std::vector<calibration> calibrate_apart(const std::vector<slow_cpu>& asked, nanoseconds period,
                                         const launch::process& self);

// The message if the system refuses a thief: the reason and the remedy.
std::string explain_refusal(int reason, int cpu);

}  // namespace tauto::emulate
