#pragma once
// What the tests of reductions share.

#include <chrono>
#include <vector>

#include <tauto/tauto.hpp>

namespace tauto::testing {

inline const std::vector<schedule> every_schedule = {adaptive{}, static_{}, static_chunk{3},
                                                     dynamic{1}, guided{2}, weighted{}};

inline void burn(int nanoseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

inline team_options shared_by(int members) {
    std::vector<int> cpus = select_cpus(read_machine(), "all");
    return {.cpus = cpus, .size = members};
}

}  // namespace tauto::testing
