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
    const double alone = core.pair_cycles / core.turbo(1);
    const double pair = core.pair_cycles / core.turbo(ranks);
    nbody_result result;
    const double predict = core.predict_cycles / core.pair_cycles;  // of one particle, in pairs
    const double correct = core.correct_cycles / core.pair_cycles;
    result.serial_seconds = alone * (n * active + predict * n + correct * active);
    const bool openmp = asked.engine == "openmp_loops" || asked.engine == "openmp_region";
    const bool shared = openmp || asked.engine == "threads";
    if (asked.scheme == "serial") {
        result.force_seconds = alone * n * active;
        result.predict_seconds = alone * predict * n;
        result.correct_seconds = alone * correct * active;
    } else if (asked.scheme == "i") {
        const double mine = static_cast<double>((asked.active + ranks - 1) / ranks);
        result.force_seconds = pair * n * mine;
        // Processes predict all particles each; threads share it out and read each other's.
        result.predict_seconds = pair * predict * n / (shared ? ranks : 1);
        result.correct_seconds = pair * correct * mine;
    } else {
        const double sources = static_cast<double>((asked.particles + ranks - 1) / ranks);
        result.force_seconds = pair * sources * active;
        result.predict_seconds = pair * predict * sources;
        result.correct_seconds = pair * correct * active;
    }
    if (asked.scheme != "serial") {
        if (openmp) {
            const bool loops = asked.engine == "openmp_loops";
            const nanoseconds one = loops ? scaled_to(on.fork_join_openmp, on.cost_members, ranks)
                                          : scaled_to(on.barrier, on.cost_members, ranks);
            result.fork_join_seconds = loops_in_a_block * static_cast<double>(one) * 1e-9;
        } else {
            collective_request exchange;
            exchange.ranks = ranks;
            exchange.library = asked.engine;
            exchange.operation = asked.scheme == "i" ? "all_gather" : "all_reduce";
            exchange.words =
                static_cast<std::int64_t>(active * (asked.scheme == "i" ? words_of_state : words_of_force));
            result.exchange_seconds = simulate_collective(on, exchange).seconds;
            exchange.words = asked.scheme == "i" ? ranks : 1;
            result.exchange_latency_seconds = simulate_collective(on, exchange).seconds;
        }
    }
    result.seconds = result.force_seconds + result.predict_seconds + result.correct_seconds +
                     result.exchange_seconds + result.fork_join_seconds;
    return result;
}

}  // namespace tauto::sim
