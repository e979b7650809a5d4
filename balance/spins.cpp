#include "balance/spins.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tauto::balance {

namespace {

constexpr double is_fast = 0.9;  // of the fastest CPU
constexpr double is_slow = 0.75;
constexpr std::size_t fewest_fast = 100;  // samples of a program
constexpr std::size_t fewest_slow = 80;
constexpr double least_slow = 0.03;       // of the samples on fast CPUs, for each CPU
constexpr double most_samples = 20'000;   // what a program did long ago may be something else
constexpr double of_note = 0.04;          // of the samples on fast CPUs
constexpr double much_rarer = 0.35;       // on slow CPUs
constexpr double much = 0.25;             // of the samples on fast CPUs: else it is not worth a trial
constexpr double surely_not = 0.1;        // with so much less more samples would not show it
constexpr double fewest_to_confirm = 50;  // samples of a program
constexpr double less = 0.6;              // of the samples, as before

struct count {
    std::size_t fast = 0;
    std::size_t slow = 0;
};

}  // namespace

void spins::add(const code_place& where, std::size_t cpu) {
    std::vector<std::size_t>& on = seen_[where];
    if (on.size() <= cpu) on.resize(cpu + 1);
    ++on[cpu];
}

spins::told spins::tell(std::span<const double> speeds) const {
    const double fastest = std::ranges::max(speeds);
    const auto counted = [&](std::span<const std::size_t> on) {
        count found;
        for (std::size_t i = 0; i < on.size() && i < speeds.size(); ++i) {
            if (speeds[i] > is_fast * fastest) found.fast += on[i];
            if (speeds[i] < is_slow * fastest) found.slow += on[i];
        }
        return found;
    };
    told found;
    const count cpus = counted(std::vector<std::size_t>(speeds.size(), 1));
    std::map<std::uint64_t, count> all;
    for (const auto& [where, on] : seen_) {
        const count here = counted(on);
        all[where.program].fast += here.fast;
        all[where.program].slow += here.slow;
    }
    for (const auto& [program, whole] : all) {
        const double of_a_cpu = static_cast<double>(whole.fast) / static_cast<double>(cpus.fast);
        if (whole.fast >= fewest_fast &&
            static_cast<double>(whole.slow) < least_slow * of_a_cpu * static_cast<double>(cpus.slow))
            found.share_the_fast.insert(program);
    }
    std::map<std::uint64_t, double> part;
    for (const auto& [where, on] : seen_) {
        const count& whole = all[where.program];
        if (found.share_the_fast.contains(where.program) || whole.fast < fewest_fast ||
            whole.slow < fewest_slow)
            continue;
        found.is_enough = true;
        const count here = counted(on);
        const double on_fast = static_cast<double>(here.fast) / static_cast<double>(whole.fast);
        const double may_be_slow = 1 + much_rarer * on_fast * static_cast<double>(whole.slow);
        if (on_fast < of_note || static_cast<double>(here.slow) > may_be_slow) continue;
        part[where.program] += on_fast;
        found.rare.insert(where);
    }
    std::erase_if(found.rare, [&](const code_place& where) { return part[where.program] < much; });
    for (const auto& [program, here] : part) found.most = std::max(found.most, here);
    return found;
}

bool spins::is_clear(std::span<const double> speeds) const {
    if (speeds.empty()) return false;
    const told found = tell(speeds);
    return found.is_enough && found.most < surely_not;
}

bool spins::suspect(std::span<const double> speeds) {
    told_ = false;
    if (speeds.empty()) return false;
    told found = tell(speeds);
    std::erase_if(seen_,
                  [&](const auto& entry) { return found.share_the_fast.contains(entry.first.program); });
    double samples = 0;
    for (const auto& [where, on] : seen_) samples += sum_of(on);
    suspects_ = std::move(found.rare);
    told_ = found.is_enough;
    if (!found.is_enough && samples < most_samples) return false;
    kept_ = std::exchange(seen_, {});
    return !suspects_.empty();
}

double spins::sum_of(const std::vector<std::size_t>& of_each_cpu) {
    return static_cast<double>(std::accumulate(of_each_cpu.begin(), of_each_cpu.end(), std::size_t{0}));
}

std::map<std::uint64_t, double> spins::totals(const counts& of) {
    std::map<std::uint64_t, double> found;
    for (const auto& [where, on] : of) found[where.program] += sum_of(on);
    return found;
}

std::vector<double> spins::confirm() {
    const counts now = std::exchange(seen_, {});
    const counts before = std::exchange(kept_, {});
    std::map<std::uint64_t, double> all_now = totals(now);
    std::map<std::uint64_t, double> all_before = totals(before);
    double all = 0;
    for (const auto& [program, times] : all_before) all += times;
    std::vector<double> waits;
    for (const code_place& where : std::exchange(suspects_, {})) {
        if (all_now[where.program] < fewest_to_confirm) continue;
        const auto here = now.find(where);
        const double part_now = here == now.end() ? 0 : sum_of(here->second) / all_now[where.program];
        const std::vector<std::size_t>& on = before.at(where);
        if (part_now > less * sum_of(on) / all_before[where.program]) continue;
        known_.insert(where);
        waits.resize(std::max(waits.size(), on.size()));
        for (std::size_t i = 0; i < on.size(); ++i) waits[i] += static_cast<double>(on[i]) / all;
    }
    return waits;
}

void spins::forget() {
    *this = {};
}

}  // namespace tauto::balance
