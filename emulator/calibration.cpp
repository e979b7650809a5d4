#include "emulator/calibration.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "emulator/witness.hpp"

namespace tauto::emulate {

namespace {

constexpr nanoseconds window_alone = 30'000'000;
constexpr nanoseconds window_with_thief = 50'000'000;
constexpr int looks_of_a_witness = 5;
constexpr int turns_a_look = 20;
constexpr double most_excess = 500.0;  // nanoseconds of a turn; medians of 230 to 460 were seen
constexpr nanoseconds shortest_foreign = 500'000;
constexpr nanoseconds most_patience = 4;  // times the window
constexpr int samples_to_adjust = 3;
constexpr int samples_to_verify = 5;
// Reads scatter more, because others use the last-level cache too: many short samples.
constexpr int samples_of_reading = 9;
constexpr nanoseconds reading_alone = 10'000'000;
constexpr nanoseconds reading_with_thief = 20'000'000;
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

// Blocks of fixed work per second; block() does one. A thief never stops the probe for `foreign` or longer.
// Another program does (its time slice is 3 ms); that time is not counted.
template <class Block>
double probe_rate(nanoseconds window, nanoseconds foreign, Block&& block) {
    std::int64_t blocks = 0;
    nanoseconds others = 0;
    const nanoseconds began = monotonic_now();
    nanoseconds now = began;
    while (now - began - others < window && now - began < most_patience * window) {
        block();
        ++blocks;
        const nanoseconds before = now;
        now = monotonic_now();
        if (now - before >= foreign) others += now - before;
    }
    return static_cast<double>(blocks) / static_cast<double>(std::max<nanoseconds>(now - began - others, 1)) *
           1e9;
}

// A chain of dependent multiplications without memory access.
void multiply() {
    volatile std::uint64_t keep = 1;
    std::uint64_t value = keep;
    for (int i = 0; i < 200; ++i) value = value * 6364136223846793005U + 1442695040888963407U;
    keep = value;
}

// Reads a set again and again that the L2 cache cannot hold, a number of each line: as fast as the lines
// come.
class line_reader {
  public:
    line_reader() : lines_(set_bytes() / sizeof(line)) {}
    void operator()() {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < lines_a_block; ++i) sum += lines_[at_ + i].number;
        volatile std::uint64_t keep = sum;
        static_cast<void>(keep);
        at_ = at_ + 2 * lines_a_block <= lines_.size() ? at_ + lines_a_block : 0;
    }

  private:
    struct line {
        alignas(64) std::uint64_t number = 0;
    };
    static constexpr std::size_t lines_a_block = 256;
    static std::size_t set_bytes() {
        const long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
        return 4 * std::clamp<std::size_t>(l2 > 0 ? static_cast<std::size_t>(l2) : 0, 512 << 10, 4 << 20);
    }

    std::vector<line> lines_;
    std::size_t at_ = 0;
};

nanoseconds foreign_from(nanoseconds period) {
    return std::max(shortest_foreign, 4 * period);
}

// The probe and a witness take turns, because the cost of a turn changes meanwhile.
sample take_sample(thief& idle_thief, nanoseconds period) {
    const nanoseconds foreign = foreign_from(period);
    const double alone = probe_rate(window_alone, foreign, multiply);
    std::vector<double> rates;
    std::vector<double> excess;
    idle_thief.start();
    for (int i = 0; i < looks_of_a_witness; ++i) {
        rates.push_back(probe_rate(window_with_thief / looks_of_a_witness, foreign, multiply));
        const double share = rates.back() / alone;
        const auto witnessed = witnessed_share(sched_getcpu(), {period, share, turns_a_look});
        if (witnessed) excess.push_back(*witnessed - share);
    }
    idle_thief.stop();
    const double slowed =
        std::accumulate(rates.begin(), rates.end(), 0.0) / static_cast<double>(rates.size());
    sample found = judge(idle_thief.tally(), alone, slowed);
    if (!excess.empty())
        found.witness_excess =
            std::clamp(median(std::move(excess)) * found.turn_nanoseconds, 0.0, most_excess);
    return found;
}

std::vector<sample> take_samples(thief& idle_thief, nanoseconds period, int count) {
    std::vector<sample> samples;
    for (int i = 0; i < count; ++i) samples.push_back(take_sample(idle_thief, period));
    return samples;
}

// How many times slower reads are with the thief as it is configured.
double reading_factor(thief& idle_thief, nanoseconds period) {
    const nanoseconds foreign = foreign_from(period);
    line_reader read;
    std::vector<double> factors;
    for (int i = 0; i < samples_of_reading; ++i) {
        const double alone = probe_rate(reading_alone, foreign, read);
        idle_thief.start();
        const double slowed = probe_rate(reading_with_thief, foreign, read);
        idle_thief.stop();
        factors.push_back(alone / slowed);
    }
    return median(factors);
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
    found.turn_nanoseconds = median_of(samples, &sample::turn_nanoseconds);
    found.busy_fraction = median_of(samples, &sample::busy_fraction);
    std::vector<double> excess;
    for (const sample& one : samples)
        if (one.witness_excess) excess.push_back(*one.witness_excess);
    if (!excess.empty()) found.witness_excess = median(std::move(excess));
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
            tally.turn_nanoseconds(), tally.busy_fraction()};
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
    if (found.met) found.reading_factor = reading_factor(idle_thief, found.period);
    return found;
}

}  // namespace tauto::emulate
