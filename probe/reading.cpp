#include "probe/reading.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <map>
#include <span>

#include "kernels/aligned_floats.hpp"
#include "kernels/lanes.hpp"
#include "probe/memory.hpp"
#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

constexpr std::int64_t set_step = 8192;  // sets are multiples of this, in bytes
constexpr std::size_t rows_a_call = 64;
// Between two readings of the clock: long compared with the barriers around it, which take 10 µs and more if
// the other member sleeps.
constexpr std::int64_t least_bytes_a_pass = 16 * mebibyte;
constexpr double wake_seconds = 0.15;
// While a set that the last-level cache holds is read once: as long as a slow core, or other work in between,
// would take.
constexpr double pauses[] = {0.5e-3, 1e-3, 2e-3, 4e-3};
// Points between the given ones, of each curve, and what is too near to look between: in rate and in size.
constexpr int places_between = 3;
constexpr double alike_rates = 1.15;
constexpr double alike_sizes = 1.06;
constexpr double still_held = 0.9;

// Rows as long as those of the square matrix that has `bytes`, as the loop study reads them: each row costs
// something besides its elements, and its length decides where the next one lies in the caches. The length is
// an odd number of lines: the root of most sets is a power of two, which the order of a matrix seldom is.
class matrix_rows {
  public:
    explicit matrix_rows(std::int64_t bytes)
        : length_(padded_length(static_cast<std::size_t>(
                      std::sqrt(static_cast<double>(bytes) / static_cast<double>(sizeof(float))))) |
                  padded_length(1)),
          x_(length_),
          y_(rows_a_call) {}

    [[nodiscard]] std::size_t a_call() const { return rows_a_call * length_; }  // in floats
    // The first of `all`, in whole rows.
    [[nodiscard]] std::span<const float> whole(std::span<const float> all, std::int64_t bytes) const {
        const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(float) / length_;
        return all.subspan(0, std::max<std::size_t>(1, count) * length_);
    }
    // Multiplies a call's rows, `rows_at_once` at a time, as the loop study's body does.
    void multiply(std::span<const float> rows, std::size_t rows_at_once) {
        const auto kernel = lanes::best().rows;
        const std::size_t count = rows.size() / length_;
        for (std::size_t row = 0; row < count; row += rows_at_once) {
            kernel(rows.data() + row * length_, length_, x_.data(), y_.data(), length_,
                   std::min(rows_at_once, count - row));
        }
        float first = y_[0];
        keep(first);
    }

  private:
    std::size_t length_;
    aligned_floats x_;
    aligned_floats y_;
};

// The floats of each of `members`.
std::size_t part_of(std::span<const float> all, std::size_t members) {
    constexpr std::size_t step = set_step / sizeof(float);
    return all.size() / members / step * step;
}

// Bytes a second of all `cpus` together, each reading its own `set` bytes. All read until the first has read
// as much as a pass has, so that a slow CPU counts as what it is and the others do not wait for it. Each
// member takes its own time: one that is away beside its pass would make the others seem faster.
double read_rate(const std::vector<int>& cpus, const untouched_memory& memory, std::int64_t set,
                 std::size_t rows_at_once, double seconds) {
    const std::span<float> all = memory.numbers<float>();
    const std::size_t part = part_of(all, cpus.size());
    const std::int64_t whole = set * static_cast<std::int64_t>(cpus.size());
    const std::int64_t bytes_a_pass = std::max<std::int64_t>(1, least_bytes_a_pass / set) * set;
    std::barrier together(static_cast<std::ptrdiff_t>(cpus.size()));
    std::atomic<bool> over{false};  // the pass
    std::atomic<bool> enough{false};
    std::atomic<double> rate{0};  // of all, in this pass
    std::vector<double> rates;
    run_pinned(cpus, [&](int rank) {
        matrix_rows rows{whole};
        const std::span<const float> mine =
            rows.whole(all.subspan(static_cast<std::size_t>(rank) * part, part), set);
        const std::size_t call = std::min(rows.a_call(), mine.size());
        double begun = 0;
        for (int pass = 0; !enough; ++pass) {
            together.arrive_and_wait();
            const double start = seconds_now();
            if (pass == 0) begun = start;
            std::int64_t own = 0;
            for (std::size_t place = 0; rank == 0 ? own < bytes_a_pass : !over; place += call) {
                if (place >= mine.size()) place = 0;
                const std::span<const float> next = mine.subspan(place, std::min(call, mine.size() - place));
                rows.multiply(next, rows_at_once);
                own += static_cast<std::int64_t>(next.size_bytes());
            }
            const double end = seconds_now();
            if (rank == 0) over = true;
            if (own > 0) rate += static_cast<double>(own) / (end - start);
            together.arrive_and_wait();
            if (rank == 0) {
                if (pass > 0) rates.push_back(rate);
                enough = rates.size() >= 5 && end - begun > seconds;
                over = false;
                rate = 0;
            }
            together.arrive_and_wait();
        }
    });
    return median(rates);
}

