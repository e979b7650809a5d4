// Two threads of a program, with a loop each, over and over:
//
//     tauto-bench-two-threads LIBRARY FIRST SECOND SECONDS
//
// LIBRARY is one-team (of ours, used by both threads), two-teams, or arenas (two of oneTBB). FIRST and SECOND
// are the iterations of the two loops, each about 1 µs long. Prints for each thread its calls a second, the
// median microseconds of a call, and those that 95 % of the calls do not exceed. Every answer is checked.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tauto/tauto.hpp>
#include <thread>
#include <vector>

namespace {

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// About 1 µs.
double iterate(std::int64_t i) {
    double x = static_cast<double>(i);
    for (int step = 0; step < 400; ++step) x = x * 0.999 + 1e-9;
    return x;
}

using loop = std::function<void(std::vector<double>& out)>;

loop our_loop(tauto::team& team) {
    return [&team](std::vector<double>& out) {
        tauto::parallel_for(team, std::ssize(out), [&](tauto::range r) {
            for (tauto::index i = r.begin; i < r.end; ++i) out[static_cast<std::size_t>(i)] = iterate(i);
        });
    };
}

loop arena_loop(tbb::task_arena& arena) {
    return [&arena](std::vector<double>& out) {
        arena.execute([&] {
            tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, std::ssize(out)), [&](const auto& r) {
                for (std::int64_t i = r.begin(); i < r.end(); ++i)
                    out[static_cast<std::size_t>(i)] = iterate(i);
            });
        });
    };
}

struct result {
    std::vector<double> calls;
    double seconds = 0;
    bool right = true;
};

result run_calls(const loop& one, std::int64_t n, double seconds) {
    result found;
    std::vector<double> out(static_cast<std::size_t>(n));
    const double begun = now();
    for (double start = begun; start - begun < seconds;) {
        std::ranges::fill(out, 0);
        one(out);
        const double end = now();
        // A third of the time is for what learns.
        if (start - begun > seconds / 3) found.calls.push_back(end - start);
        start = end;
    }
    found.seconds = seconds * 2 / 3;
    for (std::int64_t i = 0; i < n; ++i) found.right &= out[static_cast<std::size_t>(i)] == iterate(i);
    return found;
}

void print(result found) {
    if (!found.right) throw std::runtime_error("wrong answer");
    if (found.calls.empty()) throw std::runtime_error("no call ended in time");
    std::ranges::sort(found.calls);
    const auto count = found.calls.size();
    std::printf("%.1f %.2f %.2f\n", static_cast<double>(count) / found.seconds, 1e6 * found.calls[count / 2],
                1e6 * found.calls[count - 1 - count / 20]);
}

// The second thread is there before the team: one that a pinned thread makes is born pinned.
void run(std::string_view library, std::array<std::int64_t, 2> n, double seconds) {
    std::barrier both(2);
    std::array<result, 2> found;
    tauto::team* shared = nullptr;
    const auto work = [&](std::size_t which) {
        const auto timed = [&](const loop& one) {
            both.arrive_and_wait();
            found[which] = run_calls(one, n[which], seconds);
            both.arrive_and_wait();
        };
        if (library == "arenas") {
            tbb::task_arena arena;
            timed(arena_loop(arena));
        } else if (library == "two-teams") {
            tauto::team own;
            timed(our_loop(own));
        } else {
            timed(our_loop(*shared));
        }
    };
    std::thread other([&] {
        both.arrive_and_wait();
        work(1);
    });
    std::optional<tauto::team> team;
    if (library == "one-team") shared = &team.emplace();
    both.arrive_and_wait();
    work(0);
    other.join();
    for (result& one : found) print(std::move(one));
}

}  // namespace

int main(int count, char** words) {
    try {
        const std::string_view library = count == 5 ? words[1] : "";
        if (library != "one-team" && library != "two-teams" && library != "arenas") {
            throw std::invalid_argument(
                "tauto-bench-two-threads takes LIBRARY FIRST SECOND SECONDS; LIBRARY is one-team, two-teams "
                "or "
                "arenas");
        }
        const std::array<std::int64_t, 2> n{std::atoll(words[2]), std::atoll(words[3])};
        if (std::ranges::min(n) < 1) throw std::invalid_argument("FIRST and SECOND are at least 1");
        run(library, n, std::atof(words[4]));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
