#include "balance/waits/steps.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "balance/thread_stat.hpp"
#include "balance/waits/marks.hpp"

namespace tauto::balance {

namespace {

constexpr int most_looked_at = 16;

// What a new thread is to run, until it has read that. To free memory would cost it an arena of its own, if
// it allocates nothing else.
struct kept_start {
    counted_start program;
    std::atomic<bool> taken{false};
};
std::array<kept_start, 64> starts;
std::atomic<std::uint32_t> next_start{0};

kept_start* keep_start(void* (*code)(void*), void* data) noexcept {
    constexpr int tries = 8;
    for (int k = 0; k < tries; ++k) {
        kept_start& one = starts[next_start.fetch_add(1, std::memory_order_relaxed) % starts.size()];
        if (one.taken.exchange(true, std::memory_order_acquire)) continue;
        one.program = {code, data};
        return &one;
    }
    return nullptr;
}

void* live(void* given) {
    auto& kept = *static_cast<kept_start*>(given);
    const counted_start program = kept.program;
    kept.taken.store(false, std::memory_order_release);
    this_thread.is_counted = take_slot() != nullptr;  // without one nobody tells when it ends
    return program.code(program.data);
}

// The CPU on which a thread of this process works, as the kernel's file says; -1 where it does not work.
int works_on(pid_t thread) noexcept {
    std::array<char, 48> path;
    constexpr std::string_view folder = "/proc/self/task/";
    char* end = std::copy(folder.begin(), folder.end(), path.data());
    end = std::to_chars(end, path.data() + path.size() - 6, thread).ptr;
    std::memcpy(end, "/stat", 6);
    const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    std::array<char, 512> text;
    const ssize_t bytes = read(file, text.data(), text.size() - 1);
    close(file);
    if (bytes <= 0) return -1;
    text[static_cast<std::size_t>(bytes)] = '\0';
    const auto found = read_stat({text.data(), static_cast<std::size_t>(bytes)});
    return found && found->state == 'R' ? found->cpu : -1;
}

// Who works on the slowest CPU that is clearly slower than `here`; null where nobody does, or somebody works
// here.
slot* who_is_slowest(page& shared, const slot& own, int here) noexcept {
    const auto pace_of = [&](int cpu) {
        return std::uint64_t{shared.paces[static_cast<std::size_t>(cpu)].load(std::memory_order_relaxed)};
    };
    std::uint64_t least = 100 * pace_of(here) / clearly_faster;
    slot* found = nullptr;
    bool is_free = true;
    int looked_at = 0;
    for_each_of_this_process([&](slot& one) {
        const bool may_be_pulled =
            one.waits().depth == 0 && one.held.read(std::memory_order_relaxed).state == is_own;
        if (&one == &own || !may_be_pulled || !is_free || looked_at == most_looked_at) return;
        ++looked_at;
        const int cpu = works_on(one.thread());
        if (cpu == here) is_free = false;
        if (cpu < 0 || cpu >= static_cast<int>(most_cpus)) return;
        const std::uint64_t pace = pace_of(cpu);
        if (pace == 0 || pace >= least) return;
        least = pace;
        found = &one;
    });
    return is_free ? found : nullptr;
}

// A thread that has another mask than the program's was pinned by it, and stays.
void pull(page& shared, slot& one, int here) noexcept {
    const pid_t thread = one.thread();
    const auto taken = begin_pull(one.held, static_cast<std::uint16_t>(here + 1), this_mover(shared));
    if (!taken) return;
    if (thread != 0 && one.thread() == thread && has_mask(thread, shared.given)) {
        const cpu_set_t narrow = only_on(static_cast<std::uint32_t>(here));
        set_mask(thread, narrow);
        if (has_mask(thread, narrow)) set_mask(thread, shared.given);
        shared.steps.handed_over.fetch_add(1, std::memory_order_relaxed);
    }
    end_giving_back(one.held, *taken);
}

void hand_over(page& shared, const slot& own) noexcept {
    const int here = sched_getcpu();
    if (here < 0 || here >= static_cast<int>(most_cpus)) return;
    slot* const one = who_is_slowest(shared, own, here);
    if (one != nullptr) pull(shared, *one, here);
}

// Of one of some threads: where its CPU time is asked for, Linux puts the next thread that is started rather
// on a CPU that has work (6.18: a program that starts one each 2 ms took 1.2 times as long). A prime, so that
// each of a step's threads has its turn.
constexpr std::uint64_t of_so_many = 13;

void note_time(step_account& steps) noexcept {
    const int cpu = sched_getcpu();
    if (cpu < 0 || cpu >= static_cast<int>(most_cpus)) return;
    steps.ran[static_cast<std::size_t>(cpu)].fetch_add(static_cast<std::uint64_t>(timer::processor_time()),
                                                       std::memory_order_relaxed);
    steps.asked.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

counted_start begin_birth(void* (*code)(void*), void* data) noexcept {
    if (the_page() == nullptr) return {};
    kept_start* const kept = keep_start(code, data);
    if (kept == nullptr) return {};
    return {live, kept};
}

void cancel_birth(const counted_start& of) noexcept {
    static_cast<kept_start*>(of.data)->taken.store(false, std::memory_order_release);
}

// Who has started threads, waited, and starts threads again has made a step.
void note_birth() noexcept {
    this_thread.has_started_others = true;
    if (std::exchange(this_thread.has_waited_for_others, false))
        note_step(the_page()->steps, static_cast<std::uint64_t>(timer::now()));
}

void end_life() noexcept {
    if (!std::exchange(this_thread.is_counted, false)) return;
    page* const here = the_page();
    const slot* const own = this_thread.own;
    step_account& steps = here->steps;
    if (steps.ended.fetch_add(1, std::memory_order_relaxed) % of_so_many == 0) note_time(steps);
    if (own != nullptr && steps.hand_over.load(std::memory_order_relaxed) != 0) hand_over(*here, *own);
}

void hand_over_while_waiting(slot& own) noexcept {
    if (!std::exchange(this_thread.has_started_others, false)) return;
    this_thread.has_waited_for_others = true;
    page* const here = the_page();
    if (here->steps.hand_over.load(std::memory_order_relaxed) == 0) return;
    const int error = errno;
    hand_over(*here, own);
    errno = error;
}

void forget_births() noexcept {
    for (kept_start& one : starts) one.taken.store(false, std::memory_order_relaxed);
    this_thread.is_counted = this_thread.has_started_others = this_thread.has_waited_for_others = false;
}

}  // namespace tauto::balance