// The same for one CPU that waits between the calls, `pause` seconds in total for each pass, like a slow
// core. Data that others bring into the last-level cache meanwhile evicts a part of the set. The waiting is
// not counted.
double read_rate_with_pauses(int cpu, const untouched_memory& memory, std::int64_t set, double pause,
                             double seconds) {
    matrix_rows rows{set};
    const std::span<const float> mine = rows.whole(memory.numbers<float>(), set);
    const std::size_t call = rows.a_call();
    const double each = pause * static_cast<double>(call) / static_cast<double>(mine.size());
    std::vector<double> rates;
    run_pinned({cpu}, [&](int) {
        const double begun = seconds_now();
        for (int pass = 0; rates.size() < 5 || seconds_now() < begun + seconds; ++pass) {
            double reading = 0;
            for (std::size_t place = 0; place < mine.size(); place += call) {
                const double start = seconds_now();
                rows.multiply(mine.subspan(place, std::min(call, mine.size() - place)), rows_a_call);
                const double end = seconds_now();
                reading += end - start;
                while (seconds_now() < end + each) {
                }
            }
            // Only after some passes does the cache hold what these passes leave.
            if (pass >= 3) rates.push_back(static_cast<double>(mine.size_bytes()) / reading);
        }
    });
    return median(rates);
}

// Keeps all CPUs busy for a while. The host of a virtual machine may have put an idle CPU on the core of
// another one, and takes tens of milliseconds to separate them (both were half as fast meanwhile).
void wake(const std::vector<int>& cpus) {
    run_pinned(cpus, [](int) {
        for (const double begun = seconds_now(); seconds_now() < begun + wake_seconds;) {
        }
    });
}

// Every member touches its own part first.
void touch(const std::vector<int>& cpus, const untouched_memory& memory) {
    const std::span<float> all = memory.numbers<float>();
    const std::size_t part = part_of(all, cpus.size());
    run_pinned(cpus, [&](int rank) {
        std::ranges::fill(all.subspan(static_cast<std::size_t>(rank) * part, part), 1.0F);
    });
}

// A set that is too large for an L2 cache to keep any of it, in whole steps.
std::int64_t plateau(std::int64_t l2) {
    return 4 * l2 / set_step * set_step;
}

std::int64_t last_level_bytes(const machine_record& machine) {
    std::int64_t sum = 0;
    for (const cache_record& cache : machine.caches) {
        if (cache.level >= 3) sum += cache.size_bytes;
    }
    return sum;
}

}  // namespace

std::int64_t l2_bytes_of(const machine_record& machine, int cpu) {
    return machine.find_cpu(cpu)->l2_bytes.value_or(512 * 1024);
}

std::vector<std::int64_t> read_sets(std::int64_t l2, std::int64_t last_level, int members,
                                    std::int64_t most) {
    std::vector<std::int64_t> sets;
    const auto add = [&](std::int64_t bytes) {
        const std::int64_t whole = std::min(bytes, most / members) / set_step * set_step;
        if (whole > 0) sets.push_back(whole);
    };
    for (const std::int64_t eighths : {4, 6, 8, 10, 12, 16, 32}) add(l2 * eighths / 8);
    for (const std::int64_t eighths : {1, 2, 4, 6, 8, 16}) add(last_level * eighths / 8 / members);
    add(most / members);
    std::ranges::sort(sets);
    sets.erase(std::unique(sets.begin(), sets.end()), sets.end());
    return sets;
}

std::optional<std::int64_t> steepest_place(std::vector<std::pair<std::int64_t, double>> curve,
                                           std::int64_t least) {
    std::ranges::sort(curve);
    std::optional<std::int64_t> place;
    double most = 0;
    for (std::size_t i = 1; i < curve.size(); ++i) {
        const auto [small, fast] = curve[i - 1];
        const auto [large, slow] = curve[i];
        const double sizes = static_cast<double>(large) / static_cast<double>(small);
        const std::int64_t middle = (small + large) / 2 / set_step * set_step;
        if (small < least || fast < alike_rates * slow || sizes < alike_sizes || middle == small) continue;
        const double error = std::log(fast / slow) * std::log(sizes);
        if (error <= most) continue;
        most = error;
        place = middle;
    }
    return place;
}

