#include "probe/noise.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "probe/threads.hpp"

namespace tauto::probe {

void measure_noise(std::vector<cpu_measurement>& cpus, double seconds) {
    constexpr double window_seconds = 1e-3;
    std::vector<int> numbers;
    for (const cpu_measurement& cpu : cpus) numbers.push_back(cpu.cpu);
    run_pinned(numbers, [&](int rank) {
        std::vector<double> largest_gaps;
        largest_gaps.reserve(static_cast<std::size_t>(seconds / window_seconds) + 2);
        const double begun = seconds_now();
        double now = begun;
        while (now - begun < seconds || largest_gaps.empty()) {
            const double window = now;
            double largest = 0;
            while (now - window < window_seconds) {
                const double next = seconds_now();
                largest = std::max(largest, next - now);
                now = next;
            }
            largest_gaps.push_back(largest);
        }
        cpu_measurement& cpu = cpus[static_cast<std::size_t>(rank)];
        cpu.noise_largest_gap_seconds = *std::max_element(largest_gaps.begin(), largest_gaps.end());
        cpu.noise_p99_gap_seconds = quantile(largest_gaps, 0.99);
    });
}

std::map<int, cpu_ticks> parse_stat(std::string_view stat) {
    // user nice system idle iowait irq softirq steal; guest time is counted in user already.
    constexpr std::size_t fields = 8;
    std::map<int, cpu_ticks> found;
    std::istringstream lines{std::string(stat)};
    for (std::string line; std::getline(lines, line);) {
        if (line.compare(0, 3, "cpu") != 0 || line.size() < 4 || line[3] < '0' || line[3] > '9') continue;
        std::istringstream words(line.substr(3));
        int cpu = 0;
        words >> cpu;
        const std::vector<std::int64_t> ticks{std::istream_iterator<std::int64_t>(words), {}};
        if (ticks.size() < fields) continue;
        cpu_ticks sum;
        for (std::size_t i = 0; i < fields; ++i) sum.all += ticks[i];
        sum.stolen = ticks[fields - 1];
        found[cpu] = sum;
    }
    return found;
}

std::map<int, cpu_ticks> read_stat() {
    std::ifstream file("/proc/stat");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return parse_stat(text);
}

void fill_steal(const std::map<int, cpu_ticks>& before, const std::map<int, cpu_ticks>& after,
                std::vector<cpu_measurement>& cpus) {
    for (cpu_measurement& cpu : cpus) {
        const auto old = before.find(cpu.cpu);
        const auto now = after.find(cpu.cpu);
        if (old == before.end() || now == after.end() || now->second.all <= old->second.all) continue;
        const std::int64_t stolen = std::max<std::int64_t>(0, now->second.stolen - old->second.stolen);
        cpu.steal_fraction =
            static_cast<double>(stolen) / static_cast<double>(now->second.all - old->second.all);
    }
}

}  // namespace tauto::probe
