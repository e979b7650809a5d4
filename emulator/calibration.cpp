#include "emulator/calibration.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace tauto::emulate {

namespace {

constexpr nanoseconds window_alone = 30'000'000;
constexpr nanoseconds window_with_thief = 50'000'000;
constexpr nanoseconds shortest_foreign = 500'000;
constexpr nanoseconds most_patience = 4;  // times the window
constexpr int samples_to_adjust = 3;
constexpr int samples_to_verify = 5;
constexpr double good_enough = 0.02;      // no further adjustment below this error
constexpr double first_guess = 10'000.0;  // overhead in nanoseconds; 11 600 ± 200 in a KVM guest
// Nanoseconds of a turn that others should get. The overhead drifts by half a microsecond within seconds on a
// shared host: 4 % of 12 µs, but 8 % of the 6 µs that factor 8 leaves of a 50 µs turn (8.7 was measured
// there).
constexpr double least_free = 12'000.0;
constexpr double throttling_margin = 0.02;
// If the host stops at the wrong moment, a factor seems out of reach. A miss is therefore measured again,
// unless turns are far too long.
constexpr int looks = 3;
constexpr double hopeless_turn = 1.25;                 // of the longest allowed
constexpr nanoseconds default_longest_turn = 110'000;  // 100 µs, and a tenth for a late timer

void become_probe(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<unsigned>(cpu), &cpus);
    pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    // Gets priority over other programs if that is allowed; on Linux this sets the nice value of the calling
    // thread.
    setpriority(PRIO_PROCESS, 0, -20);
}

// Blocks of fixed work per second: a chain of dependent multiplications without memory access. A thief never
// stops the probe for `foreign` or longer. Another program does (its time slice is 3 ms); that time is not
// counted.
double probe_rate(nanoseconds window, nanoseconds foreign) {
    volatile std::uint64_t keep = 1;
    std::uint64_t value = keep;
    std::int64_t blocks = 0;
    nanoseconds others = 0;
    const nanoseconds began = monotonic_now();
    nanoseconds now = began;
    while (now - began - others < window && now - began < most_patience * window) {
        for (int i = 0; i < 200; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
        ++blocks;
        const nanoseconds before = now;
        now = monotonic_now();
        if (now - before >= foreign) others += now - before;
    }
    keep = value;
    return static_cast<double>(blocks) / static_cast<double>(std::max<nanoseconds>(now - began - others, 1)) *
           1e9;
}

sample take_sample(thief& idle_thief, nanoseconds period) {
    const nanoseconds foreign = std::max(shortest_foreign, 4 * period);
    const double alone = probe_rate(window_alone, foreign);
    idle_thief.start();
    const double slowed = probe_rate(window_with_thief, foreign);
    idle_thief.stop();
    return judge(idle_thief.tally(), alone, slowed);
}

std::vector<sample> take_samples(thief& idle_thief, nanoseconds period, int count) {
    std::vector<sample> samples;
    for (int i = 0; i < count; ++i) samples.push_back(take_sample(idle_thief, period));
    return samples;
}

double median_of(const std::vector<sample>& samples, double sample::*what) {
    std::vector<double> values;
    for (const sample& one : samples) values.push_back(one.*what);
    return median(std::move(values));
}

calibration summary(const std::vector<sample>& samples, const thief_settings& settings, nanoseconds longest) {
    calibration found;
    found.factor = median_of(samples, &sample::factor);
    found.overhead_nanoseconds = settings.overhead_nanoseconds;
    found.kernel_nanoseconds = median_of(samples, &sample::kernel_nanoseconds);
    found.turn_nanoseconds = median_of(samples, &sample::turn_nanoseconds);
    found.busy_fraction = median_of(samples, &sample::busy_fraction);
    found.period = settings.period;
    found.met = std::abs(found.factor / settings.factor - 1.0) <= factor_tolerance &&
                found.turn_nanoseconds <= static_cast<double>(longest) &&
                found.busy_fraction <= largest_busy_fraction() - throttling_margin;
    return found;
}

// The overhead hardly depends on the gap, so using the observed value converges at once.
calibration calibrate_period(thief& idle_thief, thief_settings settings, nanoseconds longest, int attempts) {
    const auto learn = [&](const std::vector<sample>& seen) {
        settings.overhead_nanoseconds = std::max(0.0, median_of(seen, &sample::overhead_nanoseconds));
        idle_thief.configure(settings);
    };
    idle_thief.configure(settings);
    for (int round = 0; round < 2; ++round)
        learn(take_samples(idle_thief, settings.period, samples_to_adjust));
    calibration found;
    for (int attempt = 0; attempt < attempts; ++attempt) {
        if (attempt >= 2 && found.met) break;
        const std::vector<sample> seen = take_samples(idle_thief, settings.period, samples_to_verify);
        const calibration verified = summary(seen, settings, longest);
        if (verified.turn_nanoseconds > static_cast<double>(longest)) return verified;
        const double miss = std::abs(verified.factor / settings.factor - 1.0);
        if (attempt == 0 || miss < std::abs(found.factor / settings.factor - 1.0)) found = verified;
        if (miss <= good_enough) break;
        learn(seen);
    }
    settings.overhead_nanoseconds = found.overhead_nanoseconds;
    idle_thief.configure(settings);
    return found;
}

// The first period that reaches the factor, else the closest.
calibration calibrate_periods(thief& idle_thief, double factor, nanoseconds asked_period,
                              nanoseconds longest) {
    calibration nearest;
    double overhead = first_guess;
    const std::vector<nanoseconds> periods = periods_to_try(factor, asked_period);
    for (const nanoseconds period : periods) {
        // A busy machine may need several measurements: two as a rule, more if no other period is left to
        // try.
        const int attempts = period == periods.back() ? 6 : 2;
        const calibration found = calibrate_period(idle_thief, {period, factor, overhead}, longest, attempts);
        const bool nearer = std::abs(found.factor - factor) < std::abs(nearest.factor - factor);
        if (found.met || nearer || nearest.period == 0) nearest = found;
        // A longer period reduces only the scatter.
        if (found.met || found.turn_nanoseconds > static_cast<double>(longest)) break;
        overhead = found.overhead_nanoseconds;
    }
    return nearest;
}

}  // namespace

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

