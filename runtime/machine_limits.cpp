#include "machine_limits.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "machine_groups.hpp"

namespace tauto::detail {
namespace {

std::optional<double> quota_in(const file_tree& files, const std::string& folder, int version) {
    if (version == 1) {
        const auto quota = files.integer(folder + "/cpu.cfs_quota_us");
        const auto period = files.integer(folder + "/cpu.cfs_period_us");
        if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
        return as_double(*quota) / as_double(*period);
    }
    const auto text = files.text(folder + "/cpu.max");
    if (!text) return std::nullopt;
    const auto words = split(*text, ' ');
    const auto quota = to_integer(words[0]);  // "max" is not a number
    const auto period = words.size() > 1 ? to_integer(words[1]) : std::optional<std::int64_t>(100'000);
    if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
    return as_double(*quota) / as_double(*period);
}

void read_quota(const file_tree& files, const control_groups& groups, limits& result) {
    for (const std::string_view controller : {"", "cpu"}) {
        const auto group = groups.find(controller);
        if (!group) continue;
        for (const std::string& folder : group->folders()) {
            const auto quota = quota_in(files, folder, group->version);
            if (!quota || (result.quota_cpus && *result.quota_cpus <= *quota)) continue;
            result.quota_cpus = quota;
            result.quota_source =
                group->describe(group->version == 2 ? "cpu.max" : "cpu.cfs_quota_us", folder);
        }
    }
}

void read_cpuset(const file_tree& files, const control_groups& groups, limits& result) {
    constexpr std::pair<std::string_view, const char*> places[] = {
        {"", "/cpuset.cpus.effective"}, {"cpuset", "/cpuset.effective_cpus"}, {"cpuset", "/cpuset.cpus"}};
    for (const auto& [controller, file] : places) {
        const auto group = groups.find(controller);
        if (!group) continue;
        // The file exists only where the controller is enabled; elsewhere the nearest one above counts.
        for (const std::string& folder : group->folders()) {
            const auto cpus = files.cpu_list(folder + file);
            if (!cpus || cpus->empty()) continue;
            result.cpuset = result.cpuset ? intersection(*result.cpuset, *cpus) : *cpus;
            result.cpuset_source = group->describe(file + 1, folder);
            break;
        }
        if (controller == "cpuset" && result.cpuset) return;
    }
}

std::optional<std::vector<int>> affinity_in_status(const file_tree& files) {
    const auto status = files.text("/proc/self/status");
    if (!status) return std::nullopt;
    constexpr std::string_view key = "Cpus_allowed_list:";
    for (const std::string_view line : split(*status, '\n')) {
        if (line.substr(0, key.size()) == key) return to_cpu_list(line.substr(key.size()));
    }
    return std::nullopt;
}

std::vector<int> online_cpus(const file_tree& files, const std::vector<int>& fallback) {
    const auto online = files.cpu_list("/sys/devices/system/cpu/online");
    return online && !online->empty() ? *online : fallback;
}

}  // namespace

std::vector<int> affinity_of_caller() {
    return affinity_of(0);
}

std::vector<int> affinity_of(pid_t thread) {
    // The kernel refuses a mask smaller than its own with EINVAL.
    for (int count = 1024; count <= 1 << 20; count *= 2) {
        const std::size_t bytes = CPU_ALLOC_SIZE(usize(count));
        cpu_set_t* set = CPU_ALLOC(usize(count));
        if (set == nullptr) return {};
        CPU_ZERO_S(bytes, set);
        std::vector<int> cpus;
        const bool done = sched_getaffinity(thread, bytes, set) == 0;
        for (int cpu = 0; done && cpu < count; ++cpu) {
            if (CPU_ISSET_S(usize(cpu), bytes, set)) cpus.push_back(cpu);
        }
        CPU_FREE(set);
        if (done) return cpus;
        if (errno != EINVAL) return {};
    }
    return {};
}

limits read_limits(const file_tree& files) {
    if (files.live()) return read_limits(files, affinity_of_caller());
    return read_limits(files, affinity_in_status(files).value_or(std::vector<int>{}));
}

limits read_limits(const file_tree& files, std::vector<int> affinity) {
    limits result;
    result.affinity = std::move(affinity);
    result.online = online_cpus(files, result.affinity);
    const auto present = files.cpu_list("/sys/devices/system/cpu/present").value_or(result.online);
    std::set_difference(present.begin(), present.end(), result.online.begin(), result.online.end(),
                        std::back_inserter(result.offline));
    if (result.affinity.empty()) result.affinity = result.online;
    const control_groups groups(files);
    read_cpuset(files, groups, result);
    read_quota(files, groups, result);
    result.allowed = intersection(result.affinity, result.online);
    if (result.cpuset) {
        // Where mask and cpuset contradict each other, one is being changed right now; the scheduler obeys
        // the mask.
        auto both = intersection(result.allowed, *result.cpuset);
        if (!both.empty()) result.allowed = std::move(both);
    }
    const int cpus = std::max(1, int_size(result.allowed));
    // 2.0000001 CPUs from a division are two.
    const double quota = result.quota_cpus ? std::ceil(*result.quota_cpus - 1e-6) : cpus;
    result.usable_members = static_cast<int>(std::clamp(quota, 1.0, as_double(cpus)));
    return result;
}

std::optional<double> read_quota(const file_tree& files) {
    limits result;
    read_quota(files, control_groups(files), result);
    return result.quota_cpus;
}

std::optional<std::int64_t> read_memory_limit(const file_tree& files) {
    // Version 1 writes "no limit" as the largest multiple of a page in 63 bits.
    constexpr std::int64_t no_limit = std::int64_t{1} << 62;
    const control_groups groups(files);
    std::optional<std::int64_t> smallest;
    for (const std::string_view controller : {"", "memory"}) {
        const auto group = groups.find(controller);
        if (!group) continue;
        for (const std::string& folder : group->folders()) {
            const auto limit =
                files.integer(folder + (group->version == 2 ? "/memory.max" : "/memory.limit_in_bytes"));
            if (limit && *limit < no_limit && (!smallest || *limit < *smallest)) smallest = limit;
        }
    }
    return smallest;
}

}  // namespace tauto::detail
