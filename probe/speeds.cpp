#include "probe/speeds.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/fnv1a.hpp"
#include "probe/memory.hpp"
#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

// A millisecond each: shorter than a time slice, so that the median is undisturbed on a busy machine, and
// longer than the turns of `tauto emulate`, whose effect must be visible.
int batches_in(double seconds) {
    return std::max(5, static_cast<int>(seconds / 1e-3));
}

// Returns the number of floating-point operations done.
double compute_step() {
    constexpr int chains = 16;
    constexpr int turns = 4096;
    std::array<double, chains> x{};
    double factor = 0.999999;
    double offset = 1e-6;
    keep(x);
    keep(factor);
    keep(offset);
    for (int turn = 0; turn < turns; ++turn) {
        for (double& value : x) value = value * factor + offset;
    }
    keep(x);
    return 2.0 * chains * turns;
}

// The task of the map/reduce study. Returns the number of bytes hashed.
double hash_step() {
    static const std::string text(std::size_t{16} * 1024, '*');
    std::uint64_t hash = fnv1a(std::string_view{text});
    keep(hash);
    return static_cast<double>(text.size());
}

// Sixteen sums, so that the additions do not wait for each other. Returns the number of bytes read.
double read_step(std::span<const double> numbers) {
    std::array<double, 16> sums{};
    const std::size_t whole = numbers.size() / sums.size() * sums.size();
    for (std::size_t i = 0; i < whole; i += sums.size()) {
        for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += numbers[i + k];
    }
    keep(sums);
    return static_cast<double>(whole * sizeof(double));
}

std::size_t half_of_l2(const cpu_record& cpu) {
    return static_cast<std::size_t>(cpu.l2_bytes.value_or(512 * 1024)) / 2 / sizeof(double);
}

void triad(std::span<double> a, std::span<const double> b, std::span<const double> c, double factor) {
    const std::size_t n = a.size();
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + factor * c[i];
}

// One member's part of the numbers; parts begin on pages, so that no page has two owners.
std::span<double> part_of(std::span<double> numbers, int rank, int members) {
    constexpr std::size_t page = 512;  // of 8-byte numbers
    const auto boundary = [&](int r) {
        return numbers.size() * static_cast<std::size_t>(r) / static_cast<std::size_t>(members) / page * page;
    };
    const std::size_t end = rank + 1 == members ? numbers.size() : boundary(rank + 1);
    return numbers.subspan(boundary(rank), end - boundary(rank));
}

double triad_rate(const std::vector<int>& cpus, std::int64_t bytes, double seconds) {
    const int members = static_cast<int>(cpus.size());
    const untouched_memory memory(bytes);
    const std::size_t length = memory.numbers<>().size() / 3;
    const std::span<double> a = memory.numbers<>().subspan(0, length);
    const std::span<double> b = memory.numbers<>().subspan(length, length);
    const std::span<double> c = memory.numbers<>().subspan(2 * length, length);
    std::barrier together(members);
    std::atomic<bool> enough{false};
    std::vector<double> starts(cpus.size());  // of this pass, by member: some begin before the first does
    std::vector<double> rates;
    run_pinned(cpus, [&](int rank) {
        const auto mine = [&](std::span<double> all) { return part_of(all, rank, members); };
        for (const std::span<double> all : {a, b, c}) std::ranges::fill(mine(all), 1.0);
        double begun = 0;
        for (int pass = 0; !enough; ++pass) {
            together.arrive_and_wait();
            const double start = starts[static_cast<std::size_t>(rank)] = seconds_now();
            if (pass == 0) begun = start;
            triad(mine(a), mine(b), mine(c), 0.5);
            together.arrive_and_wait();
            if (rank == 0) {
                const double end = seconds_now();
                const double taken = end - std::ranges::min(starts);
                if (pass > 0) rates.push_back(24.0 * static_cast<double>(length) / taken);
                enough = rates.size() >= 3 && end - begun > seconds;
            }
            together.arrive_and_wait();
        }
    });
    return median(rates);
}

}  // namespace

std::int64_t array_bytes(const machine_record& machine, const effort& effort) {
    std::int64_t last_level = 0;
    for (const cache_record& cache : machine.caches) {
        if (cache.level >= 3) last_level += cache.size_bytes;
    }
    const std::int64_t most = std::min(effort.most_array_bytes, machine.available_memory_bytes / 4);
    if (most < 16 * mebibyte) {
        throw error("the memory probe needs 64 MiB of free memory and " +
                    std::to_string(machine.available_memory_bytes / mebibyte) +
                    " MiB are there; free some or use --measure none");
    }
    return std::clamp(4 * last_level, std::min(most, 96 * mebibyte), most);
}

void measure_speeds(const machine_record& machine, const effort& effort, std::int64_t bytes,
                    std::vector<cpu_measurement>& cpus, const std::function<void(int cpu)>& step) {
    const double each = std::max(0.045, effort.speeds_seconds / static_cast<double>(cpus.size()));
    std::map<int, std::vector<cpu_measurement*>> by_node;
    for (cpu_measurement& cpu : cpus) by_node[machine.find_cpu(cpu.cpu)->numa].push_back(&cpu);
    for (const auto& [node, members] : by_node) {
        const untouched_memory memory(bytes);
        run_pinned({members.front()->cpu}, [&](int) { std::ranges::fill(memory.numbers<>(), 1.0); });
        for (cpu_measurement* const cpu : members) {
            step(cpu->cpu);
            run_pinned({cpu->cpu}, [&](int) {
                const auto cached = memory.numbers<>().first(half_of_l2(*machine.find_cpu(cpu->cpu)));
                cpu->compute_per_second = median_rate(0.2 * each, batches_in(0.2 * each), compute_step);
                cpu->hash_bytes_per_second = median_rate(0.15 * each, batches_in(0.15 * each), hash_step);
                cpu->cache_bytes_per_second =
                    median_rate(0.2 * each, batches_in(0.2 * each), [&] { return read_step(cached); });
                // In pieces, so that a batch can end; each continues where the last one ended.
                const std::size_t piece = mebibyte / sizeof(double);
                std::size_t at = 0;
                cpu->memory_bytes_per_second = median_rate(0.45 * each, batches_in(0.45 * each), [&] {
                    if (at + piece > memory.numbers<>().size()) at = 0;
                    return read_step(memory.numbers<>().subspan(std::exchange(at, at + piece), piece));
                });
            });
        }
    }
}

std::vector<triad_point> measure_triad(const std::vector<int>& cpus, const effort& effort, std::int64_t bytes,
                                       const std::function<void(int members)>& step) {
    const int n = static_cast<int>(cpus.size());
    std::vector<int> widths;
    for (int members = 1; members<n; members = n> 8 ? 2 * members : members + 1) widths.push_back(members);
    widths.push_back(n);
    std::vector<triad_point> points;
    for (const int members : widths) {
        step(members);
        const std::vector<int> chosen(cpus.begin(), cpus.begin() + members);
        points.push_back(
            {members, triad_rate(chosen, bytes, effort.triad_seconds / static_cast<double>(widths.size()))});
    }
    return points;
}

}  // namespace tauto::probe
