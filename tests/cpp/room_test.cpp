// Whether members have a CPU each, looked at while a team is used.

#include <doctest/doctest.h>

#include <sched.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "asleep.hpp"
#include "child.hpp"
#include "fake_tree.hpp"
#include "runtime/room.hpp"

namespace tauto {

using detail::each_has_a_cpu;
using detail::room;

namespace {

using masks = std::vector<std::vector<int>>;

const std::int64_t second = detail::to_ticks(std::chrono::seconds(1));

double cpu_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& one) {
        return static_cast<double>(one.tv_sec) + static_cast<double>(one.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// As `taskset -ap` does it: all threads of this process.
void move_all_threads_to(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(cpu), &one);
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
        sched_setaffinity(std::stoi(task.path().filename().string()), sizeof one, &one);
}

}  // namespace

TEST_CASE("members have a CPU each when their masks can be shared out") {
    CHECK(each_has_a_cpu({}));
    CHECK(each_has_a_cpu({{0}, {1}}));
    CHECK(each_has_a_cpu({{0, 1}, {1}}));
    CHECK(each_has_a_cpu({{0, 1, 2}, {0, 1, 2}, {1}}));
    CHECK_FALSE(each_has_a_cpu({{0}, {0}}));
    CHECK_FALSE(each_has_a_cpu({{0, 1}, {0, 1}, {0, 1}}));
    CHECK_FALSE(each_has_a_cpu({{0, 1}, {0}, {1}}));
}

TEST_CASE("a look is due once a second of use, and reads the clock once in 16 short launches") {
    room own;
    const std::int64_t start = detail::ticks();
    int reads = 0;
    std::int64_t now = start;
    const auto clock = [&] {
        ++reads;
        return now;
    };
    int looks = 0;
    for (int launch = 0; launch < 160'000; ++launch) {  // of 20 microseconds: 3.2 seconds
        now = start + second * launch / 50'000;
        if (!own.due(clock)) continue;
        ++looks;
        own.look({{0}}, now);
    }
    CHECK(looks == 3);
    CHECK(reads <= 10'000);
    reads = 0;
    for (int launch = 1; launch <= 32; ++launch) {  // of a second
        now += second;
        if (own.due(clock)) own.look({{0}}, now);
    }
    CHECK(reads >= 16);           // at first it waits for 16 short ones
    now = start - 1000 * second;  // a counter that was set back
    bool due = false;
    for (int launch = 0; launch < 16; ++launch) due = due || own.due(clock);
    CHECK(due);
}

TEST_CASE("a mask that has become smaller, and larger again, is seen") {
    room own;
    const std::int64_t now = detail::ticks();
    own.look({{0}, {1}}, now);
    CHECK_FALSE(own.crowded());
    own.look({{0}, {0}}, now + second);
    CHECK(own.crowded());
    own.look({{0, 1}, {0, 1}}, now + 2 * second);
    CHECK_FALSE(own.crowded());
}

TEST_CASE("a quota that was lowered, and raised again, is seen") {
    const test::changed_tree tree("container_v2");
    room own(tree.root());
    std::int64_t now = detail::ticks();
    const auto crowded_with = [&](const std::string& quota) {
        tree.write("sys/fs/cgroup/app/cpu.max", quota);
        own.look({{0}, {1}, {2}}, now += second);
        return own.crowded();
    };
    CHECK_FALSE(crowded_with("max 100000"));
    CHECK(crowded_with("200000 100000"));
    CHECK_FALSE(crowded_with("210000 100000"));
    CHECK_FALSE(crowded_with("400000 100000"));
}

TEST_CASE("teams that are in use on the same CPUs see each other, for as long as they are") {
    const std::int64_t now = detail::ticks();
    room own;
    {
        room other;
        own.look({{0}, {1}}, now);
        CHECK_FALSE(own.crowded());  // the other has not been used
        other.look({{1}, {2}}, now + second);
        CHECK(other.crowded());
        own.look({{0}, {1}}, now + second);
        CHECK(own.crowded());
        own.look({{3}, {4}}, now + second);
        CHECK_FALSE(own.crowded());
        own.look({{0}, {1}}, now + 10 * second);  // nobody has used the other since
        CHECK_FALSE(own.crowded());
        other.look({{1}, {2}}, now + 11 * second);
        own.look({{0}, {1}}, now + 11 * second);
        CHECK(own.crowded());
    }
    own.look({{0}, {1}}, now + 12 * second);
    CHECK_FALSE(own.crowded());
}

TEST_CASE(
    "members whose CPUs are taken away while the team is used soon spin no more, not even with active "
    "wait" *
    doctest::description("runtime.md, promise 10")) {
    const std::vector<int> all = allowed_cpus();
    if (all.size() < 2) return;
    const int status = testing::in_child([&] {
        team members{team_options{.cpus = {all[0], all[1]}, .wait = wait_policy::active}};
        const auto loop = [&] { return parallel_for(members, 2, [](range) {}, {.schedule = static_{}}); };
        if (!loop() || members.oversubscribed()) return false;
        move_all_threads_to(all[0]);
        while (!members.oversubscribed()) (void)loop();
        (void)loop();
        if (!testing::others_fall_asleep()) return false;
        const double before = cpu_seconds();
        const auto last_sleeps = [&](range r) {
            if (r.end == 2) std::this_thread::sleep_for(std::chrono::milliseconds(200));
        };
        (void)parallel_for(members, 2, last_sleeps, {.schedule = static_{}});
        return cpu_seconds() - before < 0.1;
    });
    CHECK(status == 0);
}

}  // namespace tauto
