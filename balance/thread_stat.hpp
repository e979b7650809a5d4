#pragma once
// What /proc/PID/task/TID/stat says of a thread.

#include <cstdlib>
#include <optional>
#include <string_view>

namespace tauto::balance {

struct thread_stat {
    char state;  // 'R' while it runs or waits for a CPU
    int cpu;     // where it ran last
};

// `text`: the file's, with a null behind it. Empty where it is cut, or the thread has ended.
inline std::optional<thread_stat> read_stat(std::string_view text) noexcept {
    constexpr int fields_between = 36;              // from the state to the CPU
    const std::size_t name_end = text.rfind(") ");  // the name may itself have brackets
    if (name_end == text.npos || name_end + 2 >= text.size()) return {};
    const char state = text[name_end + 2];
    if (state == 'Z' || state == 'X') return {};
    std::size_t at = name_end + 2;
    for (int field = 0; field < fields_between && at != text.npos; ++field) at = text.find(' ', at + 1);
    if (at == text.npos) return {};
    return thread_stat{state, std::atoi(text.data() + at + 1)};
}

}  // namespace tauto::balance
