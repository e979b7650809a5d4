#include "programs.hpp"

#include <pthread.h>

#include <array>
#include <exception>
#include <functional>
#include <stdexcept>
#include <vector>

#include <tauto/scan_front.hpp>
#include <tauto/task_deque.hpp>
#include <tauto/wavefront.hpp>

#include "../../runtime/team_state.hpp"
#include "explorer.hpp"

namespace explorer::programs {
namespace {

using namespace tauto;
using namespace tauto::detail;

// A thread of the program.
class thread {
  public:
    explicit thread(std::function<void()> run) : run_(std::move(run)) {
        pthread_create(&number_, nullptr, &main, this);
    }
    ~thread() { pthread_join(number_, nullptr); }
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;

  private:
    static void* main(void* self) {
        static_cast<thread*>(self)->run_();
        return nullptr;
    }
    std::function<void()> run_;
    pthread_t number_{};
};

// Of `members` threads, the first of which is the calling one.
void on_each(int members, const std::function<void(int rank)>& run) {
    std::vector<std::unique_ptr<thread>> others;
    for (int rank = 1; rank < members; ++rank)
        others.push_back(std::make_unique<thread>([&run, rank] { run(rank); }));
    run(0);
}

void name_words(launcher& members) {
    for (const int rank : members.everyone) {
        name(&at(members.boxes, rank).ticket, "ticket", rank);
        name(&at(members.boxes, rank).parked, "parked", rank);
        name(&at(members.boxes, rank).share, "share", rank);
        name(&at(members.reports, rank).done, "done", rank);
    }
    name(&members.loop.failed_at, "failed_at", 0);
}

team_turn turn_of(team_state& state) {
    state.start();
    state.of_threads->take(false);
    return team_turn(&*state.of_threads);
}

// A team by its own text, but for the choice of CPUs.
struct small_team {
    explicit small_team(std::vector<int> cpus)
        : state({cpus, int_size(cpus), true}, wait_policy::passive, false, {}) {
        name_words(state.members);
    }

    // False where not all iterations ran.
    template <class Body>
    bool loop(index n, tauto::schedule how, const Body& body) {
        const auto invoke = [](const void* self, range r, int rank) {
            (*static_cast<const Body*>(self))(r, rank);
        };
        loop_options options;
        options.schedule = how;
        const team_turn turn = turn_of(state);
        return state.loops.run_schedule({invoke, &body, n, nullptr, &options});
    }
    template <class Body>
    void run(const Body& body) {
        const auto invoke = [](const void* self, member& me) { (*static_cast<const Body*>(self))(me); };
        const team_turn turn = turn_of(state);
        state.bodies.run({invoke, &body}, nullptr, nullptr);
    }

    // The root of a recursion, on this thread.
    template <class Root>
    void share(const Root& root) {
        const auto invoke = [](const void* self) { (*static_cast<const Root*>(self))(); };
        const team_turn turn = turn_of(state);
        state.members.share_tasks({invoke, &root}, {}, nullptr);
    }

