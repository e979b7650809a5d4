#pragma once
// Threads that spin while they wait look like threads that work. Runtimes can be told to sleep instead.

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

}  // namespace tauto::balance
