#include "tasks.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "fields.hpp"
#include "tasks_runtimes.hpp"
#include "tasks_threads.hpp"

namespace tauto::sim {

namespace {

void check(const tasks_request& asked, const machine& on) {
    if (asked.tasks < 1 || asked.tasks > 1'000'000)
        throw input_error("tasks must be from 1 to 1000000, not " + std::to_string(asked.tasks));
    if (!(asked.bytes >= 1 && asked.bytes <= 1e12)) throw input_error("bytes must be from 1 to 1e12");
    if (!(asked.seconds > 0 && asked.seconds <= 100))
        throw input_error("seconds must be above 0, at most 100");
    if (asked.threads < 1 || asked.threads > on.hardware_threads())
        throw input_error("threads is " + std::to_string(asked.threads) + "; " + on.name + " has " +
                          std::to_string(on.hardware_threads()) + " hardware threads");
    const std::vector<std::string> known = {"openmp", "qt", "serial", "tautochrone", "tbb"};
    if (std::find(known.begin(), known.end(), asked.runtime) == known.end())
        throw input_error("runtime '" + asked.runtime +
                          "' is unknown; choose from openmp, qt, serial, tautochrone, tbb");
    if (asked.schedule != "static" && asked.schedule != "dynamic" && asked.schedule != "guided")
        throw input_error("schedule '" + asked.schedule +
                          "' is unknown; choose from static, dynamic, guided");
}

// The repetitions that count, one after the other.
struct repetitions {
    nanoseconds begin = 0;
    nanoseconds end = 0;
    std::int64_t count = 0;
    std::int64_t energy_before = 0;
};

// Repeats the map/reduce until the time is over. The first quarter does not count.
repetitions repeat(const tasks_request& asked, tasks_threads& threads, tasks_runtime& runtime) {
    const nanoseconds length = to_nanoseconds(asked.seconds);
    repetitions done;
    bool counts = false;
    runtime.begin(0);
    for (;;) {
        const event next = threads.next();
        runtime.step(next.actor, next.at);
        if (!runtime.over()) continue;
        done.end = next.at;
        ++done.count;
        const std::int64_t tasks = threads.count().tasks;
        if (tasks != done.count * asked.tasks)
            throw std::logic_error("the schedule handed out " + std::to_string(tasks) + " of " +
                                   std::to_string(done.count * asked.tasks) + " tasks");
        if (!counts && next.at >= length / 4) {
            counts = true;
            done = {next.at, next.at, 0, threads.accounts().energy_until(next.at)};
            threads.count_anew();
        }
        if (next.at >= length && done.count > 0) return done;
        runtime.begin(next.at);
    }
}

}  // namespace

tasks_result simulate_tasks(const machine& on, const tasks_request& asked) {
    check(asked, on);
    tasks_result result;
    result.where = hardware_threads(on);
    result.where.resize(asked.runtime == "serial" ? 1 : asked.threads);
    const double cycles = asked.bytes * on.kinds.front().hash_cycles_per_byte;
    tasks_threads threads(on, result.where, cycles, asked.timeline);
    const auto runtime =
        asked.runtime == "qt" ? make_qt_tasks(threads, asked) : make_fork_join_tasks(threads, asked);
    const repetitions done = repeat(asked, threads, *runtime);

    const tasks_count& count = threads.count();
    const auto inside = static_cast<double>(count.inside);
    const nanoseconds whole = done.end - done.begin;
    const std::int64_t energy = threads.accounts().energy_until(done.end);
    const core_kind& first = on.kinds.front();
    result.repetition = whole / done.count;
    result.alone =
        static_cast<nanoseconds>(cycles * asked.tasks / (first.turbo(1) * first.spread(0)) * 1e9 + 0.5);
    result.task_seconds = inside * 1e-9 / static_cast<double>(count.tasks);
    result.waiting_share = 1 - inside / (static_cast<double>(whole) * threads.size());
    result.load = count.samples > 0 ? count.load_sum / static_cast<double>(count.samples) : 0;
    result.mean_hertz = count.inside > 0 ? count.clock_cycles / inside : 0;
    result.joules =
        static_cast<double>(energy - done.energy_before) * 1e-12 / static_cast<double>(done.count);
    result.repetitions = done.count;
    result.sleeps = count.sleeps / done.count;
    result.events = threads.events();
    threads.accounts().close(done.end);
    threads.accounts().check();
    result.accounts = std::move(threads.accounts());
    return result;
}

}  // namespace tauto::sim
