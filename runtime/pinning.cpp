#include "pinning.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <tauto/signed.hpp>

#include "forks.hpp"
#include "machine_limits.hpp"

namespace tauto::detail {

namespace {

// use(bytes, set) with these CPUs: 0, or the number of the failure.
template <class Use>
int with_set(const std::vector<int>& cpus, Use use) noexcept {
    if (cpus.empty()) return EINVAL;  // it could not be read
    const std::size_t count = usize(*std::max_element(cpus.begin(), cpus.end())) + 1;
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    cpu_set_t* const set = CPU_ALLOC(count);
    if (set == nullptr) return ENOMEM;
    CPU_ZERO_S(bytes, set);
    for (const int cpu : cpus) CPU_SET_S(usize(cpu), bytes, set);
    const int failure = use(bytes, set);
    CPU_FREE(set);
    return failure;
}

// 0, or the number of the failure. Thread 0 is the calling one.
int set_affinity(pid_t thread, const std::vector<int>& cpus) noexcept {
    return with_set(cpus, [thread](std::size_t bytes, const cpu_set_t* set) {
        return sched_setaffinity(thread, bytes, set) == 0 ? 0 : errno;
    });
}

}  // namespace

// A thread that has made teams that pin. It lasts as long as the thread or one of these teams. Everything in
// it is read and written under locks_of_process().pins; the thread ends under that lock too, so a thread that
// is `alive` there cannot have lent its number to another one.
struct thread_pins {
    pid_t thread = static_cast<pid_t>(syscall(SYS_gettid));
    unsigned generation = current_fork_generation();  // of the process that the thread is in
    bool alive = true;
    std::vector<int> before;            // the CPUs that it had before its first team
    std::vector<int> free;              // those that it would have had if no other thread had been pinned
    std::vector<const pinning*> teams;  // that live, oldest first

    [[nodiscard]] bool here() const noexcept { return alive && generation == current_fork_generation(); }
    void apply(pid_t to) const noexcept {
        (void)set_affinity(to, teams.empty() ? before : std::vector<int>{teams.back()->cpus()[0]});
    }
};

namespace {

thread_local constinit thread_pins* own = nullptr;

// Never destroyed: teams may end while statics are torn down.
std::vector<thread_pins*>& threads_with_teams() {
    static auto* const list = new std::vector<thread_pins*>;
    return *list;
}

void drop_if_over(thread_pins* pins) noexcept {
    if (!pins->teams.empty()) return;
    std::erase(threads_with_teams(), pins);
    if (!pins->alive) delete pins;
}

// Calls back when a thread that has pins ends; not a thread_local's destructor, which would come before that
// of a static team, and would keep a library from being unloaded.
struct end_of_thread {
    pthread_key_t key{};
    bool made = pthread_key_create(&key, [](void* pins) {
                    const std::lock_guard lock(locks_of_process().pins);
                    own = nullptr;
                    static_cast<thread_pins*>(pins)->alive = false;
                    drop_if_over(static_cast<thread_pins*>(pins));
                }) == 0;
    ~end_of_thread() {
        if (made) pthread_key_delete(key);
    }
};

// With the lock held.
std::vector<int> affinity_without_pinning() {
    if (own != nullptr && !own->teams.empty()) return own->free;
    std::vector<int> now = affinity_of_caller();
    if (now.size() != 1) return now;
    // Perhaps a member started this thread, which then has the member's CPU.
    for (const thread_pins* other : threads_with_teams()) {
        for (const pinning* team : other->teams) {
            if (std::find(team->cpus().begin(), team->cpus().end(), now[0]) != team->cpus().end())
                return other->free;
        }
    }
    return now;
}

}  // namespace

void take_pins_into_child() noexcept {
    if (own == nullptr) return;
    own->thread = static_cast<pid_t>(syscall(SYS_gettid));
    own->generation = current_fork_generation();
}

machine_record machine_without_pinning() {
    std::vector<int> now;
    {
        const std::lock_guard lock(locks_of_process().pins);
        now = affinity_of_caller();
        (void)set_affinity(0, affinity_without_pinning());
    }
    machine_record record = read_machine();
    const std::lock_guard lock(locks_of_process().pins);
    if (own != nullptr && !own->teams.empty())
        own->apply(0);
    else
        (void)set_affinity(0, now);
    return record;
}

std::vector<int> cpus_without_pinning() {
    const std::lock_guard lock(locks_of_process().pins);
    return affinity_without_pinning();
}

void pinning::pin_caller() {
    if (!wanted_) return;
    static const end_of_thread hook;
    const std::lock_guard lock(locks_of_process().pins);
    if (own == nullptr) {
        own = new thread_pins;
        if (hook.made) pthread_setspecific(hook.key, own);
    }
    const bool first = own->teams.empty();
    if (first) {
        own->before = affinity_of_caller();
        own->free = affinity_without_pinning();
        threads_with_teams().push_back(own);
    }
    own->teams.push_back(this);
    if (pin_to_cpu_of(0)) {
        caller_ = own;
    } else {
        own->teams.pop_back();
        drop_if_over(own);
    }
}

void pinning::restore_caller() noexcept {
    if (caller_ == nullptr) return;
    const std::lock_guard lock(locks_of_process().pins);
    const bool newest = caller_->teams.back() == this;
    std::erase(caller_->teams, this);
    if (newest && caller_->here()) caller_->apply(caller_->thread);
    drop_if_over(std::exchange(caller_, nullptr));
}

void pinning::begin_on_cpu_of(int rank, pthread_attr_t& attributes) const noexcept {
    if (!wanted_) return;
    (void)with_set({at(cpus_, rank)}, [&](std::size_t bytes, const cpu_set_t* set) {
        return pthread_attr_setaffinity_np(&attributes, bytes, set);
    });
}

void pinning::pin_worker(int rank) {
    if (wanted_) pin_to_cpu_of(rank);
}

std::vector<std::string> pinning::notes() const {
    const std::lock_guard lock(locks_of_process().notes);
    return notes_;
}

bool pinning::pin_to_cpu_of(int rank) {
    const int cpu = at(cpus_, rank);
    const int failure = set_affinity(0, {cpu});
    if (failure == 0) return true;
    pinned_.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(locks_of_process().notes);
    notes_.push_back("member " + std::to_string(rank) + " could not be pinned to CPU " + std::to_string(cpu) +
                     ": " + std::strerror(failure) + "; it runs where the system puts it");
    return false;
}

}  // namespace tauto::detail
