#include "balance/waits/marks.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "balance/waits/gcc_region.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/shares.hpp"
#include "balance/waits/steps.hpp"

namespace tauto::balance {

constinit thread_local this_thread_state this_thread;
std::atomic<bool> tasks_seen{false};

namespace {

// glibc keeps the values of the first keys in the thread itself; those of others it allocates, which a thread
// that waits inside malloc must not do.
constexpr pthread_key_t most_keys = 32;
constexpr std::uint32_t waits_between_tries = 256;

std::atomic<page*> shared{nullptr};
pthread_key_t at_exit;
std::array<std::atomic<bool>, most_slots> of_this_process;

std::atomic<bool>& belongs(const slot* one) noexcept {
    return of_this_process[static_cast<std::size_t>(one -
                                                    shared.load(std::memory_order_relaxed)->slots.data())];
}

void leave(void*) {
    forget_team();
    end_rows_of_this_thread();
    take_cpu_back();
    end_life();
    slot* own = this_thread.own;
    this_thread.own = nullptr;
    if (own == nullptr) return;
    belongs(own).store(false, std::memory_order_relaxed);
    leave_slot(*own);
}

void before_fork() {
    this_thread.kept_for_fork = keep_own_mask();
}

void after_fork() {
    if (this_thread.kept_for_fork != nullptr) allow_hold(this_thread.kept_for_fork->held);
    this_thread.kept_for_fork = nullptr;
}

// The child's only thread takes a slot of its own at its next wait.
void forked() {
    this_thread.own = this_thread.kept_for_fork = nullptr;
    for (auto& one : of_this_process) one.store(false, std::memory_order_relaxed);
    forget_rows();
    forget_births();
}

[[gnu::constructor]] void start() {
    const int error = errno;
    find_originals();
    const char* path = std::getenv(page_variable);
    page* opened = path == nullptr || *path == '\0' ? nullptr : open_page(path);
    if (opened != nullptr && pthread_key_create(&at_exit, leave) == 0 && at_exit < most_keys &&
        pthread_atfork(before_fork, after_fork, forked) == 0) {
        shared.store(opened, std::memory_order_release);
        // At once, in place of what this thread left there before it executed this program.
        take_slot();
    }
    errno = error;
}

}  // namespace

page* the_page() noexcept {
    return shared.load(std::memory_order_acquire);
}

bool is_of_this_process(const slot& one) noexcept {
    return belongs(&one).load(std::memory_order_relaxed);
}

slot* take_slot() noexcept {
    page* here = the_page();
    if (here == nullptr || this_thread.refused++ % waits_between_tries != 0) return nullptr;
    slot* got = claim_slot(*here, gettid());
    if (got == nullptr) return nullptr;
    this_thread.refused = 0;
    this_thread.own = got;
    belongs(got).store(true, std::memory_order_relaxed);
    pthread_setspecific(at_exit, got);
    return got;
}

slot* keep_own_mask() noexcept {
    slot* own = this_thread.own;
    if (own == nullptr) return nullptr;
    const int error = errno;
    // A child of vfork has its parent's memory: it inherited the mask, and the slot stays as it is.
    const bool is_mine = own->thread() == gettid();
    const refusal before = is_mine ? refuse_hold(own->held, [] { syscall(SYS_sched_yield); })
                           : has_programs_mask(own->held.read().state) ? refusal::was_refused
                                                                       : refusal::was_held;
    if (before == refusal::was_held) {
        const page* here = the_page();
        set_mask(0, here->given);
    }
    errno = error;
    return is_mine && before != refusal::was_refused ? own : nullptr;
}

void tell_of_static_loops() noexcept {
    page* here = the_page();
    if (here != nullptr) here->static_loops.store(1, std::memory_order_relaxed);
}

void tell_of_work(std::uint32_t cpu, double amount) noexcept {
    page* here = the_page();
    if (here != nullptr && cpu < most_cpus)
        here->shared_out[cpu].fetch_add(static_cast<std::uint64_t>(amount), std::memory_order_relaxed);
}

bool may_spin() noexcept {
    const page* here = the_page();
    return here != nullptr && here->may_spin.load(std::memory_order_relaxed) != 0;
}

const cpu_weights* published_speeds() noexcept {
    const page* here = the_page();
    return here == nullptr ? nullptr : &here->cpu_speeds;
}

// Threads that wait now may run the first tasks. One that begins a wait at this moment may keep its mark
// until that wait ends.
void openmp_has_tasks() noexcept {
    page* here = the_page();
    if (here == nullptr || tasks_seen.exchange(true, std::memory_order_relaxed)) return;
    for_each_of_this_process(forget_waits);
}

}  // namespace tauto::balance
