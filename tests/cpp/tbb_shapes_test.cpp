// What tauto/tbb.hpp promises beyond the results, which tbb_program.cpp compares with oneTBB's.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <tauto/tbb.hpp>

namespace {

using range = tbb::blocked_range<int>;

TEST_CASE("ranges split into halves, and only while they are longer than a grain") {
    range first(0, 10, 5);
    REQUIRE(first.is_divisible());
    const range second(first, tbb::split{});
    CHECK(first.size() == 5);
    CHECK(second.begin() == 5);
    CHECK(second.end() == 10);
    CHECK(second.grainsize() == 5);
    CHECK_FALSE(first.is_divisible());
    CHECK(range(3, 1).empty());
    CHECK(range(3, 1).size() == 0);

    tbb::blocked_range2d<int> wide(0, 2, 0, 100);
    const tbb::blocked_range2d<int> right(wide, tbb::split{});
    CHECK(wide.cols().end() == 50);
    CHECK(right.cols().begin() == 50);
    CHECK(right.rows().size() == 2);
}

TEST_CASE("nothing is called for an empty range") {
    int calls = 0;
    tbb::parallel_for(range(5, 5), [&](const range&) { ++calls; });
    tbb::parallel_for(7, 3, [&](int) { ++calls; });
    tbb::parallel_for(
        range(5, 5), [&](const range&) { ++calls; }, tbb::simple_partitioner());
    CHECK(calls == 0);
    const auto more = [&](const range&, int sum) { return ++calls, sum; };
    CHECK(tbb::parallel_reduce(range(0, 0), 42, more, std::plus<>{}) == 42);
    CHECK(calls == 0);
}

TEST_CASE("a step below 1 is refused") {
    CHECK_THROWS_AS(tbb::parallel_for(0, 10, 0, [](int) {}), tauto::error);
    CHECK_THROWS_AS(tbb::parallel_for(0, 10, -1, [](int) {}), tauto::error);
}

// A range of a program's own: it knows how to halve itself, and nothing else.
struct levels {
    int depth;
    explicit levels(int of) : depth(of) {}
    levels(levels& from, tbb::split) : depth(--from.depth) {}
    [[nodiscard]] bool empty() const { return depth < 0; }
    [[nodiscard]] bool is_divisible() const { return depth > 0; }
};

TEST_CASE("ranges of a program's own are halved as far as they can be") {
    std::atomic<int> pieces{0};
    tbb::parallel_for(levels(7), [&](const levels& piece) { pieces += 1 << piece.depth; });
    CHECK(pieces == 128);
    const auto count = [](const levels& piece, int sum) { return sum + (1 << piece.depth); };
    CHECK(tbb::parallel_reduce(levels(12), 0, count, std::plus<>{}) == 4096);
}

TEST_CASE("a sum of doubles has the same bits each time") {
    const auto third = [](const range& part, double sum) {
        for (int i = part.begin(); i < part.end(); ++i) sum += 1.0 / (i + 3);
        return sum;
    };
    const double once = tbb::parallel_reduce(range(0, 100'000), 0.0, third, std::plus<>{});
    for (int turn = 0; turn < 20; ++turn)
        CHECK(tbb::parallel_reduce(range(0, 100'000), 0.0, third, std::plus<>{}) == once);
    CHECK(tbb::parallel_deterministic_reduce(range(0, 100'000), 0.0, third, std::plus<>{}) == once);
}

TEST_CASE("a reduction has a piece for each of few values, which may be long, and none below a grain") {
    for (const int n : {1, 10, 63, 100, 1000, 5000, 100'000}) {
        for (const int grain : {1, 7, 300}) {
            std::atomic<int> pieces{0};
            std::atomic<int> too_short{0};
            const auto count = [&](const range& piece, int sum) {
                ++pieces;
                if (static_cast<int>(piece.size()) < grain && piece.end() != n) ++too_short;
                return sum + static_cast<int>(piece.size());
            };
            CHECK(tbb::parallel_reduce(range(0, n, static_cast<std::size_t>(grain)), 0, count,
                                       std::plus<>{}) == n);
            CAPTURE(n);
            CAPTURE(grain);
            CHECK(pieces >= std::min(64, (n - 1) / grain + 1));
            CHECK(pieces <= 256);
            CHECK(too_short == 0);
        }
    }
}

// As in oneTBB's pages, where what it looks at is constant. It cannot be copied or moved.
struct least_of {
    explicit least_of(const std::vector<int>& of) : values(of) {}
    least_of(least_of& other, tbb::split) : values(other.values) {}
    least_of(const least_of&) = delete;
    least_of& operator=(const least_of&) = delete;
    void operator()(const range& piece) {
        for (int i = piece.begin(); i < piece.end(); ++i)
            if (at < 0 || values[static_cast<std::size_t>(i)] < values[static_cast<std::size_t>(at)]) at = i;
    }
    void join(const least_of& right) {
        const auto value_of = [&](int i) { return values[static_cast<std::size_t>(i)]; };
        if (right.at >= 0 && (at < 0 || value_of(right.at) < value_of(at))) at = right.at;
    }

    const std::vector<int>& values;
    int at = -1;
};

TEST_CASE("bodies that are reduced need only split and join") {
    std::vector<int> values(1000);
    for (int i = 0; i < 1000; ++i) values[static_cast<std::size_t>(i)] = (i * 7919 + 13) % 1009;
    least_of least(values);
    tbb::parallel_reduce(range(0, 1000), least);
    CHECK(least.at == std::min_element(values.begin(), values.end()) - values.begin());
    least_of none(values);
    tbb::parallel_reduce(range(5, 5), none);
    CHECK(none.at == -1);
}

TEST_CASE("a group can be used again, and its tasks may add some") {
    std::atomic<int> done{0};
    tbb::task_group group;
    for (int turn = 0; turn < 3; ++turn) {
        done = 0;
        for (int k = 0; k < 100; ++k)
            group.run([&] {
                group.run([&] { ++done; });  // from a task of its own
                ++done;
            });
        CHECK(group.wait() == tbb::complete);
        CHECK(done == 200);
    }
    CHECK(group.run_and_wait([&] { done = 7; }) == tbb::complete);
    tbb::task_handle kept = group.defer([&, only = std::make_unique<int>(8)] { done = *only; });
    CHECK(kept);
    CHECK(done == 7);
    group.run(std::move(kept));
    CHECK(group.wait() == tbb::complete);
    CHECK(done == 8);
    group.run([&, own = 8]() mutable {
        ++own;
        done = own;
        return own;
    });
    CHECK(group.wait() == tbb::complete);
    CHECK(done == 9);
    CHECK(group.wait() == tbb::complete);
}

TEST_CASE("the exception of a task comes out of the wait, and a canceled group begins nothing") {
    tbb::task_group group;
    group.run([] { throw std::runtime_error("a task"); });
    CHECK_THROWS_WITH(group.wait(), "a task");
    bool ran = false;
    group.cancel();
    group.run([&] { ran = true; });
    CHECK(group.wait() == tbb::canceled);
    CHECK_FALSE(ran);
    group.run([&] { group.cancel(); });  // from a task of its own
    CHECK(group.wait() == tbb::canceled);
    CHECK(group.wait() == tbb::complete);
    group.run([&] { ran = true; });
    CHECK(group.wait() == tbb::complete);
    CHECK(ran);

    tbb::parallel_invoke([] {},
                         [&] {
                             tbb::task_group inner;
                             inner.run([] { throw std::runtime_error("inner"); });
                             CHECK_THROWS_WITH(inner.wait(), "inner");
                         });
}

TEST_CASE("a task of a group may run before the wait, beside what its thread does") {
    if (tbb::this_task_arena::max_concurrency() == 1) return;
    std::atomic<bool> begun{false};
    std::atomic<bool> may_end{false};
    tbb::task_group group;
    group.run([&] {
        begun = true;
        while (!may_end) std::this_thread::yield();
    });
    while (!begun) std::this_thread::yield();
    long sum = 0;
    tbb::parallel_for(0, 1, [&](int) { sum += 1; });
    std::atomic<long> all{0};
    tbb::parallel_for(0, 100'000, [&](int i) { all += i % 3; });
    std::vector<int> sorted(10'000);
    for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<int>(i * 7919 % 10'007);
    tbb::parallel_sort(sorted);
    CHECK(std::is_sorted(sorted.begin(), sorted.end()));
    may_end = true;
    CHECK(group.wait() == tbb::complete);
    CHECK(sum == 1);
    CHECK(all == 99'999);
}

TEST_CASE("several groups at once, on several threads, which end in any order") {
    std::vector<std::thread> threads;
    std::atomic<int> ran{0};
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            for (int turn = 0; turn < 50; ++turn) {
                tbb::task_group first;
                tbb::task_group second;
                for (int k = 0; k < 10; ++k) {
                    first.run([&] { ++ran; });
                    second.run([&] {
                        tbb::task_group inner;
                        inner.run([&] { ++ran; });
                        tbb::parallel_for(0, 10, [&](int) { ++ran; });
                        inner.wait();
                    });
                }
                (turn % 2 == 0 ? first : second).wait();
                tbb::parallel_for(0, 100, [&](int) { ++ran; });
            }  // the other one waits at its end
        });
    for (std::thread& one : threads) one.join();
    CHECK(ran == 3 * 50 * (10 + 10 * 11 + 100));
}

TEST_CASE("threads that run no task of the team add tasks to a group, and wait for it") {
    std::atomic<int> ran{0};
    tbb::task_group group;
    group.run([&] { ++ran; });
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            for (int k = 0; k < 100; ++k) group.run([&] { ++ran; });
        });
    for (std::thread& one : threads) one.join();
    std::thread([&] { CHECK(group.wait() == tbb::complete); }).join();
    CHECK(ran == 301);
    // The thread that began is as before.
    std::atomic<int> done{0};
    tbb::parallel_for(0, 1000, [&](int) { ++done; });
    group.run([&] { ++done; });
    CHECK(group.wait() == tbb::complete);
    CHECK(done == 1001);
    // One that ends before its group does.
    std::optional<tbb::task_group> left(std::in_place);
    std::thread([&] { left->run([&] { ++done; }); }).join();
    CHECK(left->wait() == tbb::complete);
    left.reset();
    CHECK(done == 1002);
    tbb::parallel_for(0, 1000, [&](int) { ++done; });
    CHECK(done == 2002);
}

TEST_CASE("loops of other threads do not wait for a group whose thread does something else") {
    tbb::task_group group;
    std::atomic<bool> ran{false};
    group.run([&] { ran = true; });
    std::atomic<int> done{0};
    std::atomic<bool> ended{false};
    std::thread other([&] {
        tbb::parallel_for(0, 1000, [&](int) { ++done; });
        ended = true;
    });
    while (!ended) {  // not asleep, so nothing but the open group tells the other thread to go on
    }
    other.join();
    CHECK(done == 1000);
    CHECK(group.wait() == tbb::complete);
    CHECK(ran);
}

TEST_CASE("an arena has so many members, which find it, and other calls do not") {
    const int all = tbb::info::default_concurrency();
    const auto members_of_a_loop = [] {
        std::atomic<int> most{0};
        std::atomic<int> wrong{0};
        const int size = tbb::this_task_arena::max_concurrency();
        tbb::parallel_for(0, 1000, [&](int) {
            wrong += tbb::this_task_arena::max_concurrency() == size ? 0 : 1;
            int before = most;
            const int rank = tbb::this_task_arena::current_thread_index();
            while (before < rank + 1 && !most.compare_exchange_weak(before, rank + 1)) {
            }
        });
        CHECK(wrong == 0);
        return most.load();
    };
    for (const int size : {1, 2, all, all + 5, -1}) {
        tbb::task_arena arena(size);
        const int expected = size < 1 ? all : std::min(size, all);
        CHECK(arena.max_concurrency() == expected);
        for (int turn = 0; turn < 3; ++turn) {
            CHECK(arena.execute(members_of_a_loop) <= expected);
            CHECK(arena.execute([] { return tbb::this_task_arena::max_concurrency(); }) == expected);
            CHECK(tbb::this_task_arena::max_concurrency() == all);
        }
    }
    tbb::task_arena one(1);
    int value = 0;
    int& same = one.execute([&]() -> int& { return value; });
    CHECK(&same == &value);
    CHECK_THROWS_AS(one.execute([] { throw 5; }), int);
    CHECK(tbb::this_task_arena::max_concurrency() == all);
    one.execute([&] {  // an arena inside of an arena
        tbb::task_arena other;
        CHECK(other.execute([] { return tbb::this_task_arena::max_concurrency(); }) == all);
        CHECK(tbb::this_task_arena::max_concurrency() == 1);
    });
    std::atomic<int> ran{0};
    tbb::parallel_for(0, 100,
                      [&](int) { one.execute([&] { tbb::parallel_for(0, 10, [&](int) { ++ran; }); }); });
    CHECK(ran == 1000);
    std::vector<std::thread> threads;  // one arena for several threads
    for (int t = 0; t < 3; ++t)
        threads.emplace_back([&] {
            for (int turn = 0; turn < 50; ++turn)
                one.execute([&] { tbb::parallel_for(0, 20, [&](int) { ++ran; }); });
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(ran == 4000);
}

TEST_CASE("what is enqueued runs in its arena, also once that has ended") {
    std::vector<std::future<int>> sums;
    const auto sum_to = [&](std::promise<int> sum, int end) {
        return [sum = std::move(sum), end]() mutable {
            std::atomic<int> all{0};
            tbb::parallel_for(0, end, [&](int i) { all += i; });
            sum.set_value(1000 * tbb::this_task_arena::max_concurrency() + all);
        };
    };
    const auto next = [&] {
        std::promise<int> sum;
        sums.push_back(sum.get_future());
        return sum;
    };
    const int all = tbb::info::default_concurrency();
    {
        tbb::task_arena one(1);
        tbb::task_arena whole;
        for (int call = 0; call < 20; ++call) {
            one.enqueue(sum_to(next(), 10));
            whole.enqueue(sum_to(next(), 10));
            tbb::this_task_arena::enqueue(sum_to(next(), 10));
            one.execute([&] { tbb::this_task_arena::enqueue(sum_to(next(), 10)); });
        }
    }
    for (std::size_t place = 0; place < sums.size(); ++place) {
        const bool in_one = place % 4 == 0 || place % 4 == 3;
        CHECK(sums[place].get() == 1000 * (in_one ? 1 : all) + 45);
    }
}

TEST_CASE("groups run in arenas, and are waited for there") {
    std::vector<std::unique_ptr<tbb::task_arena>> arenas;
    std::vector<tbb::task_group> groups(3);
    std::atomic<int> done{0};
    for (const int members : {1, 2, 7}) arenas.push_back(std::make_unique<tbb::task_arena>(members));
    for (std::size_t place = 0; place < arenas.size(); ++place)
        arenas[place]->execute(
            [&] { groups[place].run([&] { tbb::parallel_for(0, 100, [&](int) { ++done; }); }); });
    for (std::size_t place = 0; place < arenas.size(); ++place)
        arenas[place]->execute([&] { groups[place].wait(); });
    CHECK(done == 300);
}

TEST_CASE("a limit holds while it lives, and the least of several") {
    using limit = tbb::global_control;
    const int all = tbb::info::default_concurrency();
    const auto now = [] { return static_cast<int>(limit::active_value(limit::max_allowed_parallelism)); };
    {
        const limit many(limit::max_allowed_parallelism, 1000);
        CHECK(now() == all);
        const limit one(limit::max_allowed_parallelism, 1);
        CHECK(now() == 1);
        const limit more(limit::max_allowed_parallelism, 2);
        CHECK(now() == 1);
        const limit stacks(limit::thread_stack_size, std::size_t{4} << 20);
        CHECK(limit::active_value(limit::thread_stack_size) == std::size_t{4} << 20);
        std::vector<int> ranks(100);
        tbb::parallel_for(
            0, 100, [&](int i) { ranks[std::size_t(i)] = tbb::this_task_arena::current_thread_index(); });
        CHECK(std::count(ranks.begin(), ranks.end(), 0) == 100);
        CHECK(tbb::task_arena(5).max_concurrency() == 1);
    }
    CHECK(now() == all);
    const limit stacks(limit::thread_stack_size, std::size_t{4} << 20);
    CHECK(now() == all);
    std::atomic<int> ran{0};
    tbb::parallel_for(0, 100, [&](int) { ++ran; });
    CHECK(ran == 100);
}

TEST_CASE("a pipeline keeps orders, and has no more items under way than it may") {
    using tbb::filter_mode;
    const auto pipe = [](filter_mode input, filter_mode last, std::size_t most, int items, int throws_at) {
        std::atomic<int> next{0};
        std::atomic<int> under_way{0};
        std::atomic<bool> too_many{false};
        std::atomic<int> in_last{0};
        std::atomic<bool> together{false};
        std::vector<int> out;
        std::mutex writing;
        const auto first =
            tbb::make_filter<void, std::unique_ptr<int>>(input, [&](tbb::flow_control& control) {
                const int value = next++;
                if (value >= items) {
                    control.stop();
                    return std::unique_ptr<int>();
                }
                if (++under_way > static_cast<int>(most)) too_many = true;
                return std::make_unique<int>(value);
            });
        const auto work = tbb::make_filter<std::unique_ptr<int>, int>(filter_mode::parallel, [&](auto value) {
            if (*value == throws_at) throw std::runtime_error("in the middle");
            std::atomic<int> sum{0};
            tbb::parallel_for(0, 20, [&](int i) { sum += i; });
            for (volatile int turn = 0; turn < *value * 37 % 1000;) turn = turn + 1;
            return *value + sum - 190;
        });
        const auto write = tbb::make_filter<int, void>(last, [&](int value) {
            if (++in_last > 1) together = true;
            const std::lock_guard held(writing);
            out.push_back(value);
            --in_last;
            --under_way;
        });
        tbb::parallel_pipeline(most, first & work & write);
        CHECK_FALSE(too_many);
        if (last != filter_mode::parallel) CHECK_FALSE(together);
        return out;
    };
    for (const std::size_t most : {1, 2, 7}) {
        std::vector<int> found =
            pipe(filter_mode::serial_in_order, filter_mode::serial_in_order, most, 300, -1);
        CHECK(found.size() == 300);
        CHECK(std::is_sorted(found.begin(), found.end()));
        for (const filter_mode input : {filter_mode::parallel, filter_mode::serial_out_of_order}) {
            for (const filter_mode last :
                 {filter_mode::parallel, filter_mode::serial_out_of_order, filter_mode::serial_in_order}) {
                found = pipe(input, last, most, 200, -1);
                std::sort(found.begin(), found.end());
                CHECK(found.size() == 200);
                CHECK(found.front() == 0);
                CHECK(found.back() == 199);
            }
        }
        CHECK(pipe(filter_mode::serial_in_order, filter_mode::serial_in_order, most, 0, -1).empty());
        CHECK_THROWS_WITH(pipe(filter_mode::serial_in_order, filter_mode::serial_in_order, most, 100, 50),
                          "in the middle");
    }
    CHECK_THROWS_AS(pipe(filter_mode::parallel, filter_mode::parallel, 0, 1, -1), tauto::error);
    std::atomic<int> all{0};
    tbb::parallel_for(0, 8, [&](int) {  // in a loop's body, on the member that runs it
        all += static_cast<int>(pipe(filter_mode::serial_in_order, filter_mode::parallel, 4, 10, -1).size());
    });
    CHECK(all == 80);
}

namespace {

// Comes, after work that is long enough to be shared, and waits for the others. False after a long time.
bool meet(std::atomic<int>& here, int all) {
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
    while (passed() < std::chrono::microseconds(50)) {
    }
    for (++here; here < all; std::this_thread::yield())
        if (passed() > std::chrono::seconds(20)) return false;
    return true;
}

}  // namespace

TEST_CASE("members that carry no item take what is in a filter") {
    const int members = std::min(tbb::info::default_concurrency(), 2);
    for (const tbb::filter_mode mode : {tbb::filter_mode::serial_in_order, tbb::filter_mode::parallel}) {
        int items = 0;
        std::atomic<int> here{0};
        std::atomic<bool> met{true};
        int ended = 0;
        tbb::parallel_pipeline(
            4,
            tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, [&](tbb::flow_control& control) {
                if (items == 5) control.stop();
                return items++;
            }) & tbb::make_filter<int, int>(mode, [&](int item) {
                if (item != 2) return item;
                tbb::parallel_for(0, members, [&](int) {
                    if (!meet(here, members)) met = false;
                });
                return item;
            }) & tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, [&](int) { ++ended; }));
        CHECK(met);
        CHECK(ended == 5);
    }
}

TEST_CASE("a group in a loop of one iteration is shared from the next call on") {
    if (tbb::info::default_concurrency() < 2) return;
    for (const int all : {1, 1, 2}) {  // in the last call both are there at once
        std::atomic<int> here{0};
        std::atomic<bool> met{true};
        const auto come = [&] {
            if (!meet(here, all)) met = false;
        };
        tbb::parallel_for(0, 1, [&](int) {
            tbb::task_group group;
            group.run(come);
            group.run(come);
            group.wait();
        });
        CHECK(met);
        CHECK(here == 2);
    }
}

TEST_CASE("locks are held as long as they say") {
    tbb::mutex one;
    tbb::mutex::scoped_lock first(one);
    tbb::mutex::scoped_lock second;
    std::thread([&] { CHECK_FALSE(second.try_acquire(one)); }).join();
    first.release();
    std::thread([&] { CHECK(tbb::mutex::scoped_lock().try_acquire(one)); }).join();

    tbb::rw_mutex shared;
    const auto can = [&](bool write) {
        bool could = false;
        std::thread([&] { could = tbb::rw_mutex::scoped_lock().try_acquire(shared, write); }).join();
        return could;
    };
    tbb::rw_mutex::scoped_lock lock(shared, false);
    CHECK(can(false));
    CHECK_FALSE(can(true));
    CHECK_FALSE(lock.is_writer());
    CHECK_FALSE(lock.upgrade_to_writer());  // another writer might have had it
    CHECK(lock.is_writer());
    CHECK(lock.upgrade_to_writer());
    CHECK_FALSE(can(false));
    lock.downgrade_to_reader();
    CHECK(can(false));
    CHECK_FALSE(can(true));
    lock.release();
    lock.release();
    CHECK(can(true));
}

TEST_CASE("what is to happen once happens once, and again after an exception") {
    tbb::collaborative_once_flag flag;
    std::atomic<int> calls{0};
    std::atomic<int> thrown{0};
    std::atomic<long> sum{0};
    const auto once = [&](int begins_with) {
        if (calls.fetch_add(1) == 0) throw std::out_of_range("the first");
        tbb::parallel_for(begins_with, 1000, [&](int i) { sum += i; });
    };
    tbb::parallel_for(0, 64, [&](int) {
        try {
            tbb::collaborative_call_once(flag, once, 0);
        } catch (const std::out_of_range&) {
            ++thrown;
        }
        CHECK((sum == 499'500 || thrown == 1));
    });
    CHECK(calls == 2);
    CHECK(thrown == 1);
    CHECK(sum == 499'500);
}

TEST_CASE("a body may change the elements, and those that it adds") {
    std::vector<int> all(100, 3);
    std::atomic<int> seen{0};
    tbb::parallel_for_each(all.begin(), all.end(), [&](int& left, tbb::feeder<int>& more) {
        ++seen;
        if (--left > 0) more.add(left);
    });
    CHECK(seen == 300);
    CHECK(all == std::vector<int>(100, 2));
}

TEST_CASE("locks that exclude nobody, and an arena that is asked for by constraints") {
    tbb::null_mutex none;
    const tbb::null_mutex::scoped_lock first(none);
    tbb::null_mutex::scoped_lock second;
    CHECK(second.try_acquire(none));
    tbb::null_rw_mutex of_two;
    tbb::null_rw_mutex::scoped_lock reader(of_two, false);
    CHECK_FALSE(reader.is_writer());
    CHECK(reader.upgrade_to_writer());
    CHECK(reader.is_writer());
    for (const tbb::numa_node_id node : tbb::info::numa_nodes()) {
        tbb::task_arena one(tbb::task_arena::constraints{}.set_numa_id(node).set_max_concurrency(1));
        CHECK(one.execute([] { return tbb::this_task_arena::max_concurrency(); }) == 1);
    }
    CHECK(tbb::info::core_types().size() == 1);
    CHECK(tbb::info::default_concurrency(tbb::task_arena::constraints{}) == tbb::info::default_concurrency());
}

TEST_CASE("a context ends a loop early") {
    tbb::task_group_context all;
    std::atomic<int> ran{0};
    tbb::parallel_for(
        0, 1'000'000, 1,
        [&](int) {
            if (++ran == 100) CHECK(all.cancel_group_execution());
        },
        all);
    CHECK(ran < 1'000'000);
    CHECK_FALSE(all.cancel_group_execution());
    all.reset();
    ran = 0;
    tbb::parallel_for(
        tbb::blocked_range2d<int>(0, 30, 0, 40),
        [&](const tbb::blocked_range2d<int>& part) {
            ran += static_cast<int>(part.rows().size() * part.cols().size());
        },
        all);
    CHECK(ran == 1200);
}

TEST_CASE("each thread has a value of its own, which all are joined from") {
    tbb::enumerable_thread_specific<long> sums(100L);
    CHECK(sums.empty());
    CHECK(sums.combine(std::plus<>{}) == 100);  // a new one
    tbb::parallel_for(range(0, 10'000), [&](const range& part) {
        long& own = sums.local();
        for (int i = part.begin(); i < part.end(); ++i) own += i;
    });
    const auto threads = static_cast<long>(sums.size());
    REQUIRE(threads >= 1);
    CHECK(threads <= tbb::info::default_concurrency());
    CHECK(sums.combine(std::plus<>{}) == 49'995'000 + 100 * threads);
    long seen = 0;
    for (const long one : sums) seen += one;
    sums.combine_each([&](long one) { seen -= one; });
    CHECK(seen == 0);
    bool exists = true;
    sums.clear();
    CHECK(sums.local(exists) == 100);
    CHECK_FALSE(exists);
    static_cast<void>(sums.local(exists));
    CHECK(exists);
}

TEST_CASE("more threads than the first 64 have values of their own, too") {
    tbb::combinable<int> count([] { return 0; });
    constexpr int many = 100;
    std::vector<std::thread> threads;
    std::atomic<int> twice{0};
    for (int k = 0; k < many; ++k)
        threads.emplace_back([&] {
            ++count.local();
            bool exists = false;
            ++count.local(exists);
            twice += exists ? 1 : 0;
        });
    for (std::thread& one : threads) one.join();
    CHECK(twice == many);
    int values = 0;
    count.combine_each([&](int one) { values += one == 2 ? 1 : 0; });
    CHECK(values == many);
    CHECK(count.combine(std::plus<>{}) == 2 * many);
}

TEST_CASE("a group inside a loop waits for its tasks") {
    const auto loop = [](int n) {
        std::vector<int> sums(std::size_t(n), 0);
        tbb::parallel_for(0, n, [&](int i) {
            std::vector<int> parts(4, 0);
            tbb::task_group group;
            for (int& part : parts) group.run([&part, i] { part = i + 1; });
            group.wait();
            for (const int part : parts) sums[std::size_t(i)] += part;
        });
        for (int i = 0; i < n; ++i) CHECK(sums[std::size_t(i)] == 4 * (i + 1));
    };
    for (const int n : {1, 64}) loop(n);
}

}  // namespace
