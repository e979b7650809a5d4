#include "pinning.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <tauto/signed.hpp>

#include "forks.hpp"

namespace tauto::detail {

// The CPUs of an affinity mask, on any number of CPUs.
class cpu_mask {
  public:
    cpu_mask() = default;
    explicit cpu_mask(int cpu) : words_(usize(cpu) / word_bits + 1) {
        words_.back() = 1UL << usize(cpu) % word_bits;
    }
    static cpu_mask of_this_thread() {
        cpu_mask mask;
        // The kernel refuses a mask that is shorter than its own.
        for (std::size_t words = 16; words <= 4096; words *= 2) {
            mask.words_.assign(words, 0);
            if (sched_getaffinity(0, mask.bytes(), mask.set()) == 0 || errno != EINVAL) break;
        }
        return mask;
    }
    // 0, or -1 with errno.
    [[nodiscard]] int apply_to(pid_t thread) const noexcept {
        return sched_setaffinity(thread, bytes(), const_cast<cpu_mask*>(this)->set());
    }
    [[nodiscard]] std::vector<int> cpus() const {
        std::vector<int> list;
        for (std::size_t cpu = 0; cpu < words_.size() * word_bits; ++cpu) {
            if ((words_[cpu / word_bits] >> cpu % word_bits & 1UL) != 0)
                list.push_back(static_cast<int>(cpu));
        }
        return list;
    }

  private:
    static constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
    [[nodiscard]] std::size_t bytes() const noexcept { return words_.size() * sizeof(unsigned long); }
    [[nodiscard]] cpu_set_t* set() noexcept { return reinterpret_cast<cpu_set_t*>(words_.data()); }

    std::vector<unsigned long> words_;
};

// A thread that has made teams that pin. It lasts as long as the thread or one of these teams. Everything in
// it is read and written under locks_of_process().pins; the thread ends under that lock too, so a thread that
// is `alive` there cannot have lent its number to another one.
struct thread_pins {
    pid_t thread = static_cast<pid_t>(syscall(SYS_gettid));
    unsigned generation = current_fork_generation();  // of the process that the thread is in
    bool alive = true;
    cpu_mask before;                    // the first team
    cpu_mask free;                      // what the thread could use then, if no other thread had been pinned
    std::vector<const pinning*> teams;  // that live, oldest first

    [[nodiscard]] bool here() const noexcept { return alive && generation == current_fork_generation(); }
    void apply(pid_t to) const noexcept {
        (void)(teams.empty() ? before : cpu_mask(teams.back()->cpus()[0])).apply_to(to);
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
cpu_mask mask_without_pinning() {
    if (own != nullptr && !own->teams.empty()) return own->free;
    cpu_mask now = cpu_mask::of_this_thread();
    const std::vector<int> cpus = now.cpus();
    if (cpus.size() != 1) return now;
    // Perhaps born by a member, and pinned like it.
    for (const thread_pins* other : threads_with_teams()) {
        for (const pinning* team : other->teams) {
            if (std::find(team->cpus().begin(), team->cpus().end(), cpus[0]) != team->cpus().end())
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
    cpu_mask now;
    {
        const std::lock_guard lock(locks_of_process().pins);
        now = cpu_mask::of_this_thread();
        (void)mask_without_pinning().apply_to(0);
    }
    machine_record record = read_machine();
    const std::lock_guard lock(locks_of_process().pins);
    if (own != nullptr && !own->teams.empty())
        own->apply(0);
    else
        (void)now.apply_to(0);
    return record;
}

std::vector<int> cpus_without_pinning() {
    const std::lock_guard lock(locks_of_process().pins);
    return mask_without_pinning().cpus();
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
        own->before = cpu_mask::of_this_thread();
        own->free = mask_without_pinning();
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

void pinning::pin_worker(int rank) {
    if (wanted_) pin_to_cpu_of(rank);
}

std::vector<std::string> pinning::notes() const {
    const std::lock_guard lock(locks_of_process().notes);
    return notes_;
}

bool pinning::pin_to_cpu_of(int rank) {
    const int cpu = at(cpus_, rank);
    if (cpu_mask(cpu).apply_to(0) == 0) return true;
    const int failure = errno;
    pinned_.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(locks_of_process().notes);
    notes_.push_back("member " + std::to_string(rank) + " could not be pinned to CPU " + std::to_string(cpu) +
                     ": " + std::strerror(failure) + "; it runs where the system puts it");
    return false;
}

}  // namespace tauto::detail
