#include "probe/streams.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "probe/memory.hpp"
#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

constexpr std::size_t line_doubles = 8;
constexpr std::size_t most_streams = 32;
constexpr std::size_t shift = 17 * line_doubles;

// Reads a line of each stream in turn, `lines` times; returns where it goes on.
std::size_t read_lines(std::span<const double> numbers, std::size_t streams, std::size_t spacing,
                       std::size_t at, std::size_t lines) {
    std::array<double, line_doubles> sums{};
    for (std::size_t i = 0; i < lines; ++i, at += line_doubles) {
        if (at + line_doubles > spacing) at = 0;
        for (std::size_t stream = 0; stream < streams; ++stream) {
            const double* line = numbers.data() + stream * spacing + at;
            for (std::size_t k = 0; k < line_doubles; ++k) sums[k] += line[k];
        }
    }
    keep(sums);
    return at;
}

}  // namespace

std::vector<stream_point> measure_streams(int cpu, std::int64_t bytes, double seconds) {
    constexpr std::size_t lines_a_step = 1024;
    constexpr double points_in_all = 11;
    std::vector<stream_point> points;
    const untouched_memory memory(bytes);
    const std::span<double> numbers = memory.numbers();
    run_pinned({cpu}, [&](int) {
        std::ranges::fill(numbers, 1.0);
        for (std::size_t streams = 1; streams <= most_streams; streams *= 2) {
            // One part more than there are streams: it has the room for their shifts.
            const std::size_t apart = std::bit_floor(numbers.size() / (streams + 1));
            for (const std::size_t spacing : {apart, apart + shift}) {
                if (streams == 1 && spacing != apart) continue;
                const std::size_t lines = std::max<std::size_t>(lines_a_step / streams, 1);
                std::size_t at = 0;
                const double rate = median_rate(seconds / points_in_all, 9, [&] {
                    at = read_lines(numbers, streams, spacing, at, lines);
                    return static_cast<double>(lines * streams * line_doubles * sizeof(double));
                });
                const auto distance = static_cast<std::int64_t>(streams > 1 ? spacing * sizeof(double) : 0);
                points.push_back({static_cast<int>(streams), distance, rate});
            }
        }
    });
    return points;
}

}  // namespace tauto::probe
