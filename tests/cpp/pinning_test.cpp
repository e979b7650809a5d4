// The CPUs of the thread that makes a team: pinned while a team of its own lives, then as before.

#include <doctest/doctest.h>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "child.hpp"

using namespace tauto;
using testing::in_child;

namespace {

pid_t this_thread() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

cpu_set_t mask_of(pid_t thread) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    sched_getaffinity(thread, sizeof mask, &mask);
    return mask;
}

bool same(const cpu_set_t& one, const cpu_set_t& other) {
    return CPU_EQUAL(&one, &other);
}

bool only(const cpu_set_t& mask, int cpu) {
    return CPU_COUNT(&mask) == 1 && CPU_ISSET(static_cast<unsigned>(cpu), &mask);
}

void pin_this_thread(int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(static_cast<unsigned>(cpu), &mask);
    sched_setaffinity(0, sizeof mask, &mask);
}

// Until threads that are born now have another birth, in the ticks in which the system counts births.
void let_births_differ() {
    const auto ticks_since_boot = [] {
        timespec now{};
        clock_gettime(CLOCK_BOOTTIME, &now);
        return (now.tv_sec * 1'000'000'000 + now.tv_nsec) / (1'000'000'000 / sysconf(_SC_CLK_TCK));
    };
    const auto end = ticks_since_boot();
    while (ticks_since_boot() < end + 2) std::this_thread::yield();
}

// Two CPUs; the same one twice where there is only one.
const std::vector<int> cpus = [] {
    std::vector<int> all = allowed_cpus();
    if (all.size() == 1) all.push_back(all[0]);
    return all;
}();

// One whose members have begun, so that its maker is pinned.
std::unique_ptr<team> team_on(int cpu, int size = 2) {
    auto made = std::make_unique<team>(team_options{.cpus = {cpu}, .size = size});
    CHECK(made->pinned());
    return made;
}

}  // namespace

TEST_CASE("a team that replaces an older one keeps its maker pinned" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_set_t before = mask_of(0);
    auto mine = team_on(cpus[0]);
    mine = team_on(cpus[1]);
    CHECK(mine->pinned());
    CHECK(only(mask_of(0), cpus[1]));
    mine.reset();
    CHECK(same(mask_of(0), before));
}

TEST_CASE("the maker is pinned where its newest living team wants it" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_set_t before = mask_of(0);
    auto first = team_on(cpus[0]);
    auto second = team_on(cpus[1]);
    CHECK(only(mask_of(0), cpus[1]));
    auto third = team_on(cpus[0]);
    second.reset();
    CHECK(only(mask_of(0), cpus[0]));
    second = team_on(cpus[1]);
    second.reset();
    CHECK(only(mask_of(0), cpus[0]));
    first.reset();
    third.reset();
    CHECK(same(mask_of(0), before));
}

TEST_CASE("a team that another thread ends gives its maker's CPUs back, each time" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_set_t before = mask_of(0);
    for (int round = 0; round < 3; ++round) {
        auto mine = team_on(cpus[static_cast<std::size_t>(round) % 2]);
        std::thread([&] { mine.reset(); }).join();
        CHECK(same(mask_of(0), before));
    }
}

TEST_CASE("a child's copy of a team gives the child its CPUs back, and leaves the parent alone" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_set_t before = mask_of(0);
    auto mine = team_on(cpus[0]);
    const int status = in_child([&] {
        mine.reset();
        bool right = same(mask_of(0), before);
        mine = team_on(cpus[1], 1);
        right = right && only(mask_of(0), cpus[1]);
        mine.reset();
        return right && same(mask_of(0), before);
    });
    CHECK(status == 0);
    CHECK(only(mask_of(0), cpus[0]));
    mine.reset();
    CHECK(same(mask_of(0), before));
}

TEST_CASE("a child of another thread than the maker leaves both processes' threads alone" *
          doctest::description("runtime.md, promise 11")) {
    auto mine = team_on(cpus[0]);
    std::thread([&] {
        const cpu_set_t own = mask_of(0);
        const int status = in_child([&] {
            mine.reset();
            return same(mask_of(0), own);
        });
        CHECK(status == 0);
    }).join();
    CHECK(only(mask_of(0), cpus[0]));
}

