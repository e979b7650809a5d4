// B7: many small loops on a team with more members than CPUs, against the same loops run by one thread; and
// the CPU time that the team uses once the last loop is over.

#include <time.h>

#include <tauto/tauto.hpp>

#include "benchmarks/program.hpp"

namespace {

using namespace tauto::bench;

// What a program sees of a team that has nothing to do: from 5 ms after the last loop, for a tenth of a
// second.
constexpr double settle_seconds = 0.005;
constexpr double window_seconds = 0.1;

double process_cpu_seconds() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

void sleep_until(double seconds) {
    timespec until{};
    until.tv_sec = static_cast<time_t>(seconds);
    until.tv_nsec = static_cast<long>(1e9 * (seconds - static_cast<double>(until.tv_sec)));
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
}

// Not inlined, so that both programs run the same instructions.
[[gnu::noinline]] void scale(float* values, tauto::range r) {
    for (tauto::index i = r.begin; i < r.end; ++i) values[i] *= 1.0000001F;
    asm volatile("" : : "r"(values) : "memory");
}

struct request {
    bool serial = false;
    int members = 8;
    int loops = 10'000;
    tauto::index floats = 2000;
};

// Nothing is warmed up but the data and the CPU: what a team has to learn is part of its time.
template <class Loop>
json time_loops(const request& what, Loop&& loop) {
    std::vector<float> values(static_cast<std::size_t>(what.floats), 1.0F);
    for (int i = 0; i < what.loops / 10; ++i) scale(values.data(), {0, what.floats});
    const double start = seconds_now();
    for (int i = 0; i < what.loops; ++i) loop(values.data());
    const double end = seconds_now();
    sleep_until(end + settle_seconds);
    const double used_before = process_cpu_seconds();
    const double from = seconds_now();
    sleep_until(from + window_seconds);
    const double used = process_cpu_seconds() - used_before;
    json row;
    row["schema"] = schema;
    row["seconds"] = end - start;
    row["loops"] = what.loops;
    row["floats"] = what.floats;
    row["idle_cpu_seconds"] = used;
    row["idle_window_seconds"] = seconds_now() - from;
    return row;
}

json run(const options& asked, const request& what) {
    if (what.serial) {
        tauto::runner::pin_to(std::span(asked.cpus).first(1));
        json row = time_loops(what, [&](float* values) { scale(values, {0, what.floats}); });
        row["library"] = "none";
        return row;
    }
    tauto::team members{tauto::team_options{.cpus = asked.cpus, .size = what.members}};
    json row = time_loops(what, [&](float* values) {
        tauto::parallel_for(members, what.floats, [&](tauto::range r) { scale(values, r); });
    });
    row["library"] = "tautochrone";
    row["members"] = members.size();
    row["oversubscribed"] = members.oversubscribed();
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    request what;
    return run_program(
        argc, argv, "tauto-bench-oversubscribed", "Many small loops on more members than CPUs.",
        [&](arguments& app) {
            app.flag("--serial", what.serial, "By one thread, without a team");
            app.number("--members", what.members, "Size of the team");
            app.number("--loops", what.loops, "How many loops");
            app.number("--floats", what.floats, "Floats that each loop scales");
        },
        [&](const options& asked) { return run(asked, what); });
}
