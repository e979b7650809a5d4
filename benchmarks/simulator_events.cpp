// How many events a second the simulator takes: its queue alone, and whole loops with a shared counter.

#include <chrono>
#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>

#include "event_queue.hpp"
#include "loop.hpp"

namespace {

using namespace tauto::sim;

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Each actor's next event is up to a microsecond later, as members of a loop have it.
double queue_events_per_second(std::uint32_t actors) {
    event_queue queue(actors);
    for (actor_id actor = 0; actor < actors; ++actor) queue.schedule(actor, actor % 1000);
    std::uint64_t random = 88172645463325252U;
    constexpr int count = 5'000'000;
    const double begin = seconds_now();
    for (int i = 0; i < count; ++i) {
        const event next = queue.take();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        queue.schedule(next.actor, next.at + 1 + static_cast<nanoseconds>(random % 1000));
    }
    return count / (seconds_now() - begin);
}

json core(int cores) {
    return {{"kind", "core"},
            {"cores", cores},
            {"hardware_threads_per_core", 1},
            {"turbo_hertz", {4e9}},
            {"stream_cycles_per_byte", 0.25},
            {"l2_bytes", 1e6},
            {"l2_shared_by_cores", 1},
            {"l2_bytes_per_cycle", 32},
            {"core_last_level_bytes_per_second", 40e9},
            {"core_memory_bytes_per_second", 20e9},
            {"state_hertz", {4e9}},
            {"state_active_watts", {8}}};
}

double loop_events_per_second(int cores, std::int64_t size) {
    const machine on = read_machine({{"name", "benchmark"},
                                     {"kinds", {core(cores)}},
                                     {"packages", 1},
                                     {"last_level_bytes", 3e7},
                                     {"last_level_bytes_per_second", 4e11},
                                     {"memory_bytes_per_second", 8e10},
                                     {"line_bytes", 64},
                                     {"cost_members", cores}});
    loop_request asked;
    asked.size = size;
    asked.schedule = "dynamic";
    asked.repetitions = 20;
    const double begin = seconds_now();
    const loop_result found = simulate_loop(on, asked);
    return static_cast<double>(found.events) / (seconds_now() - begin);
}

}  // namespace

int main() {
    const nlohmann::ordered_json row = {
        {"schema", "tautochrone.benchmark/1"},
        {"library", "none"},
        {"queue_24_events_per_second", queue_events_per_second(24)},
        {"queue_1000_events_per_second", queue_events_per_second(1000)},
        {"queue_100000_events_per_second", queue_events_per_second(100'000)},
        {"loop_24_events_per_second", loop_events_per_second(24, 50'000)},
        {"loop_1000_events_per_second", loop_events_per_second(1000, 50'000)}};
    std::cout << row.dump() << std::endl;
}
