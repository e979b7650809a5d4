// Programs drawn at random, held against serial execution: loops, reductions, stops, exceptions, teams,
// masks, threads, forks and runs of members, one after the other in one process.
//
//   tauto-fuzz --seconds 60 --seed 7     programs from seed 7 on, until a minute is over
//   tauto-fuzz --seed 7 --programs 1     the program of seed 7 alone
//
// A finding names the seed, the action and what was wrong, and ends with code 1.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

namespace tauto {
namespace {

using detail::at;
using detail::usize;

struct finding : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct thrown_by_body : std::runtime_error {
    thrown_by_body() : std::runtime_error("thrown by the body") {}
};

void require(bool holds, const char* what) {
    if (!holds) throw finding(what);
}

// x -> a x + b, modulo 2^64: composing these is associative, does not commute, and is exact.
struct affine {
    std::uint64_t a = 1;
    std::uint64_t b = 0;
    friend affine operator*(const affine& outer, const affine& inner) {
        return {outer.a * inner.a, outer.a * inner.b + outer.b};
    }
    friend bool operator==(const affine&, const affine&) = default;
};

affine affine_of(index i) {
    const auto x = static_cast<std::uint64_t>(i) * 0x9e3779b97f4a7c15U;
    return {x | 1, x >> 7};
}

class program {
  public:
    explicit program(std::uint64_t seed) : random_(seed) {}

    // One program of up to 30 actions; counts those that it did.
    void run(std::uint64_t& actions) {
        const int length = 1 + below(30);
        for (int step = 0; step < length; ++step) {
            act();
            ++actions;
        }
    }
    [[nodiscard]] const char* doing() const { return doing_; }

  private:
    int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
    bool chance(int one_in) { return below(one_in) == 0; }

    void act() {
        struct choice {
            int weight;
            const char* name;
            void (program::*action)();
        };
        static constexpr std::array choices = {
            choice{12, "a loop", &program::loop},
            choice{6, "a loop that is stopped", &program::stopped_loop},
            choice{6, "a loop that throws", &program::throwing_loop},
            choice{8, "a reduction", &program::reduction},
            choice{3, "a reduction that is stopped", &program::stopped_reduction},
            choice{4, "a map and reduce", &program::tasks},
            choice{8, "a run of members", &program::members_run},
            choice{3, "a run of members that throws", &program::throwing_run},
            choice{3, "a nested loop", &program::nested},
            choice{2, "two threads", &program::two_threads},
            choice{3, "a new team", &program::new_team},
            choice{1, "another affinity mask", &program::other_mask},
            choice{1, "a fork", &program::forked},
        };
        static const int all = std::accumulate(choices.begin(), choices.end(), 0,
                                               [](int sum, const choice& one) { return sum + one.weight; });
        int drawn = below(all);
        for (const choice& one : choices) {
            drawn -= one.weight;
            if (drawn >= 0) continue;
            doing_ = one.name;
            (this->*one.action)();
            return;
        }
    }

    team& some_team() {
        if (teams_.empty()) new_team();
        return *teams_[usize(below(static_cast<int>(teams_.size())))];
    }

    void new_team() {
        if (teams_.size() >= 3 || (!teams_.empty() && chance(3))) {
            teams_.erase(teams_.begin() + below(static_cast<int>(teams_.size())));
            if (!teams_.empty()) return;
        }
        static constexpr std::array waits = {wait_policy::balanced, wait_policy::active,
                                             wait_policy::passive};
        team_options options{.size = 1 + below(4), .wait = waits[usize(below(3))], .pin = !chance(4)};
        teams_.push_back(std::make_unique<team>(options));
    }

    index some_length() {
        static constexpr std::array<index, 10> lengths = {0, 1, 2, 3, 5, 17, 64, 129, 1000, 4097};
        return lengths[usize(below(static_cast<int>(lengths.size())))];
    }

    schedule some_schedule() {
        const index chunk = 1 + below(40);
        switch (below(9)) {
            case 0:
                return static_{};
            case 1:
                return static_chunk{chunk};
            case 2:
                return dynamic{chunk};
            case 3:
                return guided{chunk};
            case 4:
                return weighted{};
            default:
                return adaptive{};
        }
    }

