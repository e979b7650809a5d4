// A program of a few milliseconds for benchmarks/hyperfine.py: it counts, and tells what it took by its own
// clock.
//
//     tauto-bench-spin STEPS DRIFT PERIOD [FILE]
//
// The machine is made to drift: STEPS grow and shrink by DRIFT (0.03: 3 %) within PERIOD seconds, by the same
// clock for all programs. Appended to FILE: when it began and when it ended, in nanoseconds of the monotonic
// clock. It has ended once nothing is left to do but to write this line: a file is opened within its time.
#include <fcntl.h>
#include <unistd.h>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {
std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}
}  // namespace

int main(int count, char** words) {
    const auto begun = now();
    if (count < 4) {
        std::fputs("tauto-bench-spin takes STEPS DRIFT PERIOD [FILE]\n", stderr);
        return 2;
    }
    const double drift = std::atof(words[2]), period = std::atof(words[3]);
    const double phase = std::fmod(double(begun) * 1e-9, period) / period;
    const auto steps = std::int64_t(std::atof(words[1]) * (1 + drift * (1 - std::abs(2 * phase - 1))));
    std::uint64_t state = 1;
    for (std::int64_t step = 0; step < steps; ++step) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        asm volatile("" : "+r"(state));
    }
    if (count > 4) {
        char line[64];
        const auto printed = [&line](std::int64_t from, std::int64_t to) {
            return std::snprintf(line, sizeof line, "%lld %lld\n", (long long)from, (long long)to);
        };
        const int file = open(words[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        printed(begun, begun);  // what is slow the first time is done
        const int length = printed(begun, now());
        if (file < 0 || write(file, line, std::size_t(length)) != length) return 1;
    }
    return 0;
}
