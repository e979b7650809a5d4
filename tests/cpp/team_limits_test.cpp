// Where the system does not give what a team would like: fewer CPUs than members, a quota, refused pins,
// fork.

#include <doctest/doctest.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <tauto/tauto.hpp>

#include "asleep.hpp"
#include "child.hpp"

namespace tauto {
using testing::cpu_seconds;
using testing::in_child;

namespace {

bool sums_right(team& members, index n, const loop_options& options) {
    std::atomic<index> sum{0};
    parallel_for(
        members, n,
        [&](range r) {
            for (index i = r.begin; i < r.end; ++i) sum += i;
        },
        options);
    return sum == n * (n - 1) / 2;
}

// Each of two members has one iteration, body(range, rank).
void on_each_of_two(team& members, const auto& body) {
    parallel_for(members, 2, body, {.schedule = static_{}});
}

// From now on the system calls of these numbers answer `failure` in this process.
bool forbid(std::initializer_list<int> numbers, int failure) {
    for (const int number : numbers) {
        sock_filter program[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
            BPF_STMT(BPF_RET | BPF_K,
                     SECCOMP_RET_ERRNO | (static_cast<unsigned>(failure) & SECCOMP_RET_DATA)),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter{sizeof program / sizeof program[0], program};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
            return false;
    }
    return true;
}

bool forbid_pinning() {
    return forbid({SYS_sched_setaffinity}, EPERM);
}

bool forbid_threads() {
    return forbid({SYS_clone, SYS_clone3}, EAGAIN);
}

// A thread that calls again and again, from this object's making to its end.
class busy_thread {
  public:
    explicit busy_thread(std::function<void()> call)
        : thread_([this, call = std::move(call)](const std::stop_token& stop) {
              while (!stop.stop_requested()) {
                  call();
                  running_ = true;
              }
          }) {
        // A thread that only begins may hold locks of a sanitizer, which no child could ever take.
        while (!running_) std::this_thread::yield();
    }

  private:
    std::atomic<bool> running_{false};
    std::jthread thread_;
};

template <class Call>
bool refuses(Call call) {
    try {
        call();
    } catch (const error&) {
        return true;
    }
    return false;
}

std::ptrdiff_t threads_of_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
}

}  // namespace

TEST_CASE("more members than CPUs: every loop is right, and no CPU has two members of a learned one" *
          doctest::description("runtime.md, promise 10")) {
    const std::vector<int> all = select_cpus(read_machine(), "all");
    std::vector<int> doubled = all;
    doubled.insert(doubled.begin(), all.begin(), all.end());
    std::sort(doubled.begin(), doubled.end());  // 0, 0, 1, 1, …: neighbours share a CPU
    for (const std::vector<int>& cpus : {std::vector<int>{all[0]}, all, doubled}) {
        team members{team_options{.cpus = cpus, .size = 4 * static_cast<int>(cpus.size())}};
        CHECK(members.oversubscribed());
        const std::set<int> distinct(cpus.begin(), cpus.end());
        for (int round = 0; round < 200; ++round) {
            for (const schedule& chosen :
                 {schedule{adaptive{}}, schedule{weighted{}}, schedule{static_{}}, schedule{dynamic{8}}}) {
                loop_report report;
                REQUIRE(sums_right(members, 1000, {.schedule = chosen, .report = &report}));
                const bool learned =
                    std::holds_alternative<adaptive>(chosen) || std::holds_alternative<weighted>(chosen);
                if (!learned) REQUIRE(report.width == members.size());
                if (report.width <= 1) continue;
                std::vector<int> shared_by(detail::usize(1 + *std::max_element(cpus.begin(), cpus.end())));
                for (int rank = 0; rank < members.size(); ++rank) {
                    if (detail::at(report.iterations, rank) > 0)
                        ++detail::at(shared_by, detail::at(members.cpus(), rank));
                }
                const int most = *std::max_element(shared_by.begin(), shared_by.end());
                if (learned) REQUIRE(most <= 1);
            }
        }
    }
}

TEST_CASE("members that share a CPU do not spin while they wait, not even with active wait" *
          doctest::description("runtime.md, promise 10")) {
    const std::vector<int> all = select_cpus(read_machine(), "all");
    team members{
        team_options{.cpus = all, .size = 2 * static_cast<int>(all.size()), .wait = wait_policy::active}};
    const auto last_sleeps = [&](range r) {
        if (r.end == members.size()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    };
    REQUIRE(testing::others_fall_asleep());
    const double before = cpu_seconds();
    parallel_for(members, members.size(), last_sleeps, {.schedule = static_{}});
    CHECK(cpu_seconds() - before < 0.1);
}

TEST_CASE("an idle team uses no CPU") {
    team members{team_options{.size = 4}};
    for (int round = 0; round < 100; ++round) REQUIRE(sums_right(members, 1000, {}));
    REQUIRE(testing::others_fall_asleep());
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    CHECK(cpu_seconds() - before < 0.05);
}

namespace {

std::atomic<int> signals_handled{0};

}  // namespace

TEST_CASE(
    "signals of a member's own doing, and a profiler's, reach it; the others go to the program's threads" *
    doctest::description("runtime.md, promise 12")) {
    team members{team_options{.size = 3}};
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
    for (const int number : own) {
        struct sigaction counting = {};
        struct sigaction before = {};
        counting.sa_handler = [](int) { ++signals_handled; };
        sigaction(number, &counting, &before);
        signals_handled = 0;
        members.run([&](member& me) {
            if (me.rank() == 0) return;
            // A signal that is not blocked is handled before the call returns.
            raise(number);
        });
        CHECK(signals_handled == 2);
        sigaction(number, &before, nullptr);
    }
    members.run([](member& me) {
        if (me.rank() == 0) return;
        sigset_t blocked;
        pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1, SIGPIPE})
            CHECK(sigismember(&blocked, number) == 1);
    });
}

