#include "timer/counters.hpp"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tauto::timer {

namespace {

constexpr int unit_shift = 32;         // where a config names the kind of core
constexpr std::size_t words_read = 3;  // value, time enabled, time running

std::string text_of(const std::filesystem::path& path) {
    std::string text;
    std::getline(std::ifstream(path), text);
    return text;
}

// The types of the cores' counter units, one for each kind of core; {0} where all are alike.
std::vector<std::uint64_t> core_units() {
    std::vector<std::uint64_t> found;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/event_source/devices", none)) {
        const std::string name = entry.path().filename();
        const std::string type = text_of(entry.path() / "type");
        const bool of_cores =
            name == "cpu_core" || name == "cpu_atom" || name == "cpu_lowpower" || name.starts_with("armv");
        if (of_cores && !type.empty() && type.find_first_not_of("0123456789") == std::string::npos)
            found.push_back(std::stoull(type));
    }
    if (found.size() < 2) found = {0};
    return found;
}

std::string refusal(int error) {
    if (error == EACCES || error == EPERM)
        return "the kernel allows no counters (perf_event_paranoid is " +
               text_of("/proc/sys/kernel/perf_event_paranoid") +
               "; a container may forbid them). Run: sudo sysctl kernel.perf_event_paranoid=1";
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV || error == EINVAL)
        return "this machine shows no such counter, like most virtual machines. Measure on the bare machine";
    if (error == ENOSYS) return "perf_event_open is not there (a sandbox). Measure outside of it";
    return std::string("perf_event_open fails: ") + std::strerror(error);
}

}  // namespace

std::vector<counted_event> hardware_events() {
    return {{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
            {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
            {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
            {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}};
}

counters::counters(const std::vector<counted_event>& events) {
    for (const counted_event& event : events) {
        if (!open(event, user_only_) && !user_only_ && open(event, true)) user_only_ = true;
    }
}

counters::~counters() {
    for (const auto& [name, several] : opened_)
        for (const int one : several) close(one);
}

bool counters::open(const counted_event& event, bool user_only) {
    std::vector<int> several;
    for (const std::uint64_t unit :
         event.kind == PERF_TYPE_HARDWARE ? core_units() : std::vector<std::uint64_t>{0}) {
        perf_event_attr asked{};
        asked.size = sizeof asked;
        asked.type = event.kind;
        asked.config = event.config | unit << unit_shift;
        asked.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        asked.disabled = asked.inherit = asked.enable_on_exec = asked.exclude_hv = 1;
        asked.exclude_kernel = user_only ? 1 : 0;
        const long opened = syscall(SYS_perf_event_open, &asked, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
        if (opened < 0) {
            reason_ = refusal(errno);
            for (const int one : several) close(one);
            return false;
        }
        several.push_back(static_cast<int>(opened));
    }
    reason_.clear();
    opened_[event.name] = std::move(several);
    return true;
}

counters::totals counters::read() const {
    totals found;
    for (const auto& [name, several] : opened_)
        for (const int one : several) {
            std::array<std::uint64_t, words_read> read_ones{};
            if (::read(one, read_ones.data(), sizeof read_ones) != static_cast<ssize_t>(sizeof read_ones))
                read_ones = {};
            found[name].insert(found[name].end(), read_ones.begin(), read_ones.end());
        }
    return found;
}

std::map<std::string, std::optional<double>> counters::between(const totals& before,
                                                               const totals& later) const {
    std::map<std::string, std::optional<double>> found;
    for (const auto& [name, ends] : later) {
        const std::vector<std::uint64_t>& begins = before.at(name);
        double sum = 0;
        bool ran = false;
        for (std::size_t place = 0; place + words_read <= ends.size(); place += words_read) {
            const double value = double(ends[place] - begins[place]);
            const double enabled = double(ends[place + 1] - begins[place + 1]);
            const double running = double(ends[place + 2] - begins[place + 2]);
            if (running > 0) {
                sum += value * enabled / running;
                ran = true;
            }
        }
        found[name] = ran ? std::optional(sum) : std::nullopt;
    }
    return found;
}

}  // namespace tauto::timer
