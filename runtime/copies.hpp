#pragma once
// Other copies of this library in the process: plugins, each linked with it, share no variable, but pin the
// same threads. Each copy names a function in an ELF note, which the others find without any symbol being
// visible.

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <vector>

namespace tauto::detail {

// Without allocation: pins are given back where nothing may be thrown. Linux knows at most 8,192 CPUs.
using plain_mask = std::array<unsigned long, 8192 / (8 * sizeof(unsigned long))>;

void set_cpu(plain_mask& mask, int cpu) noexcept;
void set_cpus(plain_mask& mask, const std::vector<int>& cpus) noexcept;
[[nodiscard]] std::vector<int> cpus_of(const plain_mask& mask);
// As cpu_mask::confine.
int confine(pid_t thread, const plain_mask& mask) noexcept;

// What one copy knows of a thread. Between copies of different versions: only appended to.
struct pin_elsewhere {
    int cpu = -1;         // where a team has pinned it; -1: nowhere
    plain_mask before{};  // where it was pinned: the CPUs that it had before its first team
    plain_mask free{};    // those that it would have if no thread had been pinned
    bool known = false;
    const void* who = nullptr;  // the copy: symbols that are visible to all may make two of them one
};

// What the other copies know of a thread, which has this CPU alone (-1: several). Asked without any lock of
// forks.hpp, because each copy takes its own to answer.
[[nodiscard]] pin_elsewhere ask_other_copies(pid_t thread, int only_cpu) noexcept;

// In a variable of the program or of a library, as an object is that lives until exit() or dlclose().
[[nodiscard]] bool is_static(const void* object) noexcept;

// This copy's answer (pinning.cpp).
void answer_other_copy(pid_t thread, int only_cpu, pin_elsewhere& answer) noexcept;

}  // namespace tauto::detail
