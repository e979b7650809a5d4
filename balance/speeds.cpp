#include "balance/speeds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>

#include "balance/paces.hpp"
#include "balance/placing.hpp"
#include "runtime/machine_kinds.hpp"

namespace tauto::balance {

namespace {

constexpr nanoseconds probe_for = 2'500'000;
constexpr int fewest_where_alike = 2;
// How far parts may be from each other: fewer must agree better.
constexpr double two_agree = same_speed;
constexpr double four_agree = 1.15;
constexpr int fewest_times = 4;          // a clock that rises with the load takes so long
constexpr int most_times = 16;           // in 10 ms an interrupted CPU may do a third more or less
constexpr double follows_within = 40e6;  // ns in which threads want a CPU: ten ticks of the slowest kernels
constexpr double forgets_within = 2e9;   // ns in which nobody does
constexpr double least_share = 0.01;
constexpr double surely_slow = 0.9;   // work a second of CPU time, by that of the fastest
constexpr double usual_takes = 10;    // times as long to follow and to forget
constexpr double follows_pace = 0.1;  // of what a sample shows
constexpr double much_changed = 1.9;  // an emulated CPU seems to change by 1.5 at times

// No two measurements agree better than to `same_speed`.
double in_relation_to(double fastest, double pace) {
    return pace * same_speed > fastest ? 1.0 : pace / fastest;
}

std::vector<cpu_speed> in_relation(const std::vector<int>& cpus, const std::vector<probed>& seen) {
    std::vector<cpu_speed> found;
    double fastest = 0;
    for (std::size_t i = 0; i < cpus.size(); ++i) {
        const double pace = seen[i].pace();
        found.push_back({cpus[i], pace, std::min(1.0, seen[i].processor / seen[i].wall), pace});
        fastest = std::max(fastest, pace);
    }
    for (cpu_speed& one : found) one.pace = in_relation_to(fastest, one.pace);
    return found;
}

// By what the kernel and the processor tell: their clocks then rise alike, too.
bool are_said_to_be_alike(const std::vector<int>& cpus) {
    return !tauto::detail::is_hybrid_processor() &&
           tauto::detail::read_kinds(tauto::detail::file_tree("/"), cpus).of.empty();
}

}  // namespace

std::vector<cpu_speed> probe(const std::vector<int>& cpus) {
    std::vector<probed> all(cpus.size());
    std::vector<std::array<probed, fewest_times>> latest(cpus.size());
    const auto probe_times = [&](int times) {
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < cpus.size(); ++i)
            threads.emplace_back([&, i] {
                for (int time = 0; time < times; ++time) {
                    std::rotate(latest[i].begin(), latest[i].begin() + 1, latest[i].end());
                    probed& now = latest[i].back() = {};
                    probe_one(cpus[i], probe_for, for_so_long::wall, now);
                    all[i].add(now);
                }
            });
        for (std::thread& one : threads) one.join();
    };
    const auto agree = [&](std::size_t parts, double within) {
        return std::ranges::all_of(
            latest, [&](const auto& of_one) { return all_agree(std::span(of_one).last(parts), within); });
    };
    const auto found = [&] { return in_relation(cpus, all); };
    probe_times(fewest_where_alike);
    if (agree(fewest_where_alike, two_agree) && speeds(found()).all_equal() && are_said_to_be_alike(cpus))
        return found();
    probe_times(fewest_times - fewest_where_alike);
    for (int times = fewest_times;; ++times) {
        if (agree(fewest_times, four_agree) || speeds(found()).all_equal() || times == most_times)
            return found();
        probe_times(1);
    }
}

speeds::speeds(std::vector<cpu_speed> probed)
    : probed_(std::move(probed)), now_(probed_), unconfirmed_(probed_.size()) {
    for (const cpu_speed& one : now_) {
        per_second_.push_back(one.pace * one.share);
        usual_.push_back(one.share);
    }
}

std::vector<int> speeds::all_cpus() const {
    std::vector<int> found;
    for (const cpu_speed& one : now_) found.push_back(one.cpu);
    return found;
}

std::size_t speeds::index_of(int cpu) const {
    return static_cast<std::size_t>(std::ranges::find(now_, cpu, &cpu_speed::cpu) - now_.begin());
}

double speeds::usual(std::size_t index) const {
    return now_[index].pace * std::max(usual_[index], least_share);
}

double speeds::of_the_fastest(std::size_t count) const {
    std::vector<double> sorted = per_second_;
    std::ranges::sort(sorted, std::greater());
    sorted.resize(std::min(count, sorted.size()));
    return std::accumulate(sorted.begin(), sorted.end(), 0.0);
}

std::vector<int> speeds::fastest() const {
    const double most = std::ranges::max(per_second_);
    std::vector<int> found;
    for (std::size_t i = 0; i < size(); ++i)
        if (per_second_[i] * same_speed > most) found.push_back(now_[i].cpu);
    return found;
}

double speeds::of_those_like_the_fastest(std::size_t count) const {
    return of_the_fastest(std::min(count, fastest().size()));
}

bool speeds::all_equal() const {
    const auto [least, most] = std::ranges::minmax_element(per_second_);
    return *most < same_speed * *least;
}

bool speeds::one_is_slow_by_itself() const {
    return std::ranges::any_of(now_, [](const cpu_speed& one) { return one.pace < surely_slow; });
}

bool speeds::note_pace(std::size_t index, double blocks) {
    double& known = now_[index].blocks;
    if (known <= 0 || blocks <= 0) return false;
    const double before = known;
    const double unconfirmed = std::exchange(unconfirmed_[index], 0.0);
    const bool is_usual = blocks < changed_pace * known && known < changed_pace * blocks;
    if (is_usual) {
        known += follows_pace * (blocks - known);
    } else if (unconfirmed > 0 && (unconfirmed < known) == (blocks < known)) {
        known = (unconfirmed + blocks) / 2;
    } else {
        unconfirmed_[index] = blocks;
        return false;
    }
    const double fastest = std::ranges::max(now_, {}, &cpu_speed::blocks).blocks;
    for (std::size_t i = 0; i < size(); ++i) {
        now_[i].pace = in_relation_to(fastest, now_[i].blocks);
        per_second_[i] = now_[i].pace * std::max(now_[i].share, least_share);
    }
    return much_changed * std::min(known, before) < std::max(known, before);
}

void speeds::note(std::size_t index, nanoseconds span, nanoseconds wanted, nanoseconds had) {
    cpu_speed& one = now_[index];
    double& usual = usual_[index];
    const auto weight = [](double past, double within) { return 1 - std::exp(-past / within); };
    if (wanted > 0) {
        const auto for_so_long = static_cast<double>(wanted);
        const double share = std::min(1.0, static_cast<double>(had) / for_so_long);
        one.share += weight(for_so_long, follows_within) * (share - one.share);
        usual += weight(for_so_long, usual_takes * follows_within) * (share - usual);
    }
    // What it was may be over: somebody must try it again.
    const auto idle = static_cast<double>(std::max<nanoseconds>(span - wanted, 0));
    one.share += weight(idle, forgets_within) * (usual - one.share);
    usual += weight(idle, usual_takes * forgets_within) * (probed_[index].share - usual);
    per_second_[index] = one.pace * std::max(one.share, least_share);
}

}  // namespace tauto::balance
