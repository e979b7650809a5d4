// The runtime on systems as tests want them. It is linked with other names for the functions that it calls
// (CMakeLists.txt), which stand below. So only its own calls fail, and this runs under the sanitizers too.
// What does not: failures of mmap, with which a sanitizer ends the program.
//
// Every call to the system that is made for a team fails once, and from some call on: then each call of the
// team works or throws, none hangs, and afterwards threads and pins are as before.

#include <doctest/doctest.h>

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "child.hpp"
#include "sanitized.hpp"

using namespace tauto;
using testing::in_child;
using testing::sanitized;

namespace {

enum class fault { thread, attributes, birth_mask, pin, mask, key, key_value, set, futex, memory, map, none };

// Which calls fail: those of `what` from the `first` to the `last` one.
struct plan {
    fault what = fault::none;
    int first = 0;
    int last = 0;
};
constinit plan planned;
constexpr int never = 1 << 30;

// Of what is planned, in this process and its children together.
std::atomic<int>& calls() noexcept {
    static void* const shared =
        mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return *static_cast<std::atomic<int>*>(shared);
}

// A machine of 8,192 CPUs, on which this process may use these.
constexpr std::array<int, 3> high_cpus = {1023, 1024, 8191};
constinit bool fakes_large_machine = false;
constinit std::array<std::atomic<int>, high_cpus.size()> pinned_to{};

// What that system answers to a mask.
int note_pin(std::size_t bytes, const cpu_set_t* set) noexcept {
    for (std::size_t i = 0; i < high_cpus.size(); ++i) {
        const auto cpu = static_cast<std::size_t>(high_cpus[i]);
        if (CPU_COUNT_S(bytes, set) == 1 && CPU_ISSET_S(cpu, bytes, set)) ++pinned_to[i];
    }
    return 0;
}

int read_large_mask(std::size_t bytes, cpu_set_t* set) noexcept {
    if (bytes < 1024) {
        errno = EINVAL;
        return -1;
    }
    CPU_ZERO_S(bytes, set);
    for (const int cpu : high_cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
    return 0;
}

bool fails(fault what) noexcept {
    if (planned.what != what) return false;
    const int call = ++calls();
    return call >= planned.first && call <= planned.last;
}

}  // namespace

// The C library maps memory by calls of its own, so a filter of system calls traps them. The handler asks the
// system from the one place whose calls the filter lets through.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define TAUTO_MAPS_MAY_FAIL
extern "C" {
long map_by_system(long address, long bytes, long access, long flags, long file, long offset);
extern const char after_map_by_system;
}
asm(".text\n"
    "map_by_system: movl $9, %eax\n"  // SYS_mmap
    "movq %rcx, %r10\n"
    "syscall\n"
    "after_map_by_system: ret\n");

namespace {

void answer_map(int, siginfo_t*, void* context) {
    auto& r = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    r[REG_RAX] = fails(fault::map)
                     ? -ENOMEM
                     : map_by_system(r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
}

bool answer_maps() {
    struct sigaction answering = {};
    answering.sa_sigaction = answer_map;
    answering.sa_flags = SA_SIGINFO;
    sigaction(SIGSYS, &answering, nullptr);
    const auto let_through = reinterpret_cast<std::uintptr_t>(&after_map_by_system);
    constexpr auto caller = static_cast<unsigned>(offsetof(seccomp_data, instruction_pointer));
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, caller),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(let_through), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, caller + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(let_through >> 32), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    const sock_fprog filter{sizeof program / sizeof program[0], program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace
#else
namespace {
bool answer_maps() {
    return false;
}
}  // namespace
#endif

extern "C" {
int faulty_pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*begin)(void*), void* with) {
    return fails(fault::thread) ? EAGAIN : pthread_create(thread, how, begin, with);
}
int faulty_pthread_attr_init(pthread_attr_t* how) {
    return fails(fault::attributes) ? ENOMEM : pthread_attr_init(how);
}
int faulty_pthread_attr_setaffinity_np(pthread_attr_t* how, std::size_t bytes, const cpu_set_t* set) {
    if (fakes_large_machine) return note_pin(bytes, set);
    return fails(fault::birth_mask) ? ENOMEM : pthread_attr_setaffinity_np(how, bytes, set);
}
int faulty_sched_setaffinity(pid_t thread, std::size_t bytes, const cpu_set_t* set) {
    if (fakes_large_machine) return note_pin(bytes, set);
    if (!fails(fault::pin)) return sched_setaffinity(thread, bytes, set);
    errno = EINVAL;
    return -1;
}
int faulty_sched_getaffinity(pid_t thread, std::size_t bytes, cpu_set_t* set) {
    if (fakes_large_machine) return read_large_mask(bytes, set);
    if (!fails(fault::mask)) return sched_getaffinity(thread, bytes, set);
    errno = EPERM;
    return -1;
}
int faulty_pthread_key_create(pthread_key_t* key, void (*end)(void*)) {
    return fails(fault::key) ? EAGAIN : pthread_key_create(key, end);
}
int faulty_pthread_setspecific(pthread_key_t key, const void* value) {
    return fails(fault::key_value) ? ENOMEM : pthread_setspecific(key, value);
}
cpu_set_t* faulty___sched_cpualloc(std::size_t count) {
    return fails(fault::set) ? nullptr : __sched_cpualloc(count);
}
long faulty_syscall(long number, ...) {
    if (number != SYS_futex) return syscall(number);  // without arguments
    va_list list;
    va_start(list, number);
    std::array<long, 6> a{};
    for (long& one : a) one = va_arg(list, long);
    va_end(list);
    // A wait may end for no reason. A wake of a good address never fails.
    if (a[1] == FUTEX_WAIT_PRIVATE && fails(fault::futex)) {
        errno = EINTR;
        return -1;
    }
    return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
}

void* operator new(std::size_t bytes) {
    void* const memory = fails(fault::memory) ? nullptr : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    const auto align = static_cast<std::size_t>(alignment);
    void* const memory =
        fails(fault::memory) ? nullptr : std::aligned_alloc(align, (bytes + align - 1) / align * align);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return fails(fault::memory) ? nullptr : std::malloc(bytes);
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
    std::free(memory);
}

namespace {

std::ptrdiff_t threads_of_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
}

// A thread that was joined may be listed for a moment.
bool no_more_threads_than(std::ptrdiff_t before) {
    for (int look = 0; look < 100'000; ++look) {
        if (threads_of_process() <= before) return true;
        sched_yield();
    }
    return false;
}

bool same_mask(const cpu_set_t& before) {
    cpu_set_t now;
    CPU_ZERO(&now);
    return sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &before);
}

// False only for a wrong answer.
bool loop_right(team& members, const schedule& how) {
    static site here;
    std::atomic<tauto::index> sum{0};
    loop_report report;
    const loop_options options{.schedule = how, .site = &here, .report = &report};
    try {
        return parallel_for(
                   members, 1000, [&](tauto::index i) { sum += i; }, options) &&
               sum == 499'500;
    } catch (const std::exception&) {
        return true;
    }
}

bool run_right(team& members) {
    std::atomic<int> sum{0};
    try {
        members.run([&](member& me) {
            me.barrier();
            sum += me.all_reduce(me.rank(), std::plus<>{});
        });
        return sum == 9;
    } catch (const std::exception&) {
        return true;
    }
}

bool reduce_right(team& members) {
    try {
        return parallel_reduce(
                   members, 1000, tauto::index{0}, [](tauto::index i) { return i; }, std::plus<>{}) ==
               499'500;
    } catch (const std::exception&) {
        return true;
    }
}

bool all_right(team& members) {
    bool right = true;
    for (int again = 0; again < 2; ++again) {
        right = right && loop_right(members, static_{}) && loop_right(members, adaptive{}) &&
                run_right(members) && reduce_right(members);
    }
    return right;
}

std::vector<int> two_cpus() {
    std::vector<int> all = allowed_cpus();
    all.resize(std::min<std::size_t>(2, all.size()));
    return all;
}

// A team from its making to its end, in the child and in a child of the child. Works or throws at each step.
bool lives_through(const plan& faults, const std::vector<int>& cpus) {
    cpu_set_t before;
    CPU_ZERO(&before);
    sched_getaffinity(0, sizeof before, &before);
    std::thread([] {}).join();  // with the first one ThreadSanitizer starts one of its own
    const std::ptrdiff_t threads_before = threads_of_process();
    if (faults.what == fault::map && !answer_maps()) return false;
    const auto options = [&] {
        return team_options{
            .cpus = cpus, .size = 3, .name = "a name that is longer than a string's own room"};
    };
    bool right = true;
    planned = faults;
    try {
        team members{options()};
        right = all_right(members);
#if !defined( \
    __SANITIZE_THREAD__)  // which takes the stack of a child's thread for that of one of the parent's
        const int status = in_child([&] { return all_right(members); });
        right = right && status == 0;
#endif
    } catch (const std::exception&) {
    }
    planned = {};
    // A system that refuses to give a thread its CPUs back is asked again when its next team ends.
    right = right && no_more_threads_than(threads_before) && (same_mask(before) || faults.what == fault::pin);
    {
        team after{options()};
        right = right && all_right(after) && after.size() == 3;
    }
    return right && same_mask(before);
}

// How many such calls a team's life has: little more or less from life to life.
int calls_in_a_life(fault what, const std::vector<int>& cpus) {
    calls() = 0;
    REQUIRE(in_child([&] { return lives_through({what, never, never}, cpus); }) == 0);
    return calls();
}

// Lets the first call fail, then the second, … to the last one of a team's life.
void fail_each(fault what) {
    const std::vector<int> cpus = what == fault::memory ? std::vector<int>{} : two_cpus();
    const int count = calls_in_a_life(what, cpus);
    CHECK(count > 0);
    // Each life is two processes; a sanitizer makes them slow.
    const int stride = count / (sanitized ? 20 : 100) + 1;
    for (const bool for_ever : {false, true}) {
        for (int first = 1; first <= count + 2; first += stride) {
            CAPTURE(first);
            CAPTURE(for_ever);
            calls() = 0;
            CHECK(in_child([&] {
                      return lives_through({what, first, for_ever ? never : first}, cpus);
                  }) == 0);
        }
    }
}

}  // namespace

