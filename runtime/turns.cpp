#include "turns.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
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

void turns::note_holder() noexcept {
    thread_.store(this_thread(), std::memory_order_relaxed);
    holder_.store(number_of_this_thread(), std::memory_order_relaxed);
}

bool turns::take_unless_asleep(const launcher& members) {
    if (turn_.try_lock()) {
        note_holder();
        return true;
    }
    std::optional<std::vector<std::string>> before;
    pid_t holder_before = 0;
    // Not steady_clock's wait: ThreadSanitizer does not know the call that it ends in.
    while (!turn_.try_lock_until(std::chrono::system_clock::now() + between_looks)) {
        std::vector<pid_t> threads = members.threads();
        const pid_t holder = holder_.load(std::memory_order_relaxed);
        threads.push_back(holder);
        auto now = sleeps_of(threads);
        // Who slept both times, and has not gone to sleep in between, has not run in between.
        if (now && now == before && holder == holder_before) return false;
        before = std::move(now);
        holder_before = holder;
    }
    note_holder();
    return true;
}

}  // namespace tauto::detail