    site& some_site() { return sites_[usize(below(static_cast<int>(sites_.size())))]; }

    // What iteration i costs, in turns of a loop.
    std::function<int(index)> some_cost(index n) {
        const int scale = chance(3) ? 400 : 10;
        switch (below(4)) {
            case 0:
                return [scale, n](index i) { return static_cast<int>(scale * i / std::max<index>(1, n)); };
            case 1:
                return [scale](index i) { return i == 0 ? 20 * scale : scale / 4; };
            case 2:
                return [scale](index i) { return static_cast<int>(i * 7919 % (2 * scale)); };
            default:
                return [scale](index) { return scale; };
        }
    }

    static void spend(int turns) {
        volatile int left = turns;
        while (left > 0) left = left - 1;
    }

    void loop() {
        team& members = some_team();
        const index n = some_length();
        const auto cost = some_cost(n);
        std::vector<int> runs(usize(n));
        std::atomic<bool> rank_wrong{false};
        const int repeats = chance(4) ? 40 : 1 + below(4);
        const schedule chosen = some_schedule();
        site& where = some_site();
        for (int repeat = 0; repeat < repeats; ++repeat) {
            loop_report report;
            const bool asked = chance(2);
            const bool all =
                parallel_for(members, n,
                             [&](range r, int rank) {
                                 if (rank < 0 || rank >= members.size()) rank_wrong = true;
                                 for (index i = r.begin; i < r.end; ++i) {
                                     spend(cost(i));
                                     ++at(runs, i);
                                 }
                             },
                             {.schedule = chosen, .site = &where, .report = asked ? &report : nullptr});
            require(all, "a loop that nobody stopped says that it was stopped");
            if (asked && !report.iterations.empty()) {
                require(std::accumulate(report.iterations.begin(), report.iterations.end(), index{0}) == n,
                        "the report's iterations are not the loop's");
            }
        }
        require(!rank_wrong, "a body had a rank that its team does not have");
        require(std::all_of(runs.begin(), runs.end(), [&](int count) { return count == repeats; }),
                "an index was not run exactly once");
    }

    void stopped_loop() {
        team& members = some_team();
        const index n = some_length();
        const index last = n == 0 ? 0 : below(static_cast<int>(n));
        std::stop_source source;
        if (chance(8)) source.request_stop();
        std::vector<std::atomic<int>> runs(usize(n));
        const bool all =
            parallel_for(members, n,
                         [&](index i) {
                             if (i == last) source.request_stop();
                             runs[usize(i)].fetch_add(1, std::memory_order_relaxed);
                         },
                         {.schedule = some_schedule(), .stop = source.get_token(), .site = &some_site()});
        const auto done = std::accumulate(runs.begin(), runs.end(), index{0},
                                          [](index sum, const std::atomic<int>& one) { return sum + one; });
        require(std::all_of(runs.begin(), runs.end(), [](const auto& one) { return one <= 1; }),
                "an index of a stopped loop was run twice");
        require(all == (done == n), "a stopped loop says that it ran all, or the other way round");
    }

    void throwing_loop() {
        team& members = some_team();
        const index n = std::max<index>(1, some_length());
        const index bad = below(static_cast<int>(n));
        bool caught = false;
        try {
            parallel_for(members, n,
                         [&](range r) {
                             if (r.begin <= bad && bad < r.end) throw thrown_by_body();
                         },
                         {.schedule = some_schedule(), .site = &some_site()});
        } catch (const thrown_by_body&) {
            caught = true;
        }
        require(caught, "an exception of a body was not rethrown at the call");
    }