TEST_CASE("a team whose threads cannot be made works or says so" *
          doctest::description("runtime.md, promises 7 and 20")) {
    for (const fault what : {fault::thread, fault::attributes}) fail_each(what);
}

TEST_CASE("a team that cannot pin, or read or keep its CPUs, works or says so, and leaks no pin" *
          doctest::description("runtime.md, promises 13 and 20")) {
    for (const fault what : {fault::birth_mask, fault::pin, fault::mask, fault::key_value, fault::key})
        fail_each(what);
}

TEST_CASE("a wait that ends for no reason loses nothing") {
    fail_each(fault::futex);
}

TEST_CASE("a team that gets no memory works or says so, and leaks no pin and no thread" *
          doctest::description("runtime.md, promise 20")) {
    fail_each(fault::set);
    fail_each(fault::memory);
}

#if defined(TAUTO_MAPS_MAY_FAIL)
TEST_CASE("a team whose threads and memory get no pages works or says so, and leaks no pin and no thread" *
          doctest::description("runtime.md, promise 20")) {
    fail_each(fault::map);
}
#endif

TEST_CASE("teams of CPUs beyond the first 1,024 are made, pinned and run" *
          doctest::description("runtime.md, promise 14")) {
    CHECK(in_child([] {
              fakes_large_machine = true;
              bool right = true;
              {
                  team members{team_options{.cpus = {8191, 1024, 1023}}};
                  right = all_right(members) && members.pinned() && members.notes().empty();
              }
              for (const auto& pins : pinned_to) right = right && pins > 0;
              try {
                  team members{team_options{.cpus = {4096}}};
                  return false;
              } catch (const error& refused) {
                  return right && std::string(refused.what()).find("1023,1024,8191") != std::string::npos;
              }
          }) == 0);
}
