#include "emulator/witness.hpp"

#include <pthread.h>
#include <sched.h>

namespace tauto::emulate {

std::optional<double> witnessed_share(int cpu, const turns_seen& turns) {
    const pthread_t self = pthread_self();
    cpu_set_t before;
    sched_param usual{};
    int policy = SCHED_OTHER;
    if (pthread_getaffinity_np(self, sizeof before, &before) != 0) return std::nullopt;
    if (pthread_getschedparam(self, &policy, &usual) != 0) return std::nullopt;
    std::optional<double> seen;
    if (take_cpu(cpu, thief_priority - 1) == 0) seen = share_left(turns, monotonic_now);
    pthread_setschedparam(self, policy, &usual);
    pthread_setaffinity_np(self, sizeof before, &before);
    return seen;
}

}  // namespace tauto::emulate