sample judge(const thief_tally& tally, double rate_alone, double rate_with_thief) {
    const double turns = static_cast<double>(std::max<std::int64_t>(tally.turns, 1));
    const double free = static_cast<double>(tally.wall) * rate_with_thief / rate_alone;
    return {rate_alone / rate_with_thief, (static_cast<double>(tally.gaps) - free) / turns,
            static_cast<double>(tally.processor - tally.spun) / turns, tally.turn_nanoseconds(),
            tally.busy_fraction()};
}

std::vector<nanoseconds> periods_to_try(double factor, nanoseconds asked) {
    if (asked > 0) return {asked};
    std::vector<nanoseconds> periods;
    for (const nanoseconds period : {50'000, 64'000, 80'000})
        if (static_cast<double>(period) / factor >= least_free) periods.push_back(period);
    periods.push_back(100'000);
    return periods;
}

nanoseconds longest_turn(nanoseconds asked_period) {
    return std::max(default_longest_turn, asked_period + asked_period / 10);
}

double largest_busy_fraction() {
    double runtime = -1.0;
    double period = 1'000'000.0;
    std::ifstream("/proc/sys/kernel/sched_rt_runtime_us") >> runtime;
    std::ifstream("/proc/sys/kernel/sched_rt_period_us") >> period;
    return runtime < 0.0 ? 1.0 : runtime / period;
}

calibration calibrate(thief& idle_thief, int cpu, double factor, nanoseconds asked_period) {
    become_probe(cpu);
    const nanoseconds longest = longest_turn(asked_period);
    calibration found;
    for (int look = 0; look < looks; ++look) {
        found = calibrate_periods(idle_thief, factor, asked_period, longest);
        if (found.met || found.turn_nanoseconds > hopeless_turn * static_cast<double>(longest)) break;
    }
    return found;
}

}  // namespace tauto::emulate
