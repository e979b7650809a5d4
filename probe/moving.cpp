#include "probe/moving.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "probe/memory.hpp"
#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

// The CPUs of the last-level cache that this one reads through; empty where the system names no caches.
std::vector<int> behind_one_cache(const machine_record& machine, int cpu) {
    const cache_record* last = nullptr;
    for (const cache_record& cache : machine.caches) {
        if (std::ranges::find(cache.cpus, cpu) == cache.cpus.end()) continue;
        if (last == nullptr || cache.level > last->level) last = &cache;
    }
    return last == nullptr ? std::vector<int>{} : last->cpus;
}

void update(std::span<double> numbers) {
    for (double& number : numbers) number = number * 0.5 + 1;
    if (!numbers.empty()) keep(numbers[0]);
}

// Seconds of the change and of the first pass there, and of a later pass.
struct residence {
    std::vector<double> first;
    std::vector<double> later;
    void stay(int cpu, std::span<double> numbers) {
        const double start = seconds_now();
        move_this_thread(cpu);
        update(numbers);
        first.push_back(seconds_now() - start);
        update(numbers);
        const double again = seconds_now();
        update(numbers);
        later.push_back(seconds_now() - again);
    }
    [[nodiscard]] double lost() const { return std::max(0.0, median(first) - median(later)); }
};

}  // namespace

std::vector<std::pair<int, int>> pairs_to_move_between(const machine_record& machine,
                                                       const std::vector<int>& cores) {
    std::vector<int> others;
    const auto add = [&](auto&& is_wanted) {
        const auto found = std::find_if(cores.begin() + 1, cores.end(), is_wanted);
        if (found != cores.end() && std::ranges::find(others, *found) == others.end())
            others.push_back(*found);
    };
    if (cores.empty()) return {};
    const int here = cores.front();
    const std::string& kind = machine.find_cpu(here)->kind;
    for (const kind_record& other : machine.kinds) {
        if (other.kind != kind) add([&](int cpu) { return machine.find_cpu(cpu)->kind == other.kind; });
    }
    const std::vector<int> near = behind_one_cache(machine, here);
    if (!near.empty()) add([&](int cpu) { return std::ranges::find(near, cpu) == near.end(); });
    if (others.empty()) add([](int) { return true; });
    std::vector<std::pair<int, int>> pairs;
    for (const int other : others) pairs.emplace_back(here, other);
    return pairs;
}

std::vector<move_point> measure_moves(const std::vector<std::pair<int, int>>& pairs, std::int64_t l2_bytes,
                                      int moves) {
    std::vector<move_point> points;
    const untouched_memory memory(std::max<std::int64_t>(l2_bytes / 2, 1));
    for (const std::pair<int, int>& pair : pairs) {
        const int from = pair.first;
        const int to = pair.second;
        for (const std::int64_t bytes : {std::int64_t{0}, l2_bytes / 8, l2_bytes / 2}) {
            const std::span<double> numbers =
                memory.numbers().first(static_cast<std::size_t>(bytes) / sizeof(double));
            residence there;
            residence back;
            run_pinned({from}, [&](int) {
                update(numbers);
                for (int move = 0; move < moves; ++move) {
                    there.stay(to, numbers);
                    back.stay(from, numbers);
                }
            });
            points.push_back({from, to, bytes, there.lost()});
            points.push_back({to, from, bytes, back.lost()});
        }
    }
    return points;
}

}  // namespace tauto::probe
