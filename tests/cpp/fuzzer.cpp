// Programs drawn at random, held against serial execution: loops, reductions, stops, exceptions, teams,
// masks, threads, forks and runs of members, one after the other in one process.
//
//   tauto-fuzz --seconds 60 --seed 7            programs from seed 7 on, until a minute is over
//   tauto-fuzz --seconds 600 --actions 1000000  or until there were a million actions
//   tauto-fuzz --seed 7 --programs 1            the program of seed 7 alone
//
// An action is one call of the runtime: a loop, a reduction, a run, a collective of one member, a team made
// or ended. A finding names the seed, the step and what was wrong, and ends with a code other than 0. A
// crash, a sanitizer's report and a program that takes two minutes are findings too.
//
// verify/README.md says which defects it finds when they are put back.

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
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

// Of a sanitizer's library, where there is one.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*)());

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

void burn(int microseconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
    while (std::chrono::steady_clock::now() < end) {
    }
}

// The program that runs, for those who end it.
struct {
    std::atomic<std::uint64_t> seed{0};
    std::atomic<std::uint64_t> actions{0};
    std::atomic<const char*> doing{"nothing"};
} running;

void say_finding(const char* what) {
    std::fprintf(stderr, "finding after %llu actions: seed %llu, %s: %s\n",
                 static_cast<unsigned long long>(running.actions.load()),
                 static_cast<unsigned long long>(running.seed.load()), running.doing.load(), what);
}

class program {
  public:
    explicit program(std::uint64_t seed) : random_(seed) {}

