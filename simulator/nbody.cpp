#include "nbody.hpp"

#include <algorithm>

namespace tauto::sim {

namespace {

// Words exchanged for each active particle: its new position, velocity, acceleration, jerk, time and step
// (i), or the partial acceleration, jerk and potential (j).
constexpr double words_of_state = 14;
constexpr double words_of_force = 7;
// The ordinary OpenMP way: predict, forces, correct.
constexpr int loops_in_a_block = 3;

}  // namespace

nbody_result simulate_nbody(const machine& on, const nbody_request& asked) {
    if (asked.particles < 1 || asked.particles > 100'000'000)
        throw input_error("particles must be from 1 to 100000000, not " + std::to_string(asked.particles));
    if (asked.active < 1 || asked.active > asked.particles)
        throw input_error("active must be from 1 to the number of particles, not " +
                          std::to_string(asked.active));
    if (asked.scheme != "serial" && asked.scheme != "i" && asked.scheme != "j")
        throw input_error("scheme '" + asked.scheme + "' is unknown; choose from serial, i, j");
    if (asked.scheme != "serial" && (asked.ranks < 1 || asked.ranks > on.cores()))
        throw input_error("ranks is " + std::to_string(asked.ranks) + "; " + on.name + " has " +
                          std::to_string(on.cores()) + " cores");
    const core_kind& core = on.kinds.front();
    const int ranks = asked.scheme == "serial" ? 1 : asked.ranks;
    const double n = asked.particles;
    const double active = asked.active;
    nbody_result result;
    const double alone = 1 / core.turbo(1);
    result.serial_seconds =
        alone * (core.pair_cycles * n * active + core.predict_cycles * n + core.correct_cycles * active);
    const bool openmp = asked.engine == "openmp_loops" || asked.engine == "openmp_region";
    const bool shared = openmp || asked.engine == "threads";
    // Numbers of particles whose forces a rank computes, which it reads as sources, and which it predicts.
    double targets = active;
    double sources = n;
    double predicted = n;
    if (asked.scheme == "i") {
        targets = static_cast<double>((asked.active + ranks - 1) / ranks);
        // Each process predicts all particles; threads share this work and read each other's results.
        predicted = n / (shared ? ranks : 1);
    } else if (asked.scheme == "j") {
        predicted = sources = static_cast<double>((asked.particles + ranks - 1) / ranks);
    }
    // Parts are equal, so all wait for the slowest kind of core that has a rank.
    double longest = 0;
    int left = ranks;
    for (const core_kind& one : on.kinds) {
        const int here = std::min(left, one.cores);
        if (here == 0) break;
        left -= here;
        const double cycle = 1 / one.turbo(here);
        const double force = cycle * one.pair_cycles * sources * targets;
        const double predict = cycle * one.predict_cycles * predicted;
        const double correct = cycle * one.correct_cycles * targets;
        if (force + predict + correct <= longest) continue;
        longest = force + predict + correct;
        result.force_seconds = force;
        result.predict_seconds = predict;
        result.correct_seconds = correct;
    }
    if (asked.scheme != "serial") {
        if (openmp) {
            const bool loops = asked.engine == "openmp_loops";
            const nanoseconds one = loops ? scaled_to(on.fork_join_libgomp, on.cost_members, ranks)
                                          : scaled_to(on.barrier, on.cost_members, ranks);
            result.fork_join_seconds = loops_in_a_block * static_cast<double>(one) * 1e-9;
        }
        // What OpenMP's threads wrote, the others read from their caches like any threads: nobody is spared
        // the transfer. Only the barrier is in the fork and the join already.
        collective_request exchange;
        exchange.ranks = ranks;
        exchange.library = openmp ? "threads" : asked.engine;
        exchange.operation = "barrier";
        const double counted = openmp ? simulate_collective(on, exchange).seconds : 0;
        exchange.operation = asked.scheme == "i" ? "all_gather" : "all_reduce";
        exchange.words =
            static_cast<std::int64_t>(active * (asked.scheme == "i" ? words_of_state : words_of_force));
        result.exchange_seconds = simulate_collective(on, exchange).seconds - counted;
        exchange.words = asked.scheme == "i" ? ranks : 1;
        result.exchange_latency_seconds = simulate_collective(on, exchange).seconds - counted;
    }
    result.seconds = result.force_seconds + result.predict_seconds + result.correct_seconds +
                     result.exchange_seconds + result.fork_join_seconds;
    return result;
}

}  // namespace tauto::sim