TEST_CASE("a thread that got the number of a team's dead maker keeps its CPUs") {
    std::unique_ptr<team> orphan;
    pid_t maker = 0;
    std::thread([&] {
        maker = this_thread();
        orphan = team_on(cpus[0]);
    }).join();
    // The next thread gets the number after this one, unless another process is given a number just then.
    const char* const last_number = "/proc/sys/kernel/ns_last_pid";
    bool met = false;
    for (int tries = 0; tries < 10'000 && !met; ++tries) {
        if (!(std::ofstream(last_number) << maker - 1).flush()) {
            MESSAGE("only the administrator can give a thread this number");
            return;
        }
        std::thread([&] {
            if (this_thread() != maker) return;
            met = true;
            cpu_set_t own;
            CPU_ZERO(&own);
            CPU_SET(static_cast<unsigned>(cpus[1]), &own);
            sched_setaffinity(0, sizeof own, &own);
            orphan.reset();
            CHECK(only(mask_of(0), cpus[1]));
        }).join();
    }
    CHECK(met);
}

TEST_CASE("a thread that was born pinned may use all CPUs after the team has ended, too" *
          doctest::description("runtime.md, promise 11")) {
    const std::size_t cores = usable_cores().size();
    for (const int rank : {0, 1}) {
        std::size_t size = 0;
        std::atomic<bool> ended{false};
        std::thread born;
        {
            team members{team_options{.cpus = {cpus[0]}, .size = 2}};
            members.run([&](member& me) {
                if (me.rank() != rank) return;
                born = std::thread([&] {
                    while (!ended) std::this_thread::yield();
                    team own;
                    size = own.cpus().size();
                });
            });
        }
        ended = true;
        born.join();
        CHECK(size == cores);
    }
    // One that pinned itself keeps to its CPU, if it was born later.
    let_births_differ();
    std::thread([&] {
        pin_this_thread(cpus[0]);
        CHECK(team().size() == 1);
    }).join();
}

TEST_CASE("a member keeps its CPU where its team's maker has not called, and another team looks around" *
          doctest::description("runtime.md, promise 23")) {
    auto older = team_on(cpus[1]);  // this thread is pinned there, and looks for threads that it has borne
    let_births_differ();
    std::unique_ptr<team> unused;
    std::thread([&] { unused = std::make_unique<team>(team_options{.cpus = {cpus[0], cpus[1]}}); }).join();
    std::thread([&] {
        pid_t worker = 0;
        unused->run([&](member& me) {
            if (me.rank() == 1) worker = this_thread();
        });
        older.reset();  // the latest moment at which it looks
        CHECK(only(mask_of(worker), cpus[1]));
    }).join();
}

TEST_CASE("a thread that was born pinned may use the CPUs of the thread that bore it") {
    const std::size_t cores = usable_cores().size();
    team members{team_options{.cpus = {cpus[0]}, .size = 2}};
    std::thread([&] {
        team inner;
        team elsewhere{team_options{.cpus = {cpus[1]}}};
        CHECK(elsewhere.cpus() == std::vector<int>{cpus[1]});
        CHECK(inner.cpus().size() == cores);
    }).join();
}

namespace {

// A thread that lives until this ends.
class other_thread {
  public:
    // `begins` is called on it first.
    template <class Begin>
    explicit other_thread(Begin begins)
        : thread_([this, begins] {
              begins();
              number_ = this_thread();
              number_.notify_one();
              ends_.wait(false);
          }) {
        number_.wait(0);
    }
    other_thread() : other_thread([] {}) {}
    ~other_thread() {
        ends_ = true;
        ends_.notify_one();
        thread_.join();
    }
    other_thread(const other_thread&) = delete;
    other_thread& operator=(const other_thread&) = delete;
    [[nodiscard]] cpu_set_t mask() const { return mask_of(number_); }

  private:
    std::atomic<pid_t> number_{0};
    std::atomic<bool> ends_{false};
    std::thread thread_;
};

// Until then the team is used again and again, or not at all.
template <class Condition>
bool comes_true(Condition condition, team* used) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > limit) return false;
        if (used != nullptr)
            parallel_for(*used, 1000, [](tauto::index) {}, {.schedule = static_{}});
        else
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

}  // namespace

