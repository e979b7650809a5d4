#include "probe/counting.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <span>

#include "probe/memory.hpp"
#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

constexpr std::size_t line_words = 8;
constexpr std::size_t most_scattered = 100'000;

struct event_name {
    const char* name;
    std::uint32_t type;
    std::uint64_t config;
};
constexpr event_name events[] = {
    {"cache_references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"llc_load_misses", PERF_TYPE_HW_CACHE,
     PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16},
};

// Each line's first word names the next line.
std::size_t chain(std::span<std::uint64_t> words) {
    const std::size_t lines = words.size() / line_words;
    const std::size_t count = std::min(lines, most_scattered);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::shuffle(order, std::mt19937_64{1});
    const auto place = [&](std::size_t i) { return order[i] * (lines / count) * line_words; };
    for (std::size_t i = 0; i < count; ++i) words[place(i)] = place((i + 1) % count);
    return count;
}

template <class Read>
double events_a_line(const counter& count, std::size_t lines, Read&& read) {
    const std::uint64_t before = count();
    read();
    return static_cast<double>(count() - before) / static_cast<double>(lines);
}

}  // namespace

counter open_counter(const std::string& event) {
    const auto known = std::ranges::find(events, event, &event_name::name);
    if (known == std::end(events)) return {};
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = known->type;
    attributes.config = known->config;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    const auto descriptor =
        static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (descriptor < 0) return {};
    const std::shared_ptr<const int> open(new int{descriptor}, [](const int* which) {
        close(*which);
        delete which;
    });
    return [open] {
        std::uint64_t value = 0;
        return read(*open, &value, sizeof value) == sizeof value ? value : 0;
    };
}

std::vector<counted_lines> measure_counting(int cpu, std::int64_t bytes,
                                            const std::function<counter(const std::string& event)>& open) {
    std::vector<counted_lines> found;
    run_pinned({cpu}, [&](int) {
        std::vector<std::pair<std::string, counter>> counters;
        for (const event_name& event : events)
            if (counter count = open(event.name)) counters.emplace_back(event.name, std::move(count));
        if (counters.empty()) return;
        const untouched_memory memory(bytes);
        const std::span<std::uint64_t> words = memory.numbers<std::uint64_t>();
        std::ranges::fill(words, 0U);
        const std::size_t in_order = words.size() / line_words;  // all, so that none is cached afterwards
        const std::size_t scattered = chain(words);
        for (const auto& [name, count] : counters) {
            const double sequential = events_a_line(count, in_order, [&] {
                std::uint64_t sum = 0;
                for (std::size_t i = 0; i < in_order; ++i) sum += words[i * line_words];
                keep(sum);
            });
            const double apart = events_a_line(count, scattered, [&] {
                std::uint64_t at = 0;
                for (std::size_t i = 0; i < scattered; ++i) at = words[at];
                keep(at);
            });
            if (sequential > 0 || apart > 0) found.push_back({name, sequential, apart});
        }
    });
    return found;
}

}  // namespace tauto::probe
