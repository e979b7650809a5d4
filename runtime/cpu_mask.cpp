#include "cpu_mask.hpp"

#include <cerrno>

namespace tauto::detail {

int cpu_mask::confine(pid_t thread) const noexcept {
    if (empty()) return EINVAL;
    return sched_setaffinity(thread, bytes(), set()) == 0 ? 0 : errno;
}

}  // namespace tauto::detail
