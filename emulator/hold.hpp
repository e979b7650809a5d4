#pragma once
// An emulation that another program controls through standard input.

#include "emulator/emulation.hpp"
#include "launch/process.hpp"

namespace tauto::emulate {

// Slows the CPUs and reports that on standard output. Then reads one word per line from standard input
// (pause, resume, report) and answers each with a JSON line when it is done. The end of the input or a signal
// ends it. While the parent is stopped, the CPUs run at full speed; they stay so until it says resume.
// Returns the exit status; throws leave if the parent has ended.
int hold(const launch::process& self, emulation& all);

}  // namespace tauto::emulate