    // One program of up to 60 steps.
    void run() {
        const int length = 1 + below(60);
        for (int step = 0; step < length; ++step) act();
    }

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
            choice{24, "a loop", &program::loop},
            choice{12, "a loop that is stopped", &program::stopped_loop},
            choice{12, "a loop that throws", &program::throwing_loop},
            choice{16, "a reduction", &program::reduction},
            choice{6, "a reduction that is stopped", &program::stopped_reduction},
            choice{6, "a map and reduce", &program::tasks},
            choice{20, "a run of members", &program::members_run},
            choice{6, "a run of members that throws", &program::throwing_run},
            choice{6, "a run of members that is stopped", &program::stopped_run},
            choice{6, "a nested loop", &program::nested},
            choice{10, "loops and functions in each other", &program::mixed},
            choice{5, "calls in a run of members", &program::nested_in_run},
            choice{5, "two threads", &program::two_threads},
            choice{4, "a new team", &program::new_team},
            choice{1, "another affinity mask", &program::other_mask},
            choice{1, "a fork", &program::forked},
        };
        static const int all = std::accumulate(choices.begin(), choices.end(), 0,
                                               [](int sum, const choice& one) { return sum + one.weight; });
        int drawn = below(all);
        for (const choice& one : choices) {
            drawn -= one.weight;
            if (drawn >= 0) continue;
            running.doing = one.name;
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
            ++actions_;
            if (!teams_.empty()) return;
        }
        static constexpr std::array waits = {wait_policy::balanced, wait_policy::active,
                                             wait_policy::passive};
        team_options options{.size = 1 + below(4), .wait = waits[usize(below(3))], .pin = !chance(4)};
        // Where the kernel sets two members on one CPU, one spins for whole time slices: rarely, since nine
        // tenths of the time would go there.
        if (!options.pin && !chance(12)) options.wait = wait_policy::passive;
        teams_.push_back(std::make_unique<team>(options));
        ++actions_;
    }

    index some_length() {
        static constexpr std::array<index, 8> lengths = {0, 1, 2, 3, 5, 17, 64, 129};
        if (chance(20)) return chance(2) ? 1000 : 4097;
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
        const int scale = chance(20) ? 400 : 10;
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

    __attribute__((no_sanitize("thread", "address"))) static void spend(int turns) {
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
        actions_ += static_cast<unsigned>(repeats);
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
        const schedule chosen = some_schedule();
        site& where = some_site();
        std::vector<std::atomic<int>> runs(usize(n));
        for (int repeats = 1 + below(4); repeats > 0; --repeats) {
            const index last = n == 0 ? 0 : below(static_cast<int>(n));
            std::stop_source source;
            if (chance(8)) source.request_stop();
            ++actions_;
            for (std::atomic<int>& one : runs) one.store(0, std::memory_order_relaxed);
            const bool all = parallel_for(members, n,
                                          [&](index i) {
                                              if (i == last) source.request_stop();
                                              runs[usize(i)].fetch_add(1, std::memory_order_relaxed);
                                          },
                                          {.schedule = chosen, .stop = source.get_token(), .site = &where});
            const auto done =
                std::accumulate(runs.begin(), runs.end(), index{0},
                                [](index sum, const std::atomic<int>& one) { return sum + one; });
            require(std::all_of(runs.begin(), runs.end(), [](const auto& one) { return one <= 1; }),
                    "an index of a stopped loop was run twice");
            require(all == (done == n), "a stopped loop says that it ran all, or the other way round");
        }
    }

    void throwing_loop() {
        team& members = some_team();
        const index n = std::max<index>(1, some_length());
        const schedule chosen = some_schedule();
        site& where = some_site();
        for (int repeats = 1 + below(4); repeats > 0; --repeats) {
            const index bad = below(static_cast<int>(n));
            bool caught = false;
            ++actions_;
            try {
                parallel_for(members, n,
                             [&](range r) {
                                 if (r.begin <= bad && bad < r.end) throw thrown_by_body();
                             },
                             {.schedule = chosen, .site = &where});
            } catch (const thrown_by_body&) {
                caught = true;
            }
            require(caught, "an exception of a body was not rethrown at the call");
        }
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
        static team one{team_options{.size = 1, .pin = false}};
        const auto same_bits = [&](const auto& map) {
            const double here = parallel_reduce(members, n, 0.0, map, std::plus<>{}, options);
            const double alone = parallel_reduce(one, n, 0.0, map, std::plus<>{}, {.grain = options.grain});
            require(std::memcmp(&here, &alone, sizeof here) == 0,
                    "a reduction has other bits on another team");
        };
        actions_ += 7;
        same_bits([](range r) {
            double sum = 0;
            for (index i = r.begin; i < r.end; ++i) sum += 1.0 / static_cast<double>(i + 1);
            return sum;
        });
        // A product, which the compiler may fuse with the sum that it goes into.
        same_bits([](index i) { return 1.0 / static_cast<double>(i + 1) * (static_cast<double>(i) + 0.1); });
    }

    void stopped_reduction() {
        team& members = some_team();
        const index n = std::max<index>(1, some_length());
        const index last = below(static_cast<int>(n));
        std::stop_source source;
        ++actions_;
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
        ++actions_;
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
        std::vector<int> operations(usize(1 + below(24)));
        for (int& operation : operations) operation = below(11);
        // Data in the arrival's line, in the team's buffers, and read where they lie.
        const std::size_t length = chance(6) ? 600 + usize(below(900)) : usize(some_length() % 1500);
        std::atomic<int> wrong{0};
        const auto size = static_cast<std::uint64_t>(members.size());
        actions_ += 1 + operations.size() * size;
        // Of all_gather with bounds: rank r brings r more than `length`.
        std::vector<index> bounds{0};
        for (index rank = 0; rank < members.size(); ++rank)
            bounds.push_back(bounds.back() + rank + static_cast<index>(length));
        members.run([&](member& me) {
            const auto rank = static_cast<std::uint64_t>(me.rank());
            std::vector<std::uint64_t> data(length);
            std::vector<std::uint64_t> whole(length * size);
            std::vector<std::uint64_t> unequal(usize(bounds.back()));
            const std::vector<std::uint64_t> mine(usize(rank + length), rank);
            const range share = equal_share(static_cast<index>(length), me.size(), me.rank());
            std::vector<std::uint64_t> part(usize(share.size()));
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
                    case 6:
                        me.reduce_scatter(std::span<const std::uint64_t>(data), std::span(part),
                                          std::plus<>{});
                        for (std::size_t i = 0; i < part.size(); ++i) {
                            right =
                                right && part[i] == size * (usize(share.begin) + i) + size * (size - 1) / 2;
                        }
                        break;
                    case 7:
                        me.all_gather(std::span(mine), std::span(unequal), bounds);
                        for (int from = 0; from < me.size(); ++from) {
                            for (index i = at(bounds, from); i < at(bounds, from + 1); ++i)
                                right = right && at(unequal, i) == static_cast<std::uint64_t>(from);
                        }
                        break;
                    case 8: {
                        const auto all = me.peers(std::span<const std::uint64_t>(data));
                        for (int from = 0; from < me.size(); ++from) {
                            for (std::size_t i = 0; i < length; ++i)
                                right = right && all[from][i] == i + static_cast<std::uint64_t>(from);
                        }
                        me.barrier();  // before they are written again
                        break;
                    }
                    case 9: {  // more than fits in the arrival's line
                        std::array<std::uint64_t, 20> value{};
                        value[19] = rank + 1;
                        const auto sum = me.scan(value, [](auto left, const auto& right_one) {
                            left[19] += right_one[19];
                            return left;
                        });
                        right = sum[19] == (rank + 1) * (rank + 2) / 2;
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
        const std::size_t length = chance(2) ? 600 + usize(below(4000)) : usize(some_length());
        const bool in_operator = chance(3) && members.size() > 1;
        const int operation = below(3);
        actions_ += 1 + 6 * usize(members.size());
        bool caught = false;
        try {
            members.run([&](member& me) {
                std::vector<double> data(std::max<std::size_t>(1, length), 1.0);
                for (int step = 0; step < 6; ++step) {
                    if (step == when && me.rank() == who && !in_operator) throw thrown_by_body();
                    const auto add = [&](double left, double right) {
                        if (step == when && in_operator) throw thrown_by_body();
                        return left + right;
                    };
                    const std::array<double, 20> large{};
                    const auto share = equal_share(std::ssize(data), me.size(), me.rank());
                    std::vector<double> part(usize(share.size()));
                    switch (operation) {
                        case 0:
                            me.all_reduce(std::span(data), add);
                            break;
                        case 1:
                            me.reduce_scatter(std::span<const double>(data), std::span(part), add);
                            if (in_operator) me.all_reduce(1.0, add);  // a member may have no share
                            break;
                        default:
                            (void)me.scan(large, [&](const auto& left, const auto& right) {
                                (void)add(left[0], right[0]);
                                return left;
                            });
                            break;
                    }
                }
            });
        } catch (const thrown_by_body&) {
            caught = true;
        }
        require(caught, "an exception in a run was not rethrown at the call");
    }

    void stopped_run() {
        team& members = some_team();
        const int when = below(6);
        std::stop_source source;
        std::atomic<int> ended{0};
        actions_ += 1 + 6 * usize(members.size());
        bool told = false;
        try {
            members.run(
                [&](member& me) {
                    for (int step = 0; step < 6; ++step) {
                        if (step == when && me.rank() == 0) source.request_stop();
                        me.barrier();
                    }
                    ++ended;
                },
                {.stop = source.get_token()});
        } catch (const stopped&) {
            told = true;
        }
        require(told || ended == members.size(), "a stopped run returned before all its members had");
        require(told, "a run that was stopped before its last collective did not say so");
    }

    void nested() {
        team& outer = some_team();
        team& inner = some_team();
        std::atomic<index> sum{0};
        std::atomic<bool> rank_wrong{false};
        site& where = some_site();  // at which loops were perhaps learned to run inline
        actions_ += 20 + 1 + 3 * 8;
        for (int repeat = 0; repeat < 20; ++repeat) parallel_for(inner, 10, [](range) {}, {.site = &where});
        const schedule chosen = some_schedule();
        // Long ones are shared, where the outer loop is adaptive too.
        const int microseconds = below(4) == 0 ? 20 : 0;
        const bool may_move = outer.size() <= inner.size() && std::holds_alternative<adaptive>(chosen);
        parallel_for(outer, 8,
                     [&](range r, int rank) {
                         for (index i = r.begin; i < r.end; ++i) {
                             parallel_for(inner, 10,
                                          [&](range part, int nested_rank) {
                                              const int own = &inner == &outer ? rank : 0;
                                              if (nested_rank != own && !may_move) rank_wrong = true;
                                              if (nested_rank < 0 || nested_rank >= inner.size())
                                                  rank_wrong = true;
                                              burn(microseconds);
                                              sum += part.size();
                                          },
                                          {.site = &where});
                             if (parallel_reduce(
                                     inner, 50, index{0}, [](index k) { return k; }, std::plus<>{}) != 1225)
                                 rank_wrong = true;
                             inner.run([&](member& me) {
                                 me.barrier();
                                 if (me.size() != 1 || me.rank() != 0) rank_wrong = true;
                             });
                         }
                     },
                     {.schedule = chosen});
        require(sum == 80, "nested loops did not run all their iterations");
        require(!rank_wrong, "a nested call was not its member's own");
        // In a loop that is soon learned to be too short to fork.
        const auto caller = std::this_thread::get_id();
        site& short_one = some_site();
        actions_ += 2 * 30;
        for (int repeat = 0; repeat < 30; ++repeat) {
            parallel_for(outer, 1,
                         [&](range) {
                             parallel_for(outer, 20,
                                          [&](range, int rank) {
                                              if (rank != 0 || std::this_thread::get_id() != caller)
                                                  rank_wrong = true;
                                          },
                                          {.schedule = dynamic{1}});
                         },
                         {.site = &short_one});
        }
        require(!rank_wrong, "a loop in a short one was not its member's own");
    }

    // A piece of a program whose pieces are in each other.
    struct piece {
        enum class kind { leaf, adds, loop, reduction, functions, group, isolated, sequence };
        kind is = kind::leaf;
        piece* above = nullptr;
        std::vector<std::unique_ptr<piece>> within;
        int microseconds = 0;
        bool throws = false;
        bool waits = false;  // for the group around it, which it adds a task to
        std::atomic<int> runs{0};
        std::atomic<int> added{0};
        site where;

        [[nodiscard]] bool is_in(const piece* other) const {
            const piece* one = this;
            while (one != nullptr && one != other) one = one->above;
            return one != nullptr;
        }
        template <class See>
        void each(See&& see) {
            see(*this);
            for (const auto& one : within) one->each(see);
        }
    };
    struct mixture {
        team& members;
        std::atomic<bool> wrong_place{false};
        // The body that the thread is in the middle of.
        static inline thread_local const piece* in_body = nullptr;

        void run_body(piece& one, task_group* group, bool in_task) {
            if (in_body != nullptr && !one.is_in(in_body)) wrong_place = true;
            const piece* const around = std::exchange(in_body, &one);
            try {
                run(one, group, in_task);
            } catch (...) {
                in_body = around;
                throw;
            }
            in_body = around;
        }

        void run(piece& one, task_group* group, bool in_task) {
            if (in_body != nullptr && !one.is_in(in_body)) wrong_place = true;
            ++one.runs;
            burn(one.microseconds);
            if (one.throws) throw thrown_by_body();
            const auto n = static_cast<index>(one.within.size());
            const auto run_part = [&](index i) { run(*at(one.within, i), group, in_task); };
            const auto run_body_of = [&](index i) { run_body(*at(one.within, i), group, in_task); };
            switch (one.is) {
                case piece::kind::leaf:
                    return;
                case piece::kind::adds:
                    if (group == nullptr) return;
                    group->run([&one] { ++one.added; });
                    if (one.waits && !in_task) group->wait();
                    return;
                case piece::kind::loop:
                    parallel_for(members, n, run_body_of, {.site = &one.where});
                    return;
                case piece::kind::reduction: {
                    const auto value = [&](index i) {
                        run_body_of(i);
                        return i;
                    };
                    const index sum =
                        parallel_reduce(members, n, index{0}, value, std::plus<>{}, {.site = &one.where});
                    require(sum == n * (n - 1) / 2, "a reduction in a function or body is wrong");
                    return;
                }
                case piece::kind::functions:
                    if (n == 2) {
                        parallel_invoke(
                            members, [&] { run_part(0); }, [&] { run_part(1); });
                    } else {
                        parallel_invoke(
                            members, [&] { run_part(0); }, [&] { run_part(1); }, [&] { run_part(2); });
                    }
                    return;
                case piece::kind::group:
                    task_group::run_all(members, [&](task_group& own) {
                        for (index i = 0; i < n; ++i) {
                            piece& part = *at(one.within, i);
                            if (i % 2 == 0) {
                                own.run([&] { run(part, &own, true); });
                            } else {
                                run(part, &own, false);
                            }
                        }
                    });
                    return;
                case piece::kind::isolated:
                    return isolate([&] { run_part(0); });
                case piece::kind::sequence:
                    for (index i = 0; i < n; ++i) run_part(i);
                    return;
            }
        }
    };

    void draw(piece& one, int deep, int& left) {
        using kind = piece::kind;
        --left;
        one.microseconds = chance(3) ? below(40) : 0;
        if (deep == 0 || left <= 0 || chance(5)) {
            if (chance(3)) one.is = kind::adds;
            return;
        }
        static constexpr std::array kinds = {kind::loop,      kind::loop,      kind::reduction,
                                             kind::functions, kind::functions, kind::group,
                                             kind::group,     kind::isolated,  kind::sequence};
        one.is = kinds[usize(below(static_cast<int>(kinds.size())))];
        int parts = 1 + below(5);
        if (one.is == kind::functions) parts = 2 + below(2);
        if (one.is == kind::isolated) parts = 1;
        for (int i = 0; i < parts; ++i) {
            piece& part = *one.within.emplace_back(std::make_unique<piece>());
            part.above = &one;
            draw(part, deep - 1, left);
        }
    }

    void mixed() {
        mixture all{.members = some_team()};
        piece root;
        int left = 1 + below(40);
        draw(root, 6, left);
        bool throws = chance(6);
        const bool some_throw = throws;
        root.each([&](piece& one) {
            ++actions_;
            // A function that waits for a group could be run below one of the group's own tasks, which it
            // would wait for. So only the group's body does.
            const bool in_group = one.above != nullptr && one.above->is == piece::kind::group;
            if (one.is == piece::kind::adds) one.waits = in_group && chance(2);
            if (one.within.empty() && throws && chance(4)) {
                one.throws = true;
                throws = false;
            }
        });
        const bool throws_one = some_throw && !throws;
        for (int repeats = 1 + below(5); repeats > 0; --repeats) {
            root.each([](piece& one) { one.runs = one.added = 0; });
            bool caught = false;
            try {
                all.run(root, nullptr, false);
            } catch (const thrown_by_body&) {
                caught = true;
            }
            require(caught == throws_one,
                    "an exception of a function in a body was lost, or came from nowhere");
            require(!all.wrong_place, "something began in the middle of another body");
            root.each([&](piece& one) {
                const bool in_group = one.is == piece::kind::adds && one.runs > 0 && one.added == 0;
                require(one.runs <= 1 && one.added <= 1, "a function in a body was run twice");
                require(caught || one.runs == 1, "a function in a body was not run");
                if (in_group && !caught) {
                    const piece* group = one.above;
                    while (group != nullptr && group->is != piece::kind::group) group = group->above;
                    require(group == nullptr, "a task of a group was not run");
                }
            });
        }
    }

    void nested_in_run() {
        team& members = some_team();
        std::atomic<bool> wrong{false};
        actions_ += 1 + 4 * usize(members.size());
        members.run([&](member& me) {
            for (int round = 0; round < 2; ++round) {
                index done = 0;
                parallel_for(members, 100, [&](range r, int rank) {
                    if (rank != me.rank()) wrong = true;
                    done += r.size();
                });
                if (me.all_reduce(done, std::plus<>{}) != 100 * me.size()) wrong = true;
            }
        });
        require(!wrong, "a loop in a run was not its member's own");
    }

    void two_threads() {
        team& members = some_team();
        std::atomic<index> sum{0};
        actions_ += 2 * (20 + 2);
        const auto calls = [&] {
            for (int repeat = 0; repeat < 20; ++repeat) {
                parallel_for(members, 500, [&](range r) { sum += r.size(); });
                if (repeat % 10 != 0) continue;
                sum += parallel_reduce(
                    members, 100, index{0}, [](index i) { return i; }, std::plus<>{});
            }
        };
        std::thread other(calls);
        calls();
        other.join();
        require(sum == 2 * (20 * 500 + 2 * 4950), "two threads' loops did not run all their iterations");
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
        actions_ += 3;
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
        actions_ += 2;
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
    std::array<site, 12> sites_;
    std::atomic<std::uint64_t>& actions_ = running.actions;
};

void hear_of_crashes() {
    if (__sanitizer_set_death_callback != nullptr) {
        __sanitizer_set_death_callback([] { say_finding("see the sanitizer's report"); });
    } else {
        for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
            std::signal(fault, [](int number) {
                say_finding("a crash");
                std::signal(number, SIG_DFL);
                raise(number);
            });
        }
    }
    std::signal(SIGALRM, [](int) {
        say_finding("no end within two minutes");
        _exit(EXIT_FAILURE);
    });
}

int fuzz(int argc, char** argv) {
    double seconds = 5;
    std::uint64_t seed = 1;
    std::uint64_t programs = ~std::uint64_t{0};
    std::uint64_t actions = programs;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--seconds") seconds = std::atof(argv[i + 1]);
        if (option == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
        if (option == "--actions") actions = std::strtoull(argv[i + 1], nullptr, 10);
        if (option == "--programs") programs = std::strtoull(argv[i + 1], nullptr, 10);
    }
    const auto start = std::chrono::steady_clock::now();
    const auto elapsed = [start] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    std::uint64_t done = 0;
    hear_of_crashes();
    for (; done < programs && running.actions < actions && elapsed() < seconds; ++done) {
        running.seed = seed + done;
        alarm(120);
        try {
            program(seed + done).run();
        } catch (const std::exception& found) {
            say_finding(found.what());
            return 1;
        }
    }
    alarm(0);
    std::printf("%llu programs, %llu actions, %.0f a second, no finding\n",
                static_cast<unsigned long long>(done), static_cast<unsigned long long>(running.actions),
                static_cast<double>(running.actions) / elapsed());
    return 0;
}

}  // namespace
}  // namespace tauto

int main(int argc, char** argv) {
    return tauto::fuzz(argc, argv);
}
