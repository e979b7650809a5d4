// Which CPUs the teams of a process get, and what their callers know of each other.

#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "runtime/callers.hpp"
#include "runtime/machine_limits.hpp"

namespace tauto {

using detail::callers;
using detail::cpu_choice;
using detail::team_cpus;

namespace {

using cpus = std::vector<int>;

// What a thread of its own gets, and keeps.
class chosen_elsewhere {
  public:
    explicit chosen_elsewhere(const cpu_choice& from) {
        std::thread([&] { got_.emplace(from); }).join();
    }
    [[nodiscard]] const team_cpus& got() const { return *got_; }
    [[nodiscard]] const cpus& by_rank() const { return got_->by_rank(); }

  private:
    std::optional<team_cpus> got_;
};

}  // namespace

TEST_CASE("teams of several threads begin on different CPUs" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_choice all{{3, 1, 2}, 3, false};
    const team_cpus first(all);
    CHECK(first.by_rank() == cpus{3, 1, 2});
    CHECK_FALSE(first.others_begin_there());
    CHECK(team_cpus(all).by_rank() == cpus{3, 1, 2});  // of the same thread, which uses one at a time
    const chosen_elsewhere second(all);
    CHECK(second.by_rank() == cpus{1, 3, 2});
    {
        const chosen_elsewhere third(all);
        CHECK(third.by_rank() == cpus{2, 3, 1});
        CHECK_FALSE(third.got().others_begin_there());
        const chosen_elsewhere fourth(all);
        CHECK(fourth.by_rank() == cpus{3, 1, 2});
        CHECK(fourth.got().others_begin_there());
    }
    CHECK(chosen_elsewhere(all).by_rank() == cpus{2, 3, 1});  // as the third has ended
    CHECK(chosen_elsewhere({{5, 3}, 2, false}).by_rank() == cpus{5, 3});
}

TEST_CASE("small teams of several threads have different CPUs" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_choice pair{{0, 1, 2, 3, 4}, 2, false};
    const team_cpus first(pair);
    const chosen_elsewhere second(pair);
    const chosen_elsewhere third(pair);
    CHECK(first.by_rank() == cpus{0, 1});
    CHECK(second.by_rank() == cpus{2, 3});
    CHECK(third.by_rank() == cpus{4, 0});
    CHECK(&first.its_callers() != &second.got().its_callers());
}

TEST_CASE("a team has the CPUs that were named for it, as they were named" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_choice named{{2, 0}, 2, true};
    const team_cpus first(named);
    const chosen_elsewhere second(named);
    CHECK(second.by_rank() == cpus{2, 0});
    CHECK_FALSE(second.got().others_begin_there());
    CHECK(&first.its_callers() != &second.got().its_callers());
    CHECK(chosen_elsewhere({{2, 0}, 2, false}).by_rank() == cpus{0, 2});
}

TEST_CASE("more members than CPUs are dealt out in turn") {
    CHECK(team_cpus({{4, 2}, 5, false}).by_rank() == cpus{4, 2, 4, 2, 4});
    CHECK(team_cpus({{4, 2}, 5, true}).by_rank() == cpus{4, 2, 4, 2, 4});
    CHECK(team_cpus({{4, 4, 2}, 3, true}).by_rank() == cpus{4, 4, 2});
}

TEST_CASE("teams of the same CPUs count their callers together") {
    const cpu_choice all{{0, 1}, 2, false};
    const team_cpus first(all);
    callers& both = first.its_callers();
    CHECK_FALSE(both.are_several_teams());
    {
        const chosen_elsewhere second(all);
        const chosen_elsewhere crowded({{0, 1}, 7, false});
        CHECK(&second.got().its_callers() == &both);
        CHECK(&crowded.got().its_callers() == &both);
        CHECK(both.are_several_teams());
        CHECK(both.leave_a_cpu());
        both.turns = 1;
        CHECK_FALSE(both.leave_a_cpu());
        CHECK(both.have_all());
        both.turns = 0;
        both.beside = 1;
        CHECK_FALSE(both.leave_a_cpu());
        both.beside = 0;
        both.left = detail::ticks();
        CHECK_FALSE(both.leave_a_cpu());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        CHECK(both.leave_a_cpu());
        CHECK(both.left == 0);
        both.left = detail::ticks() + detail::to_ticks(std::chrono::hours(1));  // of a counter set otherwise
        CHECK(both.leave_a_cpu());
    }
    CHECK_FALSE(both.are_several_teams());
}

TEST_CASE("more than two CPUs are had by all but one of as many threads") {
    const team_cpus four({{0, 1, 2, 3}, 4, false});
    callers& all = four.its_callers();
    all.waiting = 1;
    CHECK_FALSE(all.have_all());  // with who has the turn and who asks: three
    all.beside = 1;
    CHECK(all.have_all());
    CHECK_FALSE(all.others_have_all());
    all.beside = 3;
    CHECK(all.others_have_all());
}

TEST_CASE("the makers of several teams are pinned to different CPUs, and those that are left over to none" *
          doctest::description("runtime.md, promise 11")) {
    const cpus before = detail::affinity_of_caller();
    const int threads = detail::int_size(usable_cores()) + 1;
    std::vector<cpus> found(detail::usize(threads));
    std::barrier<> all(threads);
    const auto work = [&](int number) {
        const cpus own = detail::affinity_of_caller();
        all.arrive_and_wait();  // nobody is born pinned
        for (int turn = 0; turn < threads; ++turn) {
            if (turn != number) {
                all.arrive_and_wait();
                continue;
            }
            static thread_local std::optional<team> its;
            its.emplace();
            its->run([](member&) {});
            detail::at(found, number) = detail::affinity_of_caller();
            all.arrive_and_wait();
        }
        all.arrive_and_wait();
        if (number == threads - 1) CHECK(detail::at(found, number) == own);
    };
    std::vector<std::thread> others;
    for (int number = 1; number < threads; ++number) others.emplace_back(work, number);
    std::thread([&] { work(0); }).join();
    for (std::thread& other : others) other.join();
    cpus firsts;
    for (int number = 0; number + 1 < threads; ++number) {
        REQUIRE(detail::at(found, number).size() == 1);
        firsts.push_back(detail::at(found, number)[0]);
    }
    CHECK(firsts == usable_cores());
    CHECK(detail::affinity_of_caller() == before);
}

TEST_CASE("a loop runs on its thread alone while a loop of another team has the CPUs" *
          doctest::description("runtime.md, promise 5")) {
    const bool two_cpus = usable_cores().size() == 2;  // with more, each small team has its own
    static constexpr int calls = 5;
    std::barrier<> both(2);
    std::atomic<bool> holds{false};
    std::atomic<bool> ended{false};
    std::atomic<int> strange{0};
    std::atomic<int> ran{0};
    std::thread other([&] {
        team own(team_options{.size = 2});
        const std::thread::id me = std::this_thread::get_id();
        parallel_for(own, 64, [](index) {});
        for (int call = 0; call < calls; ++call) {
            both.arrive_and_wait();
            while (!holds) std::this_thread::yield();
            parallel_for(own, 1000, [&](range r) {
                if (std::this_thread::get_id() != me) ++strange;
                ran += static_cast<int>(r.size());
            });
            ended = true;
            both.arrive_and_wait();
        }
    });
    team own(team_options{.size = 2});
    for (int call = 0; call < calls; ++call) {
        holds = false;
        ended = false;
        both.arrive_and_wait();
        // Both members: so nobody could help the other loop.
        parallel_for(own, 2,
                     [&](index) {
                         holds = true;
                         while (!ended) std::this_thread::yield();
                     },
                     {.schedule = static_{}});
        both.arrive_and_wait();
    }
    other.join();
    CHECK(ran == calls * 1000);
    if (two_cpus) CHECK(strange == 0);
}

}  // namespace tauto
