#include "machine_kinds.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

namespace tauto::detail {
namespace {

constexpr std::string_view names_by_rank[] = {"P", "E", "LP"};

bool has_l3(const file_tree& files, int cpu) {
    const std::string folder = cpu_folder(cpu) + "cache/";
    for (const std::string& name : files.names(folder)) {
        if (files.integer(folder + name + "/level") == 3) return true;
    }
    return false;
}

// Kinds of Intel hybrid processors: each kind has a performance monitoring unit of its own.
cpu_kinds kinds_from_units(const file_tree& files, const std::vector<int>& cpus) {
    constexpr std::pair<std::string_view, std::string_view> units[] = {
        {"P", "cpu_core"}, {"E", "cpu_atom"}, {"LP", "cpu_lowpower"}};
    cpu_kinds found;
    for (const auto& [kind, unit] : units) {
        const std::string path = "/sys/devices/" + std::string(unit) + "/cpus";
        const auto listed = files.cpu_list(path);
        if (!listed) continue;
        for (const int cpu : intersection(*listed, cpus)) found.of[cpu] = kind;
        found.source += (found.source.empty() ? "" : ", ") + path;
    }
    if (found.of.size() != cpus.size()) return {};
    const bool any_l3 = std::any_of(cpus.begin(), cpus.end(), [&](int cpu) { return has_l3(files, cpu); });
    for (auto& [cpu, kind] : found.of) {
        if (any_l3 && kind == "E" && !has_l3(files, cpu)) kind = "LP";
    }
    return found;
}

// Groups CPUs by a figure of merit; nothing unless every CPU has one and they differ enough.
cpu_kinds kinds_from_merit(const std::vector<int>& cpus, std::string source,
                           const std::function<std::optional<std::int64_t>(int)>& merit) {
    std::vector<std::pair<std::int64_t, int>> ranked;
    for (const int cpu : cpus) {
        const auto value = merit(cpu);
        if (!value || *value <= 0) return {};
        ranked.emplace_back(-*value, cpu);
    }
    std::sort(ranked.begin(), ranked.end());
    cpu_kinds found{{}, std::move(source)};
    std::size_t rank = 0;
    std::int64_t top = ranked.empty() ? 0 : -ranked.front().first;
    for (const auto& [negative, cpu] : ranked) {
        const std::int64_t value = -negative;
        if (6 * value < 5 * top) {
            rank = std::min(rank + 1, std::size(names_by_rank) - 1);
            top = value;
        }
        found.of[cpu] = names_by_rank[rank];
    }
    return found;
}

bool several(const cpu_kinds& kinds) {
    return std::any_of(kinds.of.begin(), kinds.of.end(),
                       [&](const auto& entry) { return entry.second != kinds.of.begin()->second; });
}

}  // namespace

std::string cpu_folder(int cpu) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
}

std::string cpu_kinds::kind(int cpu) const {
    const auto found = of.find(cpu);
    return found == of.end() ? "core" : found->second;
}

int kind_rank(std::string_view kind) {
    const auto* const found = std::find(std::begin(names_by_rank), std::end(names_by_rank), kind);
    return found == std::end(names_by_rank) ? 0 : static_cast<int>(found - std::begin(names_by_rank));
}

cpu_kinds read_kinds(const file_tree& files, const std::vector<int>& cpus) {
    cpu_kinds kinds = kinds_from_units(files, cpus);
    if (several(kinds)) return kinds;
    kinds = kinds_from_merit(cpus, "cpu_capacity",
                             [&](int cpu) { return files.integer(cpu_folder(cpu) + "cpu_capacity"); });
    if (several(kinds)) return kinds;
    kinds = kinds_from_merit(cpus, "cpufreq/cpuinfo_max_freq", [&](int cpu) {
        return files.integer(cpu_folder(cpu) + "cpufreq/cpuinfo_max_freq");
    });
    if (several(kinds)) return kinds;
    return {};
}

bool is_hybrid_processor() noexcept {
#if defined(__x86_64__)
    constexpr unsigned hybrid = 1U << 15;  // of EDX
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & hybrid) != 0;
#else
    return false;
#endif
}

std::vector<int> in_order_of_use(std::vector<candidate> candidates) {
    std::vector<int> listed;
    for (const candidate& c : candidates) listed.push_back(c.cpu);
    std::sort(listed.begin(), listed.end());
    // How many hardware threads of its core come before this one.
    const auto threads_before = [&](const candidate& c) {
        return std::count_if(c.siblings.begin(), c.siblings.end(),
                             [&](int sibling) { return sibling < c.cpu && contains(listed, sibling); });
    };
    std::vector<std::tuple<std::ptrdiff_t, int, int, int>> keyed;
    for (const candidate& c : candidates) keyed.emplace_back(threads_before(c), c.kind, c.package, c.cpu);
    std::sort(keyed.begin(), keyed.end());
    std::vector<int> ordered;
    for (const auto& key : keyed) ordered.push_back(std::get<3>(key));
    return ordered;
}

}  // namespace tauto::detail
