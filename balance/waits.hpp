#pragma once
// Threads that spin while they wait look like threads that work. Runtimes can be told to sleep instead. On
// equal CPUs they are not: there to wake somebody up in each short loop costs many times the loop.

#include <string>
#include <vector>

namespace tauto::balance {

struct wait_setting {
    const char* variable;
    const char* value;
    const char* what;
};

const std::vector<wait_setting>& wait_settings();

// Sets those that the user has not set. Returns them, as VARIABLE=VALUE.
std::vector<std::string> set_waits();

// Whether the user leaves it to us how long threads of LLVM's OpenMP spin. To be asked before these are set.
bool may_spin_in_openmp();

}  // namespace tauto::balance
