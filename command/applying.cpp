#include "command/applying.hpp"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>

#include "runtime/machine_limits.hpp"

namespace tauto::command {

namespace {

constexpr std::array thread_counts{
    "OMP_NUM_THREADS",  "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS", "RAYON_NUM_THREADS",    "GOMAXPROCS",
};

constexpr std::int64_t lowest_priority = 19;

// As the kernel takes it, for eight times the CPUs that any kernel is built for.
constexpr std::size_t mask_cpus = 65536;
constexpr std::size_t bits = std::numeric_limits<unsigned long>::digits;
using cpu_mask = std::array<unsigned long, mask_cpus / bits>;

// A mask of any length has this type for the C library.
cpu_set_t* as_set(cpu_mask& mask) {
    return reinterpret_cast<cpu_set_t*>(mask.data());
}

cpu_numbers allowed_cpus() {
    cpu_mask mask{};
    cpu_numbers allowed;
    if (sched_getaffinity(0, sizeof mask, as_set(mask)) != 0) return allowed;
    for (std::size_t cpu = 0; cpu < mask_cpus; ++cpu)
        if ((mask[cpu / bits] >> (cpu % bits) & 1UL) != 0) allowed.insert(cpu);
    return allowed;
}

std::string listed(const cpu_numbers& cpus) {
    std::string list;
    for (const std::uint64_t cpu : cpus) list += (list.empty() ? "" : ",") + std::to_string(cpu);
    return list;
}

void set_cpus(const cpu_numbers& wanted, const cpu_numbers& allowed) {
    cpu_mask mask{};
    for (const std::uint64_t cpu : wanted)
        if (cpu < mask_cpus) mask[cpu / bits] |= 1UL << (cpu % bits);
    if (sched_setaffinity(0, sizeof mask, as_set(mask)) != 0)
        throw input_error("the profile asks for CPU " + listed(wanted) + ", and CPU " + listed(allowed) +
                          " may be used here (" + strerror(errno) +
                          "). Tune the program again on this machine");
}

int priority() {
    return getpriority(PRIO_PROCESS, 0);
}

std::vector<std::string> set_nice(std::int64_t step) {
    std::vector<std::string> warnings;
    const std::int64_t before = priority();
    errno = 0;  // nice returns the priority, which may be -1
    constexpr std::int64_t span = 2 * lowest_priority + 2;
    if (nice(static_cast<int>(std::clamp(step, -span, span))) == -1 && errno != 0)
        warnings.push_back("nice " + std::to_string(step) + " was refused: " + strerror(errno));
    const std::int64_t after = priority();
    if (after != std::min(before + step, lowest_priority))
        warnings.push_back("the priority is " + std::to_string(after) + " where " +
                           std::to_string(before + step) + " was asked for");
    return warnings;
}

// The first kilobytes of a file of the kernel's; empty where it has none.
std::string kernel_file(const char* path) {
    std::FILE* const file = std::fopen(path, "re");
    if (file == nullptr) return {};
    std::array<char, 8192> text{};
    const std::size_t length = std::fread(text.data(), 1, text.size(), file);
    std::fclose(file);
    return {text.data(), length};
}

std::optional<double> own_quota() {
    return detail::read_limits(detail::file_tree("/")).quota_cpus;
}

// The CPUs as the kernel lists them, with ranges.
std::string allowed_list() {
    constexpr std::string_view name = "\nCpus_allowed_list:";
    const std::string status = kernel_file("/proc/self/status");
    const std::size_t at = status.find(name);
    if (at == status.npos) return listed(allowed_cpus());
    const std::size_t begin = status.find_first_not_of(" \t", at + name.size());
    return status.substr(begin, status.find('\n', begin) - begin);
}

std::string_view variable(const profile& asked, std::string_view name) {
    for (const auto& [key, value] : asked.environment)
        if (key == name) return value;
    return {};
}

// A number that is written in digits alone; the greatest there is for a greater one.
std::optional<std::uint64_t> number(std::string_view text) {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc{} ? value : std::numeric_limits<std::uint64_t>::max();
}

cpu_numbers cpus_of_places(std::string_view places) {
    std::string words{places};
    std::erase_if(words, [](char one) { return one == '{' || one == '}'; });
    cpu_numbers named;
    for (std::size_t begin = 0; begin <= words.size();) {
        const std::size_t end = std::min(words.find(',', begin), words.size());
        if (const auto cpu = number(std::string_view(words).substr(begin, end - begin))) named.insert(*cpu);
        begin = end + 1;
    }
    return named;
}

// As %g of C writes it: 1.5, 2.
std::string short_number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

bool is_file(const std::string& path) {
    struct stat found {};
    return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

std::vector<std::string> apply(const profile& asked) {
    std::vector<std::string> warnings;
    for (const auto& [name, value] : asked.environment)
        if (setenv(name.c_str(), value.c_str(), 1) != 0)
            throw input_error("the variable " + name + " cannot be set: " + strerror(errno) +
                              ". Write it otherwise, or tune the program again");
    cpu_numbers allowed = allowed_cpus();
    if (!asked.cpus.empty()) {
        set_cpus(asked.cpus, allowed);
        allowed = allowed_cpus();
        if (allowed != asked.cpus)
            warnings.push_back("the kernel gave CPU " + listed(allowed) + " where " + listed(asked.cpus) +
                               " was asked for");
    }
    if (asked.nice != 0)
        for (std::string& warning : set_nice(asked.nice)) warnings.push_back(std::move(warning));
    return warnings;
}

std::vector<std::string> looked_at_here(const profile& asked) {
    return looked_at(asked, allowed_cpus(), own_quota());
}

bool is_program(const std::string& file) {
    return is_file(file) && access(file.c_str(), X_OK) == 0;
}

std::string found_program(const std::string& word, int& error) {
    error = ENOENT;
    if (word.empty()) return {};
    if (word.find('/') != word.npos) return word;
    const char* const variable = getenv("PATH");
    const std::string path = variable != nullptr ? variable : "/usr/bin:/bin";
    for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const std::string folder = path.substr(begin, end - begin);
        const std::string file = (folder.empty() ? "." : folder) + "/" + word;
        if (is_program(file)) return file;
        if (is_file(file)) error = EACCES;
        begin = end + 1;
    }
    return {};
}

std::string given(const profile& asked) {
    std::string said = "given: CPU " + allowed_list() + ", nice " + std::to_string(priority());
    if (const auto quota = own_quota()) said += ", a quota of " + short_number(*quota) + " CPUs";
    const char* before = "; ";
    for (const auto& [name, value] : asked.environment) {
        said.append(before).append(name).append("=").append(value);
        before = " ";
    }
    return said;
}

std::vector<std::string> looked_at(const profile& asked, const cpu_numbers& allowed,
                                   std::optional<double> quota) {
    std::vector<std::string> warnings;
    const std::string_view places = variable(asked, "OMP_PLACES");
    if (places.starts_with('{')) {
        cpu_numbers missing = cpus_of_places(places);
        for (const std::uint64_t cpu : allowed) missing.erase(cpu);
        if (!missing.empty())
            warnings.push_back("OMP_PLACES names CPU " + listed(missing) +
                               ", which may not be used here: the runtime will drop the places");
        return warnings;  // a place may be named twice on purpose, for more threads than CPUs
    }
    for (const char* const name : thread_counts) {
        const std::string_view threads = variable(asked, name);
        const auto count = number(threads);
        if (quota && count && static_cast<double>(*count) > *quota)
            warnings.push_back(std::string(name) + " asks for " + std::string(threads) +
                               " threads, which share a quota of " + short_number(*quota) + " CPUs");
    }
    return warnings;
}

}  // namespace tauto::command
