#include "runners/shared/cpus.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

constexpr int max_cpus = 8192;  // the kernel's largest NR_CPUS

using mask_words = std::array<unsigned long, max_cpus / (8 * sizeof(unsigned long))>;
constexpr int word_bits = 8 * sizeof(unsigned long);

constinit mask_words start_mask{};

// Runs before the constructors of every shared library, hence a bare system call and no library function. In
// an object that is itself loaded it can only be one of them.
#if defined(TAUTO_LOADED_OBJECT)
#define TAUTO_FIRST_CALLS ".init_array"
#else
#define TAUTO_FIRST_CALLS ".preinit_array"
#endif
__attribute__((no_sanitize("address", "thread", "undefined"))) void remember_start_mask() {
    syscall(SYS_sched_getaffinity, 0, sizeof start_mask, start_mask.data());
}
__attribute__((section(TAUTO_FIRST_CALLS), used)) void (*const before_libraries)() = remember_start_mask;

std::vector<int> cpus_in(const mask_words& mask) {
    std::vector<int> cpus;
    for (int cpu = 0; cpu < max_cpus; ++cpu)
        if (at(mask, cpu / word_bits) >> (cpu % word_bits) & 1UL) cpus.push_back(cpu);
    return cpus;
}

int parse_cpu(std::string_view text, std::string_view whole) {
    int cpu = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cpu);
    if (error != std::errc{} || end != text.data() + text.size() || cpu < 0 || cpu >= max_cpus)
        throw input_error("'" + std::string{whole} +
                          "' is not a list of CPUs; write numbers such as 0,1 or 0-3,8");
    return cpu;
}

}  // namespace

std::vector<int> cpus_at_start() {
    if (const char* handed_on = std::getenv(cpus_before_restart)) return parse_cpus(handed_on);
    return cpus_in(start_mask);
}

std::vector<int> parse_cpus(std::string_view text) {
    std::vector<int> cpus;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        const std::string_view item = text.substr(from, comma - from);
        const std::size_t dash = item.find('-');
        const int first = parse_cpu(item.substr(0, dash), text);
        const int last = dash == std::string_view::npos ? first : parse_cpu(item.substr(dash + 1), text);
        if (last < first) throw input_error("CPU range '" + std::string{item} + "' runs backwards");
        for (int cpu = first; cpu <= last; ++cpu) {
            if (std::ranges::find(cpus, cpu) != cpus.end())
                throw input_error("CPU " + std::to_string(cpu) +
                                  " is listed twice; use --threads for more than one " + "worker a CPU");
            cpus.push_back(cpu);
        }
        from = comma + 1;
    }
    return cpus;
}

std::string cpus_text(std::span<const int> cpus, std::string_view separator) {
    std::string text;
    for (const int cpu : cpus) {
        if (!text.empty()) text += separator;
        text += std::to_string(cpu);
    }
    return text;
}

void pin_to(std::span<const int> cpus) {
    mask_words mask{};
    for (const int cpu : cpus) at(mask, cpu / word_bits) |= 1UL << (cpu % word_bits);
    if (syscall(SYS_sched_setaffinity, 0, sizeof mask, mask.data()) != 0)
        throw input_error("the system refused to pin to CPUs " + cpus_text(cpus) + ": " +
                          std::strerror(errno));
}

pinned_for_now::pinned_for_now(std::span<const int> cpus) {
    mask_words mask{};
    syscall(SYS_sched_getaffinity, 0, sizeof mask, mask.data());
    before_ = cpus_in(mask);
    pin_to(cpus);
}

pinned_for_now::~pinned_for_now() {
    try {
        pin_to(before_);
    } catch (const input_error&) {
        // A CPU was taken away meanwhile; the kernel has put this thread where it may run.
    }
}

}  // namespace tauto::runner