TEST_CASE("a wait that a counter makes less than nothing changes little of how long a member spins") {
    detail::spin_budget budget(wait_policy::balanced);
    const std::int64_t before = budget.ticks();
    budget.learn(std::numeric_limits<std::int64_t>::min() / 2);
    CHECK(budget.ticks() > before / 2);
}

// The processor lets a thread's reads of the counter fault, so a handler can answer them.
#if defined(__x86_64__)
namespace {

constinit std::atomic<std::int64_t> falling_ticks{std::int64_t{1} << 60};

void answer_with_less(int, siginfo_t*, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto* const code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
    if (code[0] != 0x0f || code[1] != 0x31) _exit(3);  // no RDTSC
    const std::int64_t now = falling_ticks -= 100'000'000'000;
    registers[REG_RAX] = now & 0xffffffff;
    registers[REG_RDX] = now >> 32;
    registers[REG_RIP] += 2;
}

// While it lives, the calling thread's counter goes back by half a minute or so at each read.
struct falling_counter {
    falling_counter() {
        struct sigaction answering = {};
        answering.sa_sigaction = answer_with_less;
        answering.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &answering, nullptr);
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    }
    ~falling_counter() { prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0); }
};

}  // namespace

TEST_CASE("a counter that is set back keeps no member spinning, and teaches a team nothing") {
    const double rate = detail::ticks_per_nanosecond();
    CHECK(rate > 0);
    const std::atomic<std::uint32_t> word{1};
    (void)detail::spin_while_equal(word, 1, 1);
    SUBCASE("between loops") {
        CHECK(in_child([&] {
                  const falling_counter falling;
                  return detail::spin_while_equal(word, 1, std::numeric_limits<std::int64_t>::max()) == 1;
              }) == 0);
    }
    SUBCASE("in a collective") {
        CHECK(in_child([&] {
                  team members{team_options{.size = 2, .wait = wait_policy::active}};
                  bool asleep = false;
                  members.run([&](member& me) {
                      if (me.rank() == 1) {
                          asleep = testing::others_fall_asleep();
                          me.barrier();
                      } else {
                          const falling_counter falling;
                          me.barrier();
                      }
                  });
                  return asleep;
              }) == 0);
    }
    SUBCASE("in a loop") {
        CHECK(in_child([&] {
                  team members{team_options{.size = 1}};
                  (void)members.pinned();  // starts them
                  static site here;
                  const auto body = [](range) {};
                  const falling_counter falling;
                  for (int call = 0; call < 50; ++call) {
                      parallel_for(members, 64, body, {.site = &here});
                      if (members.take_inline_call(here, 64)) return false;
                  }
                  return true;
              }) == 0);
    }
}
#endif

