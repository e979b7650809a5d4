#include "probe/measured.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "probe/counting.hpp"
#include "probe/fork_join.hpp"
#include "probe/latency.hpp"
#include "probe/memory.hpp"
#include "probe/moving.hpp"
#include "probe/noise.hpp"
#include "probe/reading.hpp"
#include "probe/speeds.hpp"
#include "probe/streams.hpp"
#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return {text, length};
}

void measure_latencies(const std::vector<int>& cpus, const effort& effort, measurements& result,
                       const progress_function& progress) {
    const std::size_t n = cpus.size();
    result.latency_seconds.assign(n, std::vector<std::optional<double>>(n));
    const double pairs = static_cast<double>(n * (n - 1)) / 2;
    for (std::size_t i = 0; i < n; ++i) {
        progress("latency from CPU " + std::to_string(cpus[i]),
                 0.5 + 0.25 * static_cast<double>(i) / static_cast<double>(n));
        for (std::size_t j = i + 1; j < n; ++j) {
            const double trip =
                round_trip_seconds(cpus[i], cpus[j], std::max(0.004, effort.latency_seconds / pairs));
            // Every trip uses both directions of a pair, so only their mean is known.
            result.latency_seconds[i][j] = result.latency_seconds[j][i] = trip / 2;
        }
    }
}

// Measurements with two CPUs, in order of use: those of the first two members of a team.
void measure_teamwork(const std::vector<int>& cpus, std::int64_t l2_bytes, const effort& effort,
                      measurements& result, const progress_function& progress) {
    progress("round trip", 0.75);
    result.round_trip_seconds = round_trip_seconds(cpus[0], cpus[1], effort.launch_seconds);
    progress("barrier", 0.8);
    result.barrier_seconds = barrier_seconds(cpus, effort.launch_seconds);
    progress("fork and join", 0.85);
    result.fork_join_members = static_cast<int>(cpus.size());
    result.tautochrone_fork_join = tautochrone_fork_join(cpus, l2_bytes, effort.launch_seconds);
    progress("OpenMP", 0.9);
    const auto openmp = [&](const char* name, const std::vector<std::string>& files, const char* package) {
        const openmp_costs costs = measure_openmp(files, package, cpus, l2_bytes, effort.launch_seconds);
        if (!costs.why_not.empty())
            result.notes.push_back("fork_join_seconds." + std::string(name) + ": " + costs.why_not);
        return costs;
    };
    const openmp_costs gcc = openmp("libgomp", {"libgomp.so.1"}, "libgomp1");
    const openmp_costs llvm = openmp("libomp", {"libomp.so.5", "libomp.so"}, "libomp5");
    result.libgomp_fork_join = gcc.fork_join;
    result.libgomp_dequeue_seconds = gcc.dequeue_seconds;
    result.libomp_fork_join = llvm.fork_join;
    result.libomp_dequeue_seconds = llvm.dequeue_seconds;
    progress("wake-up", 0.95);
    result.futex_wake = measure_futex_wake(cpus[0], cpus[1], effort.wakes);
}

}  // namespace

effort effort_named(const std::string& name) {
    if (name == "quick") {
        return {.name = name,
                .speeds_seconds = 1.0,
                .triad_seconds = 0.4,
                .read_seconds = 0.5,
                .stream_seconds = 0.3,
                .latency_seconds = 0.2,
                .noise_seconds = 0.3,
                .launch_seconds = 0.15,
                .wakes = 300,
                .moves = 60,
                .most_array_bytes = 512 * mebibyte};
    }
    if (name == "brief") {
        return {.name = name,
                .speeds_seconds = 0.2,
                .triad_seconds = 0.1,
                .read_seconds = 0.3,
                .latency_seconds = 0.05,
                .noise_seconds = 0.05,
                .launch_seconds = 0.04,
                .wakes = 60,
                .moves = 20,
                .most_array_bytes = 512 * mebibyte};
    }
    if (name == "full") {
        return {.name = name,
                .speeds_seconds = 4.0,
                .triad_seconds = 3.0,
                .read_seconds = 3.0,
                .stream_seconds = 1.5,
                .latency_seconds = 1.5,
                .noise_seconds = 2.0,
                .launch_seconds = 0.5,
                .wakes = 2000,
                .moves = 400,
                .most_array_bytes = 2048 * mebibyte};
    }
    throw error("there is no effort '" + name + "'; use none, brief, quick or full");
}

measurements measure(const machine_record& machine, const effort& effort, const progress_function& progress) {
    measurements result;
    const double begun = seconds_now();
    result.when = utc_now();
    result.effort = effort.name;
    const std::vector<int> in_order = select_cpus(machine, "all");
    const std::vector<int> cores = select_cpus(machine, "cores");
    for (const int cpu : machine.allowed_cpus) result.cpus.emplace_back().cpu = cpu;
    result.triad_array_bytes = array_bytes(machine, effort);
    const auto before = read_stat();

    progress("clock noise", 0.0);
    measure_noise(result.cpus, effort.noise_seconds);
    double count = 0;
    progress("filling memory", 0.1);
    measure_speeds(machine, effort, result.triad_array_bytes, result.cpus, [&](int cpu) {
        progress("speed of CPU " + std::to_string(cpu),
                 0.2 + 0.15 * count++ / static_cast<double>(result.cpus.size()));
    });
    result.triad = measure_triad(in_order, effort, result.triad_array_bytes, [&](int members) {
        const double part = static_cast<double>(members) / static_cast<double>(in_order.size());
        progress("triad on " + std::to_string(members), 0.35 + 0.15 * part);
    });
    result.reads = measure_reads(machine, cores, effort, result.triad_array_bytes, [&](std::int64_t set) {
        progress("reading " + std::to_string(set / 1024) + " KiB", 0.5);
    });
    if (effort.stream_seconds > 0) {
        result.streams = measure_streams(cores.front(), result.triad_array_bytes, effort.stream_seconds);
        result.counted = measure_counting(cores.front(), result.triad_array_bytes);
    }
    measure_latencies(machine.allowed_cpus, effort, result, progress);
    if (cores.size() > 1) {
        std::int64_t l2_bytes = 0;
        for (const int cpu : cores) l2_bytes = std::max(l2_bytes, l2_bytes_of(machine, cpu));
        measure_teamwork(cores, l2_bytes, effort, result, progress);
        progress("moves", 0.97);
        result.moves = measure_moves(pairs_to_move_between(machine, cores), l2_bytes, effort.moves);
    } else {
        result.notes.emplace_back(
            "round_trip, barrier, fork_join, futex_wake and moves need two cores; one may be used here");
    }
    fill_steal(before, read_stat(), result.cpus);
    result.elapsed_seconds = seconds_now() - begun;
    progress("", 1.0);
    return result;
}

}  // namespace tauto::probe
