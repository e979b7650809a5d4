#pragma once
// The library that tells the balancer which threads wait: named to a command, where that can load it.

#include <sched.h>

#include <string>
#include <string_view>

#include "balance/page.hpp"

namespace tauto::balance {

struct preloaded {
    page* marks = nullptr;  // where the library writes; null: the command runs without it
    std::string reason;     // why it does
};

// Makes the page, and names it and the library to programs that are started from here on. What the user
// preloads is kept. `program`: the path of the command; `given`: its CPUs.
preloaded preload_marks(const std::string& program, const cpu_set_t& given);

// Whether a program is linked with a library whose file begins so; false for a script.
bool needs_library(const std::string& program, std::string_view name);

// Why the system's linker would not load the library into this program; empty if it would.
std::string why_not_preloaded(const std::string& program);

}  // namespace tauto::balance
