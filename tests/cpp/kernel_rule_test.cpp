#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// The rule of the scheduler in the kernel (balance/kernel), which no machine of ours can load: the same text,
// run here.

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
struct tauto_cpu;
tauto_cpu* tauto_cpu_of(u32 number);
void tauto_each_cpu(long (*look)(u32 number, void* into), void* into);
#define tauto_cpu(number) tauto_cpu_of(number)
#include "balance/kernel/rule.h"
#undef tauto_cpu

std::vector<tauto_cpu> cpus;
void tauto_each_cpu(long (*look)(u32 number, void* into), void* into) {
    for (u32 number = 0; number < cpus.size(); ++number) look(number, into);
}
tauto_cpu* tauto_cpu_of(u32 number) {
    return number < cpus.size() ? &cpus[number] : nullptr;
}

// A region of equal shares, one thread a CPU, from the first tick on: ms until the last one ends. A change of
// CPUs costs each thread 30 us; who is alone is taken by a faster CPU with nothing to do.
double region_ms(std::vector<u32> speeds, double share_ms, double tick_ms, bool follows_the_rule) {
    constexpr double step_ms = 0.01;
    constexpr double change_ms = 0.03;
    const std::size_t n = speeds.size();
    std::vector<double> left(n, share_ms);
    std::vector<double> lost(n, 0.0);
    std::vector<std::size_t> on(n);  // thread of each CPU; n: none
    cpus.assign(n, {});
    const auto ns = [](double ms) { return static_cast<u64>(ms * 1e6); };
    const auto runs = [&](std::size_t cpu, double now) {
        cpus[cpu].done = ns(share_ms - left[on[cpu]]);
        cpus[cpu].since = ns(now) + 1;
    };
    for (std::size_t cpu = 0; cpu < n; ++cpu) {
        on[cpu] = cpu;
        cpus[cpu].speed = speeds[cpu];
        runs(cpu, 0.0);
    }
    for (double now = 0.0, tick = tick_ms;; now += step_ms) {
        for (std::size_t cpu = 0; cpu < n; ++cpu) {
            if (on[cpu] == n) continue;
            const double works = std::max(0.0, step_ms - lost[on[cpu]]);
            lost[on[cpu]] = std::max(0.0, lost[on[cpu]] - step_ms);
            left[on[cpu]] -= works * cpus[cpu].speed / TAUTO_FULL_SPEED;
            if (left[on[cpu]] > 0) continue;
            on[cpu] = n;
            cpus[cpu].since = 0;
        }
        if (std::ranges::all_of(left, [](double one) { return one <= 0; })) return now + step_ms;
        if (!follows_the_rule) continue;
        const auto swap = [&](std::size_t here, std::size_t other) {
            std::swap(on[here], on[other]);
            for (const std::size_t cpu : {here, other}) {
                cpus[cpu].since = 0;
                if (on[cpu] == n) continue;
                lost[on[cpu]] += change_ms;
                runs(cpu, now);
            }
        };
        for (std::size_t cpu = 0; cpu < n; ++cpu)
            if (on[cpu] == n)
                if (const u32 slow = tauto_who_is_slowest(static_cast<u32>(cpu))) swap(cpu, slow - 1);
        if (now < tick) continue;
        tick += tick_ms;
        for (std::size_t cpu = 0; cpu < n; ++cpu)
            if (const u32 other = tauto_who_changes(static_cast<u32>(cpu), ns(now))) swap(cpu, other - 1);
    }
}

double bound_ms(const std::vector<u32>& speeds, double share_ms) {
    double all = 0;
    for (const u32 speed : speeds) all += speed;
    return share_ms * static_cast<double>(speeds.size()) * TAUTO_FULL_SPEED / all;
}

}  // namespace

TEST_CASE("who has done least comes to the fastest CPU, and all arrive together") {
    for (const auto& speeds : {std::vector<u32>{1024, 256}, {1024, 1024, 512, 512, 512}, {256, 1024, 512}}) {
        const double bound = bound_ms(speeds, 50);
        CHECK(region_ms(speeds, 50, 1, true) < 1.10 * bound);
        CHECK(region_ms(speeds, 50, 4, true) < 1.25 * bound);
        CHECK(region_ms(speeds, 50, 1, false) > 1.25 * bound);
    }
}

TEST_CASE("on equal CPUs nobody changes") {
    cpus.assign(2, {});
    for (tauto_cpu& cpu : cpus) cpu = {.done = 0, .since = 1, .group = 7, .goes_to = 0, .speed = 1000};
    cpus[0].done = 50'000'000;
    CHECK(tauto_who_changes(0, 2) == 0);
    cpus[1].speed = 970;  // within what CPUs of one kind differ by
    CHECK(tauto_who_changes(0, 2) == 0);
    cpus[1].speed = 500;
    CHECK(tauto_who_changes(0, 2) == 2);
}

TEST_CASE("programs are not held against each other, and who changes already is left alone") {
    cpus.assign(2, {});
    cpus[0] = {.done = 50'000'000, .since = 1, .group = 7, .goes_to = 0, .speed = 1024};
    cpus[1] = {.done = 0, .since = 1, .group = 8, .goes_to = 0, .speed = 256};
    CHECK(tauto_who_changes(0, 2) == 0);
    cpus[1].group = 7;
    CHECK(tauto_who_changes(0, 2) == 2);
    cpus[1].goes_to = 1;
    CHECK(tauto_who_changes(0, 2) == 0);
}

TEST_CASE("waiting is no debt") {
    CHECK(tauto_after_waiting(3, 10) == 10);
    CHECK(tauto_after_waiting(30, 10) == 30);
}

TEST_CASE("a CPU with nothing to do takes from the slowest that works, and never from a faster one") {
    cpus.assign(3, {});
    cpus[0] = {.done = 0, .since = 0, .group = 0, .goes_to = 0, .speed = 512};
    cpus[1] = {.done = 0, .since = 1, .group = 7, .goes_to = 0, .speed = 1024};
    CHECK(tauto_who_is_slowest(0) == 0);
    cpus[2] = {.done = 0, .since = 1, .group = 7, .goes_to = 0, .speed = 256};
    CHECK(tauto_who_is_slowest(0) == 3);
}
