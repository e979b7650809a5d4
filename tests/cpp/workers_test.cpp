// The workers' threads as team_options wants them: stack, name and start hook.

#include <doctest/doctest.h>

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>

#include <tauto/tauto.hpp>

#include "child.hpp"
#include "refusals.hpp"

using namespace tauto;
using testing::in_child;
using testing::mentions;
using testing::message_of;

namespace {

// What `ask` says on each worker.
template <class Ask>
auto on_workers(team& members, Ask ask) {
    std::mutex lock;
    std::set<decltype(ask())> answers;
    members.run([&](member& me) {
        if (me.rank() == 0) return;
        const std::lock_guard guard(lock);
        answers.insert(ask());
    });
    return answers;
}

std::size_t stack_bytes() {
    pthread_attr_t mine;
    pthread_getattr_np(pthread_self(), &mine);
    std::size_t bytes = 0;
    pthread_attr_getstacksize(&mine, &bytes);
    pthread_attr_destroy(&mine);
    return bytes;
}

std::string thread_name() {
    char name[16];
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name;
}

bool works_on_all(team& members) {
    std::atomic<int> ran{0};
    parallel_for(members, members.size(), [&](tauto::index) { ++ran; }, {.schedule = static_{}});
    return ran == members.size();
}

using names = std::set<std::string>;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

}  // namespace

TEST_CASE("a worker has the stack that was asked for" * doctest::description("runtime.md, promise 17")) {
    for (const std::size_t bytes : {mebibyte, 64 * mebibyte + 1}) {
        team members{team_options{.size = 3, .stack_bytes = bytes}};
        for (const std::size_t one : on_workers(members, stack_bytes)) CHECK(one >= bytes);
    }
    setenv("TAUTO_STACK", "48M", 1);
    {
        team members{team_options{.size = 2}};
        CHECK(*on_workers(members, stack_bytes).begin() >= 48 * mebibyte);
    }
    for (const char* wrong : {"M", "many", "-1", "99999999G"}) {
        setenv("TAUTO_STACK", wrong, 1);
        CHECK(mentions(message_of<error>([] { team members{team_options{.size = 2}}; }), wrong));
    }
    unsetenv("TAUTO_STACK");
    CHECK(mentions(message_of<error>([] { team members{team_options{.size = 2, .stack_bytes = 1}}; }),
                   "stacks of 1 bytes"));
}

TEST_CASE("workers' threads are called by the team's name and their rank" *
          doctest::description("runtime.md, promise 17")) {
    const std::string own = thread_name();
    team plain{team_options{.size = 3}};
    CHECK(on_workers(plain, thread_name) == names{"tauto 1", "tauto 2"});
    team named{team_options{.size = 12, .name = "a long name of a team"}};
    const names long_ones = on_workers(named, thread_name);
    CHECK(long_ones.size() == 11);
    CHECK(long_ones.contains("a long name o 1"));
    CHECK(long_ones.contains("a long name  11"));
    CHECK(thread_name() == own);
}

TEST_CASE("the start hook runs once on each worker, before its first loop" *
          doctest::description("runtime.md, promise 18")) {
    std::mutex lock;
    std::multiset<int> started;
    const auto hook = [&](int rank) {
        const std::lock_guard guard(lock);
        started.insert(rank);
    };
    team members{team_options{.size = 4, .on_start = hook}};
    CHECK(started.empty());
    for (int call = 0; call < 3; ++call) {
        parallel_for(members, 100, [](range) {}, {.schedule = static_{}});
        CHECK(started == std::multiset<int>{1, 2, 3});
    }
}

TEST_CASE("the start hook runs again on each worker of a forked child" *
          doctest::description("runtime.md, promise 18")) {
    std::atomic<int> started{0};
    team members{team_options{.size = 4, .on_start = [&](int) { ++started; }}};
    parallel_for(members, 100, [](range) {}, {.schedule = static_{}});
    CHECK(in_child([&] {
              parallel_for(members, 100, [](range) {}, {.schedule = static_{}});
              return started == 6;
          }) == 0);
}

TEST_CASE("what a start hook throws comes out of the call, of several the lowest rank's" *
          doctest::description("runtime.md, promise 18")) {
    std::atomic<int> least_bad{2};
    std::atomic<int> ended{0};
    const auto hook = [&](int rank) {
        if (rank >= least_bad) throw std::out_of_range(std::to_string(rank));
        ++ended;
    };
    team members{team_options{.size = 5, .on_start = hook}};
    for (int call = 1; call <= 3; ++call) {
        CHECK_THROWS_WITH_AS(parallel_for(members, 10, [](range) {}), "2", std::out_of_range);
        CHECK_THROWS_WITH_AS((void)members.pinned(), "2", std::out_of_range);
        CHECK(ended == 2 * call);
    }
    least_bad = 5;
    CHECK(works_on_all(members));
}

TEST_CASE("loops in a start hook stay on the worker, and a new team's members are refused") {
    std::atomic<int> right{0};
    std::atomic<int> refused{0};
    team* self = nullptr;
    const auto hook = [&](int rank) {
        bool stayed = true;
        team inner{team_options{.size = 2}};
        for (team* one : {self, &inner}) {
            const pthread_t here = pthread_self();
            parallel_for(*one, 10,
                         [&](range) { stayed = stayed && pthread_equal(here, pthread_self()) != 0; });
        }
        right += stayed ? rank : 0;
        refused += mentions(message_of<error>([&] { (void)inner.notes(); }), "start hook") ? 1 : 0;
    };
    team members{team_options{.size = 3, .on_start = hook}};
    self = &members;
    CHECK(works_on_all(members));
    CHECK(right == 3);
    CHECK(refused == 2);
}