TEST_CASE("a wait leaves errno to the program") {
    const std::atomic<std::uint32_t> word{1};
    errno = 0;
    detail::futex_wait(word, 2);  // which the system answers with EAGAIN
    CHECK(errno == 0);
}

TEST_CASE("a system that refuses pinning is worked with and said" *
          doctest::description("runtime.md, promise 13")) {
    const int status = in_child([] {
        if (!forbid_pinning()) return false;
        team members{team_options{.size = 2}};
        const auto notes = members.notes();
        return !members.pinned() && !notes.empty() &&
               notes[0].find("could not be pinned") != std::string::npos && sums_right(members, 10'000, {}) &&
               sums_right(members, 10'000, {.schedule = static_{}});
    });
    CHECK(status == 0);
}

TEST_CASE("a forked child can use the parent's team, and the parent goes on" *
          doctest::description("runtime.md, promise 7")) {
    team members{team_options{.size = 3}};
    REQUIRE(sums_right(members, 1000, {}));
    for (int round = 0; round < 5; ++round) {
        const int status = in_child([&] {
            for (int loop = 0; loop < 50; ++loop) {
                if (!sums_right(members, 1000, {.schedule = static_{}}) || !sums_right(members, 5000, {}))
                    return false;
            }
            return true;
        });
        CHECK(status == 0);
        CHECK(sums_right(members, 1000, {.schedule = static_{}}));
    }
}

TEST_CASE("a child forked while another thread runs loops does not hang" *
          doctest::description("runtime.md, promise 7")) {
    team members{team_options{.size = 2}};
    const busy_thread other([&] { sums_right(members, 2000, {.schedule = dynamic{10}}); });
    for (int round = 0; round < 10; ++round) {
        CHECK(in_child([&] { return sums_right(members, 1000, {.schedule = static_{}}); }) == 0);
    }
}

TEST_CASE("a team that is given no threads says so at every call, and ends" *
          doctest::description("runtime.md, promise 7")) {
    for (const bool ran_before : {false, true}) {
        CAPTURE(ran_before);
        team members{team_options{.size = 3}};
        if (ran_before) REQUIRE(sums_right(members, 1000, {}));
        const int status = in_child([&] {
            if (!forbid_threads()) return false;
            for (int round = 0; round < 3; ++round) {
                if (!refuses([&] { sums_right(members, 1000, {.schedule = static_{}}); }) ||
                    !refuses([&] { members.run([](member& me) { me.barrier(); }); }) ||
                    !refuses([&] { (void)members.barrier_shape(); }) ||
                    !refuses([&] { (void)members.pinned(); }))
                    return false;
            }
            return true;
        });
        CHECK(status == 0);
    }
}

TEST_CASE("a team has no threads before its first call" * doctest::description("runtime.md, promise 7")) {
    CHECK(in_child([] {
              team members{team_options{.size = 3}};
              const auto before = threads_of_process();
              return sums_right(members, 1000, {}) && threads_of_process() == before + 2;
          }) == 0);
}

TEST_CASE("threads that call a new team at once start its members once" *
          doctest::description("runtime.md, promise 7")) {
    for (int round = 0; round < 20; ++round) {
        team members{team_options{.size = 3}};
        std::atomic<int> right{0};
        std::vector<std::thread> callers;
        for (int caller = 0; caller < 4; ++caller)
            callers.emplace_back([&] { right += sums_right(members, 1000, {}) ? 1 : 0; });
        for (std::thread& one : callers) one.join();
        CHECK(right == 4);
    }
}

TEST_CASE("a child forked while another thread runs may ask for everything that a team knows") {
    team members{team_options{.size = 3}};
    const busy_thread other([&] { parallel_for(members, 3, [](range) {}, {.schedule = static_{}}); });
    for (int round = 0; round < 10; ++round) {
        CHECK(in_child([&] {
                  (void)members.barrier_shape();
                  (void)members.notes();
                  return members.pinned() && sums_right(members, 1000, {});
              }) == 0);
    }
}

// ThreadSanitizer takes the stack of a child's new thread for that of a thread of the parent.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("threads of a child that find a team without members make them once" *
          doctest::description("runtime.md, promise 7")) {
    team members{team_options{.size = 3}};
    for (int round = 0; round < 20; ++round) {
        CHECK(in_child([&] {
                  std::atomic<int> right{0};
                  std::vector<std::thread> callers;
                  for (int caller = 0; caller < 4; ++caller)
                      callers.emplace_back([&] { right += sums_right(members, 1000, {}) ? 1 : 0; });
                  for (std::thread& one : callers) one.join();
                  return right == 4;
              }) == 0);
    }
}
#endif

TEST_CASE("a child that is the copy of a worker ends when its body does, and says why" *
          doctest::description("runtime.md, promise 8")) {
    team members{team_options{.size = 2}};
    std::atomic<pid_t> child{-1};
    on_each_of_two(members, [&](range, int rank) {
        if (rank == 0) return;
        const pid_t made = fork();
        if (made == 0)
            alarm(20);
        else
            child = made;
    });
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == EXIT_FAILURE);
    CHECK(sums_right(members, 100, {}));
}