    team_state state;
};

// Loops over an input that the caller writes, each into the same output.
void run_loops(small_team& team, int loops, index n, tauto::schedule how) {
    std::vector<int> output(usize(n));
    int input = 0;
    for (int loop = 1; loop <= loops; ++loop) {
        input = loop;
        const bool all = team.loop(n, how, [&](range r, int) {
            for (index i = r.begin; i < r.end; ++i) at(output, i) += input;
        });
        check(all, "a loop that ran all says that it did not");
        for (const int one : output) check(one == loop * (loop + 1) / 2, "an iteration ran twice or never");
    }
}

struct count_of {
    std::vector<int> times;
    explicit count_of(index n) : times(usize(n)) {}
    void add(range r) {
        for (index i = r.begin; i < r.end; ++i) ++at(times, i);
    }
    void check_once() const {
        for (const int one : times) check(one == 1, "an iteration ran twice or never");
    }
};

// Members that meet, as body_runner.cpp has them, with no team around.
template <class Body>
std::exception_ptr meet(int members, barrier_shape shape, const Body& body) {
    collectives shared(members, true, wait_policy::passive);
    shared.shape = shape;
    for (int rank = 0; rank < members; ++rank) {
        member_lines_of_team& own = at(shared.lines, rank);
        name(&own.slots[0].word, "slot", rank);
        name(&own.slots[1].word, "slot", rank);
        name(&own.released.word, "released", rank);
    }
    name(&shared.failed, "failed", 0);
    on_each(members, [&](int rank) {
        member me(shared, rank);
        try {
            body(me);
        } catch (const released&) {
        } catch (...) {
            shared.fail(rank, std::current_exception());
        }
        me.leave();
    });
    return shared.take_failure();
}

constexpr auto plus = [](long a, long b) { return a + b; };

// More than fits in a line.
struct large {
    long value = 0;
    long rest[7] = {};
};

void check_barriers(member& me, int times) {
    for (int i = 1; i <= times; ++i) {
        const long sum = me.all_reduce(static_cast<long>(i * (me.rank() + 1)), plus);
        check(sum == i * me.size() * (me.size() + 1) / 2, "a sum of the wrong values");
    }
}

void check_failed(const std::exception_ptr& failure) {
    check(failure != nullptr, "no member heard of the exception");
}

}  // namespace

void loops() {
    small_team team({0, 1, 2});
    run_loops(team, 3, 3, static_{});
}

void crowded_loops() {
    small_team team({0, 0, 0});
    run_loops(team, 3, 3, static_{});
}

void shared_counter() {
    small_team team({0, 1, 2});
    run_loops(team, 2, 4, dynamic{1});
}

void throwing_loops() {
    small_team team({0, 1, 2});
    for (int loop = 0; loop < 2; ++loop) {
        bool thrown = false;
        try {
            (void)team.loop(3, static_{}, [](range r, int) {
                if (r.begin > 0) throw r.begin;
            });
        } catch (const index& what) {
            thrown = what == 1;  // of two, that of the lowest index
        }
        check(thrown, "an exception was lost");
    }
    run_loops(team, 1, 3, static_{});
}

void two_callers() {
    small_team team({0, 1});
    count_of first(2);
    count_of second(2);
    {
        const thread other([&] { (void)team.loop(2, static_{}, [&](range r, int) { second.add(r); }); });
        (void)team.loop(2, static_{}, [&](range r, int) { first.add(r); });
    }
    first.check_once();
    second.check_once();
}

void forked_child() {
    small_team team({0, 1, 2});
    const auto once = [&] {
        count_of times(3);
        check(team.loop(3, static_{}, [&](range r, int) { times.add(r); }),
              "a loop that ran all says that it did not");
        times.check_once();
    };
    // Lives on in the parent alone.
    auto* other = new thread([&] { once(); });
    fork_into_child();
    once();
    once();
    ::operator delete(other);
}

void shared_tasks() {
    small_team team(
        {0, 0, 0});  // so that nobody spins: a thousand looks are most of the steps that there may be
    for (int round = 0; round < 2; ++round) {
        count_of times(3);
        team.share([&] {
            const auto one = [&](index i) { return [&times, i] { times.add({i, i + 1}); }; };
            auto first = one(0);
            auto second = one(1);
            auto third = one(2);
            invoke_all(first, second, third);
        });
        times.check_once();
        run_loops(team, 1, 3, static_{});
    }
}

void stealing() {
    constexpr index n = 9;
    worksharing work(3);
    const std::array<double, 3> speeds{1, 1, 2};
    work.reset(adaptive{}, n, speeds);
    count_of times(n);
    on_each(3, [&](int rank) {
        for (range r = work.next(rank); !r.empty(); r = work.next(rank)) times.add(r);
    });
    times.check_once();
}

namespace {

struct shares {
    std::array<std::atomic<std::uint64_t>, 3> words{};
    adaptive_plan plan;

