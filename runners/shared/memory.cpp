#include "runners/shared/memory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "runners/shared/error.hpp"

namespace tauto::runner {

namespace {

using std::filesystem::path;

constexpr double unlimited = std::numeric_limits<double>::infinity();

// The number behind `key` in a file of "key number" lines; for an empty key the number that is the whole
// file.
std::optional<double> number_in(const path& file, std::string_view key = {}) {
    std::ifstream stream{file};
    std::string word;
    if (!key.empty())
        while (stream >> word && word != key) {
        }
    double value = 0.0;
    if (stream >> value) return value;
    return std::nullopt;
}

// What one group leaves. The kernel gives back file cache that was not used lately when memory is short.
double left_in_group(const path& group, const char* limit_file, const char* usage_file,
                     const char* cache_key) {
    const auto limit = number_in(group / limit_file);
    const auto usage = number_in(group / usage_file);
    if (!limit || !usage) return unlimited;  // "max", or a group without the memory controller
    return *limit - *usage + number_in(group / "memory.stat", cache_key).value_or(0.0);
}

double left_in_groups() {
    double left = unlimited;
    std::ifstream groups{"/proc/self/cgroup"};
    for (std::string line; std::getline(groups, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const bool v2 = controllers.empty();
        if (!v2 && controllers.find("memory") == std::string::npos) continue;
        const path root = v2 ? path{"/sys/fs/cgroup"} : path{"/sys/fs/cgroup/memory"};
        path group = path{line.substr(second + 1)}.relative_path();
        for (;; group = group.parent_path()) {
            left = std::min(left,
                            v2 ? left_in_group(root / group, "memory.max", "memory.current", "inactive_file")
                               : left_in_group(root / group, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                               "total_inactive_file"));
            if (group.empty()) break;
        }
    }
    return left;
}

std::string readable(double bytes) {
    std::size_t unit = 0;
    constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    for (; bytes >= 1000.0 && unit + 1 < std::size(units); ++unit) bytes /= 1000.0;
    std::ostringstream text;
    text << std::setprecision(3) << bytes << ' ' << units[unit];
    return text.str();
}

}  // namespace

memory_limit available_memory() {
    const auto kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    const memory_limit system{kilobytes ? *kilobytes * 1024.0 : unlimited, "MemAvailable"};
    const memory_limit group{left_in_groups(), "the memory limit of the control group"};
    return group.bytes < system.bytes ? group : system;
}

void require_memory(double bytes, const std::string& what, const std::function<std::string(double)>& remedy) {
    const memory_limit there = available_memory();
    if (bytes <= there.bytes) return;
    throw input_error(what + " takes " + readable(bytes) + " of memory and " + readable(there.bytes) +
                      " are available (" + there.source + "); " + remedy(std::max(there.bytes, 0.0)));
}

std::string whole_number(double value) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(0) << value;
    return text.str();
}

}  // namespace tauto::runner