    void reduction() {
        team& members = some_team();
        const index n = some_length();
        affine expected;
        for (index i = 0; i < n; ++i) expected = expected * affine_of(i);
        const reduce_options options{
            .schedule = some_schedule(), .site = &some_site(), .grain = below(3) * below(50)};
        const auto combine = [](const affine& left, const affine& right) { return left * right; };
        require(parallel_reduce(members, n, affine{}, affine_of, combine, options) == expected,
                "a reduction of values that do not commute is wrong");
        const auto sum_of = [](range r) {
            double sum = 0;
            for (index i = r.begin; i < r.end; ++i) sum += 1.0 / static_cast<double>(i + 1);
            return sum;
        };
        const reduce_options plain{.grain = options.grain};
        team one{team_options{.size = 1, .pin = false}};
        const double here = parallel_reduce(members, n, 0.0, sum_of, std::plus<>{}, options);
        const double alone = parallel_reduce(one, n, 0.0, sum_of, std::plus<>{}, plain);
        require(std::memcmp(&here, &alone, sizeof here) == 0, "a reduction has other bits on another team");
    }

    void stopped_reduction() {
        team& members = some_team();
        const index n = std::max<index>(1, some_length());
        const index last = below(static_cast<int>(n));
        std::stop_source source;
        try {
            const index sum = parallel_reduce(
                members, n, index{0},
                [&](index i) {
                    if (i == last) source.request_stop();
                    return i;
                },
                std::plus<>{},
                {.schedule = some_schedule(), .stop = source.get_token(), .site = &some_site()});
            require(sum == n * (n - 1) / 2, "a stopped reduction gave a number that is not the whole");
        } catch (const stopped&) {
        }
    }

    void tasks() {
        team& members = some_team();
        std::vector<index> items(usize(some_length()));
        std::iota(items.begin(), items.end(), below(100));
        std::vector<index> expected;
        for (const index item : items) expected.push_back(item * item);
        const auto found = map_reduce<std::vector<index>>(
            members, items, [](index item) { return std::vector<index>{item * item}; },
            [](std::vector<index>& all, const std::vector<index>& more) {
                all.insert(all.end(), more.begin(), more.end());
            });
        require(found == expected, "map_reduce gave its results in another order");
    }

    // The same operations on every member: drawn before the run.
    void members_run() {
        team& members = some_team();
        std::vector<int> operations(usize(1 + below(12)));
        for (int& operation : operations) operation = below(7);
        const auto length = static_cast<std::size_t>(some_length()) % 700;
        std::atomic<int> wrong{0};
        const auto size = static_cast<std::uint64_t>(members.size());
        members.run([&](member& me) {
            const auto rank = static_cast<std::uint64_t>(me.rank());
            std::vector<std::uint64_t> data(length);
            std::vector<std::uint64_t> whole(length * size);
            for (const int operation : operations) {
                std::iota(data.begin(), data.end(), rank);
                bool right = true;
                switch (operation) {
                    case 0:
                        me.barrier();
                        break;
                    case 1:
                        right = me.all_reduce(rank, std::plus<>{}) == size * (size - 1) / 2;
                        break;
                    case 2:
                        me.all_reduce(std::span(data), std::plus<>{});
                        for (std::size_t i = 0; i < length; ++i)
                            right = right && data[i] == size * i + size * (size - 1) / 2;
                        break;
                    case 3:
                        me.all_gather(std::span<const std::uint64_t>(data), std::span(whole));
                        for (std::size_t i = 0; i < whole.size(); ++i)
                            right = right && whole[i] == i / length + i % length;
                        break;
                    case 4:
                        right = me.scan(std::uint64_t{1}, std::plus<>{}) == rank + 1;
                        break;
                    case 5: {
                        const int root = static_cast<int>(length % size);
                        me.broadcast(std::span(data), root);
                        for (std::size_t i = 0; i < length; ++i)
                            right = right && data[i] == i + static_cast<std::uint64_t>(root);
                        break;
                    }
                    default:
                        me.wait(me.arrive());
                        break;
                }
                if (!right) ++wrong;
            }
        });
        require(wrong == 0, "a collective gave a wrong result");
    }

    void throwing_run() {
        team& members = some_team();
        const int who = below(members.size());
        const int when = below(6);
        const auto length = static_cast<std::size_t>(some_length());
        const bool in_operator = chance(3) && members.size() > 1;
        bool caught = false;
        try {
            members.run([&](member& me) {
                std::vector<double> data(std::max<std::size_t>(1, length), 1.0);
                for (int step = 0; step < 6; ++step) {
                    if (step == when && me.rank() == who && !in_operator) throw thrown_by_body();
                    me.all_reduce(std::span(data), [&](double left, double right) {
                        if (step == when && in_operator) throw thrown_by_body();
                        return left + right;
                    });
                }
            });
        } catch (const thrown_by_body&) {
            caught = true;
        }
        require(caught, "an exception in a run was not rethrown at the call");
    }