    void run(index n, bool all_steal) {
        for (int rank = 0; rank < 3; ++rank) name(&at(words, rank), "share", rank);
        count_of times(n);
        const auto share_of = [&](int rank) -> auto& {
            return at(words, rank);
        };
        const auto victim_of = [&](int thief) { return last_to_finish(plan, share_of, thief); };
        on_each(3, [&](int rank) {
            const adaptive_rights may{.steal = all_steal || rank == 0, .leave = true, .timed = false};
            int steals = 0;
            bool left_early = false;
            for (bool begun = false;; begun = true) {
                const range r = member_next(plan, may, share_of(rank), share_of, victim_of, rank, begun,
                                            steals, left_early);
                if (r.empty()) return;
                times.add(r);
            }
        });
        for (int rank = 0; rank < 3; ++rank) {
            for_each_left(plan, share_of(rank).load(std::memory_order_relaxed), [&](range r) {
                times.add(r);
                return true;
            });
        }
        times.check_once();
    }
};

}  // namespace

// An owner that adds and takes, and two thieves, one of which wants half of the tasks: each is run once, and
// what it was given is there.
void deque_of_tasks() {
    struct work {
        scope given = no_scope;
        int times = 0;
    };
    using deque_of_work = task_deque<work, 4>;
    deque_of_work deque;
    name(&deque.top(), "top", 0);
    name(&deque.bottom(), "bottom", 0);
    std::array<work, 4> works;
    const auto add = [&](std::size_t i) {
        works[i].given = static_cast<scope>(7 + i);
        check(deque.add(&works[i], works[i].given), "a deque is full that is not");
    };
    const auto run = [](const deque_of_work::given& one) {
        if (one.task == nullptr) return;
        check(one.task->given == one.made_in,
              "a task was run before it was made, or has another one's scope");
        ++one.task->times;
    };
    on_each(3, [&](int rank) {
        if (rank != 0) {
            for (int times = 0; times < 2; ++times) {
                const auto stolen = deque.steal([&](scope of) { return rank == 1 || of % 2 == 0; });
                check(stolen.task == nullptr || rank == 1 || stolen.made_in % 2 == 0,
                      "a task was not wanted");
                run(stolen);
            }
            return;
        }
        add(0);
        add(1);
        run(deque.take());
        add(2);
        add(3);
        run(deque.take());
        run(deque.take());
    });
    for (auto left = deque.take(); left.task != nullptr; left = deque.take()) run(left);
    for (const work& one : works) check(one.times == 1, "a task was run twice or never");
}

namespace {

// Writes where the frame of an earlier call was, so that whoever still reads that frame races with it.
[[gnu::noinline]] void use_frames() {
    std::array<int, 1024> frames;
    for (int& one : frames) one = 0;
    asm volatile("" : : "r"(frames.data()) : "memory");
}

}  // namespace

void joined_loops() {
    task_region region(nullptr, 3);
    open_loops& loops = region.loops();
    name(&loops.inside(0), "inside", 0);
    const loop_options options;
    site where;
    on_each(3, [&](int rank) {
        running_tasks = {&region, rank};
        if (rank != 0) {
            loops.join(rank, no_scope);
            loops.join(rank, no_scope);
            return;
        }
        for (int loop = 0; loop < 2; ++loop) {
            count_of times(3);
            const auto add = [](const void* counts, range r, int) {
                static_cast<count_of*>(const_cast<void*>(counts))->add(r);
            };
            check(loops.run({add, &times, 3, &where, &options}, 0), "a loop has not run to its end");
            use_frames();
            times.check_once();
        }
    });
}

namespace {

constexpr index wave_tiles = 5;

// Each tile's sum is written before, and read after, what the words say.
template <class... AtOnce>
void check_wavefront(std::vector<long>& before, AtOnce... at_once) {
    wavefront wave(
        wave_tiles, 100L, [](index t) { return static_cast<long>(t + 1); },
        [](long a, long b) { return a + b; }, [&](index t, long sum, long) { at(before, t) = sum; },
        at_once...);
    for (index t = 0; t <= wave_tiles; ++t) name(&wave.known_of(t), "known", static_cast<int>(t));
    on_each(3, [&](int rank) { wave.begin_some({0, rank == 0 ? 1 : 2}); });
    for (const index t : wave.late_tiles()) wave.finish_tile(t);
    for (index t = 0; t < wave_tiles; ++t) check(at(before, t) == 100 + t * (t + 1) / 2, "a sum is wrong");
    check(wave.total() == 115, "the sum of all is wrong");
}

}  // namespace

void wavefront_of_tiles() {
    std::vector<long> before(usize(wave_tiles), -1);
    check_wavefront(before);
}

void wavefront_at_once() {
    std::vector<long> before(usize(wave_tiles), -1);
    check_wavefront(before, [&](index t, long sum) {
        at(before, t) = sum;
        return static_cast<long>(t + 1);
    });
}

// Each member has two parts of the tiles, as a thief has: the front goes from one to the other.
void front_of_a_scan() {
    std::vector<long> before(usize(wave_tiles), -1);
    const auto at_once = [&](index t, long sum) {
        at(before, t) = sum;
        return static_cast<long>(t + 1);
    };
    scan_front front(
        wave_tiles, 100L, [](index t) { return static_cast<long>(t + 1); },
        [](long a, long b) { return a + b; }, [&](index t, long sum) { at(before, t) = sum; }, at_once);
    name(&front.done(), "done", 0);
    on_each(3, [&](int rank) {
        constexpr std::array<std::array<range, 2>, 3> parts{
            {{range{0, 1}, range{3, 4}}, {range{1, 2}, range{4, 5}}, {range{2, 3}, range{5, 5}}}};
        for (const range& part : at(parts, rank)) front.begin_some(part);
    });
    const range late = front.late();
    check(late.end == wave_tiles, "the late tiles do not end with the last one");
    for (index t = late.begin; t < late.end; ++t) front.finish_tile(t);
    for (index t = 0; t < wave_tiles; ++t) check(at(before, t) == 100 + t * (t + 1) / 2, "a sum is wrong");
}

void leaving() {
    constexpr index n = 8;
    constexpr double speeds[] = {1, 2, 1};
    constexpr double margins[] = {0, 0.5, 3};
    constexpr std::array<index, 4> bounds{0, 2, 6, 8};
    shares all;
    all.plan = {.n = n,
                .members = 3,
                .divisor = 2,
                .speeds = speeds,
                .margins = margins,
                .steal = 0.5,
                .report = 0.25};
    deal_shares(
        all.plan, bounds, [&](int rank) -> auto& { return at(all.words, rank); });
    all.run(n, true);
}

void ordered() {
    constexpr index n = 5;
    constexpr double speeds[] = {1, 1, 0.5};
    cost_order order{};
    order.parts = 5;
    order.blocks = 5;
    order.total_speed = 2.5;
    order.fastest = 1;
    for (std::uint8_t part = 0; part <= 5; ++part) {
        order.part_at[part] = part;
        order.begins[part] = part;
        order.before[part] = 6.0 * part - 0.5 * part * part;
    }
    shares all;
    all.plan = {.n = n, .members = 3, .speeds = speeds, .order = &order};
    all.words[0].store(pack_share(0, 5), std::memory_order_relaxed);
    all.run(n, true);
}

void rows() {
    const auto failure = meet(3, barrier_shape::rows, [](member& me) {
        check_barriers(me, 2);
        std::array<long, 8> data;
        data.fill(me.rank() + 1);
        me.all_reduce(std::span<long>(data), plus);
        for (const long one : data) check(one == 6, "a sum of the wrong values");
        me.barrier();
    });
    check(failure == nullptr, "a run that is right failed");
}

void rows_in_place() {
    const auto failure = meet(3, barrier_shape::rows, [](member& me) {
        for (int i = 1; i <= 2; ++i) {
            large mine;
            mine.value = i * (me.rank() + 1);
            const large sum = me.scan(mine, [](large a, const large& b) {
                a.value += b.value;
                return a;
            });
            mine.value = -1;
            check(sum.value == i * (me.rank() + 1) * (me.rank() + 2) / 2, "a sum of the wrong values");
        }
        long own = me.rank() + 5;
        const auto all = me.peers(std::span<const long>(&own, 1));
        for (int of = 0; of < me.size(); ++of) check(all[of][0] == of + 5, "another member's data are stale");
        me.barrier();
    });
    check(failure == nullptr, "a run that is right failed");
}

void rows_throw() {
    check_failed(meet(3, barrier_shape::rows, [](member& me) {
        check_barriers(me, 1);
        if (me.rank() == 1) throw std::runtime_error("bad cell");
        check_barriers(me, 2);
    }));
}

void rows_operator_throws() {
    check_failed(meet(3, barrier_shape::rows, [](member& me) {
        const auto memory = std::make_unique<large>();
        (void)me.scan(*memory, [&](const large& a, const large& b) {
            if (me.rank() == 1) throw std::runtime_error("bad cell");
            return large{a.value + b.value, {}};
        });
        me.barrier();
    }));
}

void rows_split() {
    const auto failure = meet(3, barrier_shape::rows, [](member& me) {
        for (int i = 0; i < 2; ++i) me.wait(me.arrive());
        check_barriers(me, 1);
    });
    check(failure == nullptr, "a run that is right failed");
}

namespace {

void mix(barrier_shape shape, int members) {
    check_failed(meet(members, shape, [](member& me) {
        if (me.rank() == 1)
            me.wait(me.arrive());
        else
            me.barrier();
        me.barrier();
    }));
}

}  // namespace

void rows_mixed() {
    mix(barrier_shape::rows, 3);
    mix(barrier_shape::tournament, 3);
}

void tournament() {
    const auto failure = meet(6, barrier_shape::tournament, [](member& me) { check_barriers(me, 2); });
    check(failure == nullptr, "a run that is right failed");
}

void tournament_throw() {
    check_failed(meet(5, barrier_shape::tournament, [](member& me) {
        check_barriers(me, 1);
        if (me.rank() == 4) throw std::runtime_error("bad cell");
        check_barriers(me, 1);
    }));
    check_failed(meet(5, barrier_shape::tournament, [](member& me) {
        if (me.rank() == 0) throw std::runtime_error("bad cell");
        check_barriers(me, 1);
    }));
}

void runs() {
    small_team team({0, 0, 0});
    for (int run = 0; run < 2; ++run) {
        bool thrown = false;
        try {
            team.run([&](member& me) {
                check_barriers(me, 1);
                if (run == 0 && me.rank() == 2) throw std::runtime_error("bad cell");
                me.barrier();
            });
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        check(thrown == (run == 0), "an exception was lost or came from nowhere");
    }
}

}  // namespace explorer::programs
