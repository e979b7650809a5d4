#include "timer/surroundings.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>

#include "timer/clock.hpp"

namespace tauto::timer {

namespace {

constexpr int bridge_steps = 400'000;

double whole_seconds(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

std::optional<double> load() {
    double minute = 0.0;
    return getloadavg(&minute, 1) == 1 ? std::optional(minute) : std::nullopt;
}

std::optional<machine_times> read_machine_times() {
    std::array<char, 256> line{};
    const int file = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    const ssize_t got = read(file, line.data(), line.size() - 1);
    close(file);
    std::array<unsigned long long, 8> ticks{};  // user, nice, system, idle, iowait, irq, softirq, steal
    const int fields =
        got <= 0 ? 0
                 : std::sscanf(line.data(), "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0],
                               &ticks[1], &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
    if (fields != static_cast<int>(ticks.size())) return std::nullopt;
    const auto tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    return machine_times{static_cast<double>(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * tick,
                         static_cast<double>(ticks[7]) * tick};
}

double own_cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return whole_seconds(used.ru_utime) + whole_seconds(used.ru_stime);
}

double bridge() {
    const nanoseconds begun = now();
    volatile std::uint64_t keep = 1;
    std::uint64_t value = keep;
    for (int step = 0; step < bridge_steps; ++step)
        value = value * 6364136223846793005U + 1442695040888963407U;
    keep = value;
    return to_seconds(now() - begun);
}

}  // namespace tauto::timer
