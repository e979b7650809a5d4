// Two threads of a program, with a loop each, over and over:
//
//     tauto-bench-two-threads LIBRARY FIRST SECOND SECONDS [uneven]
//
// LIBRARY is one-team (of ours, used by both threads), two-teams, or arenas (two of oneTBB). FIRST and SECOND
// are the iterations of the two loops, each about 1 µs long. `uneven`: they are the most iterations of a
// call; each call has from 1 to so many, and each iteration takes from 100 to 20,000 times as long, mostly
// little. Prints for each thread its calls a second, the median microseconds of a call, those that 95 % of
// the calls do not exceed, and how often a second it did what takes about 1 µs. Some answers of each call are
// checked: every one where there are few.
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
#include <numeric>
#include <optional>
#include <random>
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

// How often each iteration does what takes about 1 µs.
using lengths = std::vector<int>;
using loop = std::function<void(const lengths& work, std::vector<double>& out)>;

double iterate(std::int64_t i, int times) {
    double x = 0;
    for (int time = 0; time < times; ++time) x = iterate(i + time);
    return x;
}

loop our_loop(tauto::team& team) {
    return [&team](const lengths& work, std::vector<double>& out) {
        tauto::parallel_for(team, std::ssize(work), [&](tauto::range r) {
            for (tauto::index i = r.begin; i < r.end; ++i)
                out[static_cast<std::size_t>(i)] = iterate(i, work[static_cast<std::size_t>(i)]);
        });
    };
}

loop arena_loop(tbb::task_arena& arena) {
    return [&arena](const lengths& work, std::vector<double>& out) {
        arena.execute([&] {
            tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, std::ssize(work)), [&](const auto& r) {
                for (std::int64_t i = r.begin(); i < r.end(); ++i)
                    out[static_cast<std::size_t>(i)] = iterate(i, work[static_cast<std::size_t>(i)]);
            });
        });
    };
}

// The same calls for every library.
class plan {
  public:
    plan(std::int64_t n, bool uneven, unsigned seed) : n_(n), uneven_(uneven), random_(seed) {}
    const lengths& next() {
        if (!uneven_) {
            work_.assign(static_cast<std::size_t>(n_), 1);
            return work_;
        }
        std::uniform_real_distribution<double> part(1e-6, 1);
        work_.resize(1 + random_() % static_cast<std::size_t>(n_));
        for (int& one : work_) one = static_cast<int>(std::min(20'000.0, 100 / part(random_)));
        return work_;
    }

  private:
    std::int64_t n_;
    bool uneven_;
    std::mt19937_64 random_;
    lengths work_;
};

struct result {
    std::vector<double> calls;
    double iterations = 0;
    double seconds = 0;
    bool right = true;
};

result run_calls(const loop& one, plan calls, std::int64_t n, double seconds) {
    result found;
    std::vector<double> out(static_cast<std::size_t>(n));
    const double begun = now();
    double counted = 0;
    for (double start = begun; start - begun < seconds;) {
        std::ranges::fill(out, 0);
        const lengths& work = calls.next();
        one(work, out);
        const double end = now();
        for (std::size_t i = 0; i < work.size(); i += 1 + work.size() / 8)
            found.right &= out[i] == iterate(static_cast<std::int64_t>(i) + work[i] - 1);
        // A third of the time is for what learns.
        if (start - begun > seconds / 3) {
            found.calls.push_back(end - start);
            found.iterations += std::accumulate(work.begin(), work.end(), 0.0);
            counted += now() - start;
        }
        start = now();
    }
    found.seconds = counted;
    return found;
}

void print(result found) {
    if (!found.right) throw std::runtime_error("wrong answer");
    if (found.calls.empty()) throw std::runtime_error("no call ended in time");
    std::ranges::sort(found.calls);
    const auto count = found.calls.size();
    std::printf("%.1f %.2f %.2f %.0f\n", static_cast<double>(count) / found.seconds,
                1e6 * found.calls[count / 2], 1e6 * found.calls[count - 1 - count / 20],
                found.iterations / found.seconds);
}

// The second thread is there before the team: one that a pinned thread makes is born pinned.
void run(std::string_view library, std::array<std::int64_t, 2> n, double seconds, bool uneven) {
    std::barrier both(2);
    std::array<result, 2> found;
    tauto::team* shared = nullptr;
    const auto work = [&](std::size_t which) {
        const auto timed = [&](const loop& one) {
            both.arrive_and_wait();
            found[which] =
                run_calls(one, plan(n[which], uneven, static_cast<unsigned>(which)), n[which], seconds);
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
        const bool uneven = count == 6 && words[5] == std::string_view("uneven");
        const std::string_view library = count == 5 || uneven ? words[1] : "";
        if (library != "one-team" && library != "two-teams" && library != "arenas") {
            throw std::invalid_argument(
                "tauto-bench-two-threads takes LIBRARY FIRST SECOND SECONDS [uneven]; LIBRARY is one-team, "
                "two-teams or arenas");
        }
        const std::array<std::int64_t, 2> n{std::atoll(words[2]), std::atoll(words[3])};
        if (std::ranges::min(n) < 1) throw std::invalid_argument("FIRST and SECOND are at least 1");
        run(library, n, std::atof(words[4]), uneven);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