TEST_CASE("the maker is pinned once it uses its team, whoever did first" *
          doctest::description("runtime.md, promise 11")) {
    const cpu_set_t before = mask_of(0);
    team mine({.cpus = {cpus[0]}, .size = 2});
    CHECK(same(mask_of(0), before));
    std::thread([&] {
        CHECK(mine.pinned());
        CHECK(same(mask_of(0), before));  // it has made no team
    }).join();
    CHECK(same(mask_of(0), before));
    CHECK(comes_true([] { return only(mask_of(0), cpus[0]); }, &mine));
}

TEST_CASE("a thread that a pinned maker has started gets the CPUs that the maker would have" *
          doctest::description("runtime.md, promise 23")) {
    const cpu_set_t before = mask_of(0);
    if (CPU_COUNT(&before) < 2) return;
    for (const bool used : {false, true}) {
        CAPTURE(used);
        team mine({.cpus = {cpus[0], cpus[1]}});
        const other_thread early;
        CHECK(same(early.mask(), before));
        mine.run([](member&) {});
        const other_thread late;
        CHECK(same(early.mask(), before));
        CHECK(comes_true([&] { return same(late.mask(), before); }, used ? &mine : nullptr));
        CHECK(only(mask_of(0), cpus[0]));
    }
}

TEST_CASE("a thread that a member has started has its CPUs at its first call" *
          doctest::description("runtime.md, promise 23")) {
    const cpu_set_t before = mask_of(0);
    if (CPU_COUNT(&before) < 2) return;
    team mine({.cpus = {cpus[0], cpus[1]}});
    mine.run([](member&) {});
    const auto calls = [&](team& used) {
        std::thread([&] {
            parallel_for(used, 10, [](range) {});
            CHECK(same(mask_of(0), before));
            pin_this_thread(cpus[0]);
            parallel_for(used, 10, [](range) {});
            CHECK(only(mask_of(0), cpus[0]));
        }).join();
    };
    calls(mine);
    team unpinned({.size = 2, .pin = false});
    calls(unpinned);
    mine.run([&](member& me) {
        if (me.rank() == 1) calls(unpinned);
    });
    CHECK(only(mask_of(0), cpus[0]));
}

TEST_CASE("who pins itself elsewhere, later, or was born before keeps its CPU" *
          doctest::description("runtime.md, promise 23")) {
    const cpu_set_t before = mask_of(0);
    if (CPU_COUNT(&before) < 2) return;
    const other_thread older([] { pin_this_thread(cpus[0]); });
    let_births_differ();
    auto mine = team_on(cpus[0], 3);  // with members where the maker is
    const other_thread elsewhere([] { pin_this_thread(cpus[1]); });
    std::atomic<int> pins{0};
    std::atomic<bool> done{false};
    std::thread later([&] {
        while (pins == 0) pins.wait(0);
        pin_this_thread(cpus[0]);
        const other_thread witness;  // born of one that has pinned itself, so it counts as born of the maker
        CHECK(comes_true([&] { return same(witness.mask(), before); }, nullptr));
        CHECK(only(mask_of(0), cpus[0]));
        done = true;
    });
    const other_thread first;
    CHECK(comes_true([&] { return same(first.mask(), before); }, nullptr));
    // `later` has had its CPUs back by then, too.
    pins = 1;
    pins.notify_one();
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    later.join();
    CHECK(only(older.mask(), cpus[0]));
    CHECK(only(elsewhere.mask(), cpus[1]));
    mine->run([&](member&) { CHECK(only(mask_of(0), cpus[0])); });
}

TEST_CASE("the end of a team gives all that its maker has started their CPUs" *
          doctest::description("runtime.md, promise 23")) {
    const cpu_set_t before = mask_of(0);
    if (CPU_COUNT(&before) < 2) return;
    auto mine = team_on(cpus[0], 1);  // nobody looks
    const other_thread started;
    CHECK(only(started.mask(), cpus[0]));
    mine.reset();
    CHECK(same(started.mask(), before));
}