    void nested() {
        team& outer = some_team();
        team& inner = some_team();
        std::atomic<index> sum{0};
        std::atomic<bool> rank_wrong{false};
        parallel_for(outer, 8,
                     [&](range r, int rank) {
                         for (index i = r.begin; i < r.end; ++i) {
                             parallel_for(inner, 10, [&](range part, int nested_rank) {
                                 if (nested_rank != (&inner == &outer ? rank : 0)) rank_wrong = true;
                                 sum += part.size();
                             });
                         }
                     },
                     {.schedule = some_schedule()});
        require(sum == 80, "nested loops did not run all their iterations");
        require(!rank_wrong, "a nested loop had another rank than its member");
    }

    void two_threads() {
        team& members = some_team();
        std::atomic<index> sum{0};
        const auto loops = [&] {
            for (int repeat = 0; repeat < 20; ++repeat)
                parallel_for(members, 500, [&](range r) { sum += r.size(); });
        };
        std::thread other(loops);
        loops();
        other.join();
        require(sum == index{2} * 20 * 500, "two threads' loops did not run all their iterations");
    }

    // A team that is made under another mask uses it, and the thread has its own again afterwards.
    void other_mask() {
        teams_.clear();
        cpu_set_t before;
        CPU_ZERO(&before);
        if (sched_getaffinity(0, sizeof before, &before) != 0) return;
        std::vector<int> cpus;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &before)) cpus.push_back(cpu);
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(at(cpus, below(static_cast<int>(cpus.size()))), &one);
        sched_setaffinity(0, sizeof one, &one);
        {
            team members{team_options{.size = 1 + below(3)}};
            std::atomic<index> sum{0};
            parallel_for(members, 100, [&](range r) { sum += r.size(); });
            require(sum == 100, "a loop under another mask did not run all its iterations");
        }
        cpu_set_t after;
        CPU_ZERO(&after);
        sched_getaffinity(0, sizeof after, &after);
        sched_setaffinity(0, sizeof before, &before);
        require(CPU_EQUAL(&one, &after), "the thread has another mask than before its team");
    }

    void forked() {
// Neither ThreadSanitizer nor qemu follows a child that starts threads.
#if !defined(__SANITIZE_THREAD__) && !defined(TAUTO_NO_FORKS)
        team& members = some_team();
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            std::atomic<index> sum{0};
            parallel_for(members, 300, [&](range r) { sum += r.size(); }, {.schedule = some_schedule()});
            _exit(sum == 300 ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        require(status == 0, "a forked child could not use the team");
#endif
    }

    std::mt19937_64 random_;
    std::vector<std::unique_ptr<team>> teams_;
    std::array<site, 6> sites_;
    const char* doing_ = "nothing";
};

int fuzz(int argc, char** argv) {
    double seconds = 5;
    std::uint64_t seed = 1;
    std::uint64_t programs = ~std::uint64_t{0};
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--seconds") seconds = std::atof(argv[i + 1]);
        if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
        if (option == "--programs") programs = std::strtoull(argv[i + 1], nullptr, 10);
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::uint64_t actions = 0;
    std::uint64_t done = 0;
    for (; done < programs && std::chrono::steady_clock::now() < end; ++done) {
        program one(seed + done);
        try {
            one.run(actions);
        } catch (const std::exception& found) {
            std::fprintf(stderr, "finding: seed %llu, %s: %s\n", static_cast<unsigned long long>(seed + done),
                         one.doing(), found.what());
            return 1;
        }
    }
    std::printf("%llu programs, %llu actions, no finding\n", static_cast<unsigned long long>(done),
                static_cast<unsigned long long>(actions));
    return 0;
}

}  // namespace
}  // namespace tauto

int main(int argc, char** argv) {
    return tauto::fuzz(argc, argv);
}
