#pragma once
// An emulation that another program holds through standard input.

#include "emulate_emulation.hpp"
#include "emulate_process.hpp"

namespace tauto::emulate {

// Slows the CPUs and says so on standard output; then takes one word a line from standard input (pause,
// resume, report) and answers each with a JSON line once it is in force. The end of the input, or a signal,
// ends it. Returns the exit status; throws leave when the parent is gone.
int hold(const process& self, emulation& all);

}  // namespace tauto::emulate
