// Ours, with no settings but the wait policy; and the plain loops that some of it is held against.

#include <sched.h>
#include <time.h>

#include <functional>
#include <tauto/tauto.hpp>

#include "benchmarks/programs/race.hpp"
#include "benchmarks/programs/works.hpp"

namespace {

using namespace tauto::bench;

struct request {
    std::string work;
    amounts wanted;
    race_cell cell;
    bool plain = false;
    bool unordered = false;
    int members = 8;
};

tauto::team_options team_of(const options& asked) {
    tauto::team_options wanted{.cpus = asked.cpus};
    if (asked.wait != "default") wanted.wait = tauto::wait_policy_from(asked.wait);
    return wanted;
}

void pin_to_first(const options& asked) {
    tauto::runner::pin_to(std::span(asked.cpus).first(1));  // a team pins its caller itself
}

// An empty parallel_for over all members. `static_` forks always; `adaptive` would learn that an empty loop
// is not worth it.
json launch(const options& asked) {
    tauto::team members{team_of(asked)};
    const auto n = static_cast<tauto::index>(members.size());
    const tauto::loop_options forked{.schedule = tauto::static_{}};

    std::vector<int> ran_on(asked.cpus.size(), -1);
    tauto::parallel_for(
        members, n, [&](tauto::range, int rank) { ran_on[static_cast<std::size_t>(rank)] = sched_getcpu(); },
        forked);
    require_every_cpu(asked, ran_on);
    return timed_launches(asked, ran_on, [&] {
        tauto::parallel_for(
            members, n, [](tauto::range) {}, forked);
    });
}

json barrier(const options& asked) {
    tauto::team team{team_of(asked)};
    std::vector<double> batches;
    team.run([&](tauto::member& me) {
        std::vector<double> mine = barrier_seconds(me, asked);
        if (me.rank() == 0) batches = std::move(mine);
    });
    json row = timed(batches);
    row["members"] = team.size();
    row["wait"] = asked.wait;
    row["cpus"] = asked.cpus;
    return row;
}

// In index order, or unordered.
json sum(const options& asked, const request& what) {
    tauto::team team{team_of(asked)};
    const tauto::reduce_options options{.unordered = what.unordered};
    json row = timed_sum(asked, what.wanted, [&](const std::vector<double>& values) {
        return tauto::parallel_reduce(
            team, std::ssize(values), 0.0,
            [&](tauto::index i) { return values[static_cast<std::size_t>(i)]; }, std::plus<>{}, options);
    });
    row["unordered"] = what.unordered;
    return row;
}

json gaps(const options& asked, const request& what) {
    tauto::team team{team_of(asked)};
    return timed_gaps(asked, what.wanted, [&](std::vector<float>& values) {
        tauto::parallel_for(team, std::ssize(values), [&](tauto::range r) {
            float* const data = values.data();
            for (std::ptrdiff_t i = r.begin; i < r.end; ++i) data[i] *= 1.0000001F;
        });
    });
}

// -- short loops: the sum of a few floats, too short to fork --

// The compiler must neither know the values nor their number, nor find a sum unused.
template <class Number>
void forget(Number& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

template <class Sum>
json timed_short_loop(const options& asked, tauto::index n, Sum&& sum) {
    constexpr int loops_a_batch = 1000;
    std::vector<float> values(static_cast<std::size_t>(n), 1.0F);
    const float* data = values.data();
    float total = 0.0F;
    json row = timed(batch_seconds(asked, loops_a_batch, [&] {
        tauto::index count = n;
        forget(data);
        forget(count);
        total = sum(data, count);
        forget(total);
    }));
    if (total != static_cast<float>(n)) throw std::runtime_error("the sum is wrong");
    row["floats"] = n;
    return row;
}

json plain_short_loop(const options& asked, const request& what) {
    pin_to_first(asked);
    return timed_short_loop(asked, what.wanted.floats, [](const float* data, tauto::index count) {
        float total = 0.0F;
        for (tauto::index i = 0; i < count; ++i) total += data[i];
        return total;
    });
}

json short_loop(const options& asked, const request& what) {
    tauto::team members{team_of(asked)};
    struct alignas(128) partial {
        float sum;
    };
    std::vector<partial> parts(static_cast<std::size_t>(members.size()));
    // As a program would write it: each member adds to its own part, and the parts are added up. All of that
    // counts as ours.
    return timed_short_loop(asked, what.wanted.floats, [&](const float* data, tauto::index count) {
        for (partial& part : parts) part.sum = 0.0F;
        tauto::parallel_for(members, count, [&](tauto::range r, int rank) {
            float sum = 0.0F;
            for (tauto::index i = r.begin; i < r.end; ++i) sum += data[i];
            parts[static_cast<std::size_t>(rank)].sum += sum;
        });
        float total = 0.0F;
        for (const partial& part : parts) total += part.sum;
        return total;
    });
}

// -- small loops on more members than CPUs, and the CPU time that the team uses once the last loop is over --

// What a program sees of a team that has nothing to do: from 5 ms after the last loop, for a tenth of a
// second.
constexpr double settle_seconds = 0.005;
constexpr double window_seconds = 0.1;

void sleep_until(double seconds) {
    timespec until{};
    until.tv_sec = static_cast<time_t>(seconds);
    until.tv_nsec = static_cast<long>(1e9 * (seconds - static_cast<double>(until.tv_sec)));
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
}

double process_cpu_seconds() {
    timespec used{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

// Not inlined, so that the team and the single thread run the same instructions.
[[gnu::noinline]] void scale(float* values, tauto::range r) {
    for (tauto::index i = r.begin; i < r.end; ++i) values[i] *= 1.0000001F;
    asm volatile("" : : "r"(values) : "memory");
}

// Nothing is warmed up but the data and the CPU: what a team has to learn is part of its time.
template <class Loop>
json timed_small_loops(const amounts& wanted, Loop&& loop) {
    std::vector<float> values(static_cast<std::size_t>(wanted.floats), 1.0F);
    for (int i = 0; i < wanted.loops / 10; ++i) scale(values.data(), {0, wanted.floats});
    const double start = seconds_now();
    for (int i = 0; i < wanted.loops; ++i) loop(values.data());
    const double end = seconds_now();
    sleep_until(end + settle_seconds);
    const double used_before = process_cpu_seconds();
    const double from = seconds_now();
    sleep_until(from + window_seconds);
    const double used = process_cpu_seconds() - used_before;
    json row;
    row["schema"] = schema;
    row["seconds"] = end - start;
    row["loops"] = wanted.loops;
    row["floats"] = wanted.floats;
    row["idle_cpu_seconds"] = used;
    row["idle_window_seconds"] = seconds_now() - from;
    return row;
}

json plain_small_loops(const options& asked, const request& what) {
    pin_to_first(asked);
    return timed_small_loops(what.wanted, [&](float* values) { scale(values, {0, what.wanted.floats}); });
}

json small_loops(const options& asked, const request& what) {
    tauto::team_options wanted = team_of(asked);
    wanted.size = what.members;
    tauto::team members{wanted};
    json row = timed_small_loops(what.wanted, [&](float* values) {
        tauto::parallel_for(members, what.wanted.floats, [&](tauto::range r) { scale(values, r); });
    });
    row["members"] = members.size();
    row["oversubscribed"] = members.oversubscribed();
    return row;
}

// -- a cell of the race, with no settings --

struct our_race {
    tauto::team& team;

    template <class Body>
    void loop(std::ptrdiff_t n, Body&& body) const {
        tauto::parallel_for(team, n, [&](tauto::range r) { body(r.begin, r.end); });
    }
    template <class Part>
    [[nodiscard]] double sum(std::ptrdiff_t n, Part&& of_part) const {
        return tauto::parallel_reduce(
            team, n, 0.0, [&](tauto::range r) { return of_part(r.begin, r.end); }, std::plus<>{});
    }
    template <class One>
    [[nodiscard]] double tasks(std::ptrdiff_t n, One&& one) const {
        return tauto::parallel_reduce(
            team, n, 0.0, [&](tauto::index i) { return one(i); },
            // As a program's own way to fold results: its order counts. Not a function's address, as the
            // peers' additions are inlined too.
            [](double& left, double right) { left += right; });
    }
};

struct plain_race {
    template <class Body>
    void loop(std::ptrdiff_t n, Body&& body) const {
        body(std::ptrdiff_t{0}, n);
    }
    template <class Part>
    [[nodiscard]] double sum(std::ptrdiff_t n, Part&& of_part) const {
        return of_part(std::ptrdiff_t{0}, n);
    }
    template <class One>
    [[nodiscard]] double tasks(std::ptrdiff_t n, One&& one) const {
        double sum = 0;
        for (std::ptrdiff_t i = 0; i < n; ++i) sum += one(i);
        return sum;
    }
};

json race(const options& asked, const request& what) {
    if (what.plain) {
        pin_to_first(asked);
        return timed_cell(asked, what.cell, plain_race{}, plain_race{});
    }
    tauto::team team{team_of(asked)};
    return timed_cell(asked, what.cell, our_race{team}, our_race{team});
}

json run(const options& asked, const request& what) {
    if (what.work == "race") return race(asked, what);
    if (what.work == "launch") return launch(asked);
    if (what.work == "barrier") return barrier(asked);
    if (what.work == "gaps") return gaps(asked, what);
    if (what.work == "sum") return sum(asked, what);
    if (what.work == "short-loop")
        return what.plain ? plain_short_loop(asked, what) : short_loop(asked, what);
    return what.plain ? plain_small_loops(asked, what) : small_loops(asked, what);
}

}  // namespace

int main(int argc, char** argv) {
    request what;
    return run_program(
        argc, argv, "tauto-bench-tautochrone", "Tautochrone, or a plain loop, at one of the suite's works.",
        [&](arguments& app) {
            app.work(what.work, {"launch", "barrier", "sum", "gaps", "short-loop", "small-loops", "race"});
            add_amounts(app, what.wanted);
            add_cell(app, what.cell, {"default"});
            app.flag("--plain", what.plain, "short-loop, small-loops, race: by one thread, without a team");
            app.flag("--unordered", what.unordered, "sum: add in any order");
            app.number("--members", what.members, "small-loops: size of the team");
        },
        [&](const options& asked) {
            json row = run(asked, what);
            row["library"] = what.plain ? "none" : "tautochrone";
            return row;
        });
}