// glibc unwinds such a thread by GCC's library, which crashes in C++ functions that LLVM's describes.
#if !defined(_LIBCPP_VERSION)
TEST_CASE("a body that is unwound by force ends the program with a message" *
          doctest::description("runtime.md, promise 8")) {
    for (const int leaver : {0, 1}) {
        for (const bool in_run : {false, true}) {
            int ends[2];
            REQUIRE(pipe(ends) == 0);
            const int status = in_child([&] {
                dup2(ends[1], STDERR_FILENO);
                std::signal(SIGABRT, SIG_DFL);
                team members{team_options{.size = 2}};
                if (in_run) {
                    members.run([&](member& me) {
                        if (me.rank() == leaver) pthread_exit(nullptr);
                        me.barrier();
                    });
                } else {
                    on_each_of_two(members, [&](range, int rank) {
                        if (rank == leaver) pthread_exit(nullptr);
                    });
                }
                return true;
            });
            close(ends[1]);
            char text[400] = {};
            CHECK(read(ends[0], text, sizeof text - 1) > 0);
            close(ends[0]);
            CHECK(std::string(text).find("a body was ended by pthread_exit") != std::string::npos);
            CHECK(WIFSIGNALED(status));
            CHECK(WTERMSIG(status) == SIGABRT);
        }
    }
}

TEST_CASE("a thread that is cancelled while it waits for its turn leaves the turn to the next" *
          doctest::description("runtime.md, promise 8")) {
    CHECK(in_child([] {
              team members{team_options{.size = 2}};
              std::atomic<bool> enough{false};
              std::atomic<int> inside{0};
              std::thread first([&] {
                  on_each_of_two(members, [&](range, int) {
                      ++inside;
                      while (!enough) std::this_thread::yield();
                  });
              });
              while (inside < 2) std::this_thread::yield();
              pthread_t second{};
              const auto wait_for_ever = [](void* team_of_first) -> void* {
                  sums_right(*static_cast<team*>(team_of_first), 100, {.schedule = static_{}});
                  return nullptr;
              };
              if (pthread_create(&second, nullptr, wait_for_ever, &members) != 0) return false;
              pthread_cancel(second);  // heard where it waits
              std::atomic<bool> right{false};
              std::thread third([&] { right = sums_right(members, 100, {.schedule = static_{}}); });
              void* how = nullptr;
              pthread_join(second, &how);
              enough = true;
              first.join();
              third.join();
              return how == PTHREAD_CANCELED && right && sums_right(members, 100, {.schedule = static_{}});
          }) == 0);
}

#endif

