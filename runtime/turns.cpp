#include "turns.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forks.hpp"
#include "machine_files.hpp"

namespace tauto::detail {
namespace {

constexpr std::chrono::milliseconds between_looks{10};

// Asked of the system once a thread: a child of fork has another one.
pid_t number_of_this_thread() noexcept {
    static thread_local pid_t number = 0;
    static thread_local unsigned generation = 0;
    if (number == 0 || generation != current_fork_generation()) {
        number = static_cast<pid_t>(syscall(SYS_gettid));
        generation = current_fork_generation();
    }
    return number;
}

// How often each thread has gone to sleep, where all of them sleep now; absent where one does not, or where
// the system does not tell.
std::optional<std::vector<std::string>> sleeps_of(const std::vector<pid_t>& threads) {
    const file_tree files("/");
    std::vector<std::string> counts;
    for (const pid_t thread : threads) {
        const auto status = files.text("/proc/self/task/" + std::to_string(thread) + "/status");
        if (!status) return std::nullopt;
        const auto state = value_of_line(*status, {"State"});
        const auto count = value_of_line(*status, {"voluntary_ctxt_switches"});
        if (!state || !count || state->front() != 'S') return std::nullopt;
        counts.push_back(*count);
    }
    return counts;
}

}  // namespace

// Of a thread that waits, until it has its turn or gives up. A cancellation may end it in either wait.
struct turns::place_in_queue {
    place_in_queue(turns& of_team, std::unique_lock<std::mutex>& held, bool low) noexcept
        : all(of_team), lock(held) {
        self.low = low;
        waiter** before = &all.waiting_;
        while (*before != nullptr && (low || !(*before)->low)) before = &(*before)->next;
        self.next = *before;
        *before = &self;
    }
    ~place_in_queue() {
        if (taken) return;
        if (!lock.owns_lock()) lock.lock();
        if (self.has_turn) {
            all.pass_on_locked();
            return;
        }
        waiter** at = &all.waiting_;
        while (*at != &self) at = &(*at)->next;
        *at = self.next;
    }
    place_in_queue(const place_in_queue&) = delete;
    place_in_queue& operator=(const place_in_queue&) = delete;

    turns& all;
    std::unique_lock<std::mutex>& lock;
    waiter self;
    bool taken = false;
};

void turns::note_holder() noexcept {
    thread_.store(this_thread(), std::memory_order_relaxed);
    holder_.store(number_of_this_thread(), std::memory_order_relaxed);
    count();
}

bool turns::is_kept() const noexcept {
    static const std::int64_t long_enough = to_ticks(std::chrono::milliseconds(1));
    const std::int64_t since = kept_since_.load(std::memory_order_relaxed);
    return since != 0 && ticks() - since > long_enough;
}

template <class GiveUp>
bool turns::wait_for_turn(bool low, GiveUp give_up) {
    std::unique_lock lock(queue_);
    if (state_.exchange(wanted, std::memory_order_acquire) == free) return true;
    place_in_queue place(*this, lock, low);
    waiter& self = place.self;
    // Not steady_clock's wait: ThreadSanitizer does not know the call that it ends in.
    while (!self.given.wait_until(lock, std::chrono::system_clock::now() + between_looks,
                                  [&] { return self.has_turn; })) {
        lock.unlock();
        bool enough = false;
        try {
            enough = give_up();
        } catch (const std::bad_alloc&) {  // no look this time
        }
        lock.lock();
        if (self.has_turn) break;
        if (enough) return false;
    }
    place.taken = true;
    return true;
}

void turns::take(bool low) {
    if (!take_if_free()) wait_for_turn(low, [] { return false; });
    note_holder();
}

void turns::pass_on() noexcept {
    const std::lock_guard lock(queue_);
    pass_on_locked();
}

void turns::pass_on_locked() noexcept {
    if (waiting_ == nullptr) return state_.store(free, std::memory_order_release);
    waiter& first = *waiting_;
    waiting_ = first.next;
    first.has_turn = true;
    // With the lock: the waiter and what is notified end once it is released.
    first.given.notify_one();
}

bool turns::wait_unless_asleep(const launcher& members, bool low) {
    if (is_kept()) return false;
    std::optional<std::vector<std::string>> before;
    pid_t holder_before = 0;
    const auto asleep = [&] {
        if (is_kept()) return true;
        std::vector<pid_t> threads = members.threads();
        const pid_t holder = holder_.load(std::memory_order_relaxed);
        threads.push_back(holder);
        auto now = sleeps_of(threads);
        // Who slept both times, and has not gone to sleep in between, has not run in between.
        const bool both = now && now == before && holder == holder_before;
        before = std::move(now);
        holder_before = holder;
        return both;
    };
    return wait_for_turn(low, asleep);
}

}  // namespace tauto::detail