std::optional<std::int64_t> largest_held(std::vector<std::pair<std::int64_t, double>> curve,
                                         std::int64_t least) {
    std::ranges::sort(curve);
    std::optional<std::int64_t> held;
    double near = 0;
    for (const auto& [set, rate] : curve) {
        if (set < least) continue;
        if (near == 0) near = rate;
        if (rate < still_held * near) break;
        held = set;
    }
    return held;
}

namespace {

// Reads point after point. All members' parts of the memory are touched.
class reader {
  public:
    reader(const untouched_memory& memory, const std::function<void(std::int64_t)>& step, double seconds)
        : memory_(memory), step_(step), seconds_(seconds) {}

    double read(const std::string& kind, const std::vector<int>& cpus, std::int64_t set, std::size_t rows,
                double pause = 0) {
        const auto members = static_cast<int>(cpus.size());
        if (cpus.size() > awake_) wake(cpus);
        awake_ = cpus.size();
        step_(set * members);
        const double rate = pause > 0 ? read_rate_with_pauses(cpus.front(), memory_, set, pause, seconds_)
                                      : read_rate(cpus, memory_, set, rows, seconds_);
        points.push_back({kind, members, static_cast<int>(rows), set * members, pause, rate});
        return rate;
    }

    // All sets, and places between them.
    std::vector<std::pair<std::int64_t, double>> curve(const std::string& kind, const std::vector<int>& cpus,
                                                       const std::vector<std::int64_t>& sets,
                                                       std::int64_t least) {
        std::vector<std::pair<std::int64_t, double>> found;
        const auto look = [&](std::int64_t set) {
            found.emplace_back(set, read(kind, cpus, set, rows_a_call));
        };
        for (const std::int64_t set : sets) look(set);
        for (int i = 0; i < places_between; ++i)
            if (const auto place = steepest_place(found, least)) look(*place);
        return found;
    }

    std::vector<read_point> points;

  private:
    const untouched_memory& memory_;
    const std::function<void(std::int64_t)>& step_;
    double seconds_;  // a point
    std::size_t awake_ = 1;
};

}  // namespace

std::vector<read_point> measure_reads(const machine_record& machine, const std::vector<int>& cores,
                                      const effort& effort, std::int64_t bytes,
                                      const std::function<void(std::int64_t set)>& step) {
    const std::int64_t last_level = last_level_bytes(machine);
    std::map<std::string, int> first_of;
    std::int64_t smallest_l2 = l2_bytes_of(machine, cores.front());
    for (const int cpu : cores) {
        first_of.emplace(machine.find_cpu(cpu)->kind, cpu);
        smallest_l2 = std::min(smallest_l2, l2_bytes_of(machine, cpu));
    }
    const auto together = read_sets(smallest_l2, last_level, static_cast<int>(cores.size()), bytes);
    const std::size_t about = (first_of.size() + 1) * (together.size() + places_between + 3);
    const untouched_memory memory(bytes);
    touch(cores, memory);
    reader reads(memory, step, effort.read_seconds / static_cast<double>(about));
    for (const auto& [kind, cpu] : first_of) {
        const std::int64_t l2 = l2_bytes_of(machine, cpu);
        const std::vector<std::int64_t> sets = read_sets(l2, last_level, 1, bytes);
        // One row in each call, as in a loop without chunks, from each level.
        reads.read(kind, {cpu}, sets.front(), 1);
        if (std::ranges::find(sets, plateau(l2)) != sets.end() && plateau(l2) < sets.back()) {
            reads.read(kind, {cpu}, plateau(l2), 1);
            reads.read(kind, {cpu}, sets.back(), 1);
        }
        const auto curve = reads.curve(kind, {cpu}, sets, plateau(l2));
        const auto held = largest_held(curve, plateau(l2));
        if (cpu != cores.front() || !held || *held <= plateau(l2) || *held == sets.back()) continue;
        for (const double pause : pauses) reads.read(kind, {cpu}, *held, rows_a_call, pause);
    }
    if (cores.size() > 1) reads.curve("", cores, together, plateau(smallest_l2));
    return std::move(reads.points);
}

}  // namespace tauto::probe