TEST_CASE("a team ends whole in a thread that is being cancelled") {
    CHECK(in_child([] {
              std::thread([] {}).join();  // with the first one ThreadSanitizer starts one of its own
              const auto before = threads_of_process();
              pthread_t thread{};
              const auto end_team = [](void*) -> void* {
                  auto members = std::make_unique<team>(team_options{.size = 3});
                  const bool right = sums_right(*members, 100, {.schedule = static_{}});
                  pthread_cancel(pthread_self());
                  members.reset();
                  return right ? &signals_handled : nullptr;
              };
              if (pthread_create(&thread, nullptr, end_team, nullptr) != 0) return false;
              void* how = nullptr;
              pthread_join(thread, &how);
              while (threads_of_process() > before) std::this_thread::yield();  // listed for a moment
              return how == &signals_handled;
          }) == 0);
}

TEST_CASE("a child that ends normally destroys its copy of the team without hanging") {
    CHECK(in_child([] {
              auto members = std::make_unique<team>(team_options{.size = 2});
              return in_child([&] {
                         members.reset();
                         return true;
                     }) == 0;
          }) == 0);
}

TEST_CASE("fork inside a body: the child's loop ends with an error instead of hanging" *
          doctest::description("runtime.md, promise 8")) {
    team members{team_options{.size = 2}};
    int child_status = -1;
    bool in_the_child = false;
    bool refused = false;
    std::atomic<bool> forked{false};
    const pid_t parent = getpid();
    try {
        on_each_of_two(members, [&](range, int rank) {
            if (rank != 0) {
                // Until the fork is over, so that the child surely lacks this member's part.
                while (!forked) std::this_thread::yield();
                return;
            }
            const pid_t child = fork();
            forked = true;
            if (child == 0) {
                alarm(20);
                in_the_child = true;
            } else {
                waitpid(child, &child_status, 0);
            }
        });
    } catch (const error& problem) {
        refused = std::string(problem.what()).find("fork()") != std::string::npos;
    }
    if (getpid() != parent) _exit(in_the_child && refused ? 0 : 1);
    CHECK(child_status == 0);
    CHECK(sums_right(members, 100, {}));
}

TEST_CASE("exit() in a body ends the program with its code, on every member") {
    for (int leaver = 0; leaver < 2; ++leaver) {
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            static team members{team_options{.size = 2}};
            on_each_of_two(members, [&](range, int rank) {
                if (rank == leaver) std::exit(7);
                for (;;) pause();
            });
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 7);
    }
}

TEST_CASE("exit() in a thread that a body waits for ends the program with its code") {
    for (int waiter = 0; waiter < 2; ++waiter) {
        std::fflush(nullptr);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            static team members{team_options{.size = 2}};
            static team others{team_options{.size = 2}};
            sums_right(others, 100, {});
            on_each_of_two(members, [&](range, int rank) {
                if (rank == waiter) std::thread([] { std::exit(7); }).join();
                for (;;) pause();
            });
        }
        int status = -1;
        waitpid(child, &status, 0);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 7);
    }
}

TEST_CASE("a body may make a team and end it, and end an idle one of another thread") {
    team members{team_options{.size = 2}};
    auto other = std::make_unique<team>(team_options{.size = 2});
    CHECK(sums_right(*other, 100, {}));
    on_each_of_two(members, [&](range, int rank) {
        team own{team_options{.size = 2}};
        if (rank == 1) other.reset();
    });
    CHECK_FALSE(other);
}

TEST_CASE("TAUTO_CPUS and TAUTO_WAIT choose a default team, and a bad value is said") {
    const std::string first = std::to_string(select_cpus(read_machine(), "all")[0]);
    setenv("TAUTO_CPUS", first.c_str(), 1);
    setenv("TAUTO_WAIT", "passive", 1);
    {
        team members;
        CHECK(members.size() == 1);
        CHECK(members.wait() == wait_policy::passive);
    }
    setenv("TAUTO_WAIT", "sometimes", 1);
    CHECK_THROWS_WITH_AS(team(), doctest::Contains("sometimes"), error);
    unsetenv("TAUTO_WAIT");
    setenv("TAUTO_CPUS", "999999", 1);
    CHECK_THROWS_AS(team(), error);
    unsetenv("TAUTO_CPUS");
}

}  // namespace tauto
