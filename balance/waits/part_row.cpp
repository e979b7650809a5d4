#include "balance/waits/part_row.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "timer/clock.hpp"

namespace tauto::balance {

namespace {

constexpr double alike = 0.94;  // speeds
constexpr int looks_at_the_clock_every = 32;

thread_local constinit running_part* this_part = nullptr;

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

running_part*& part_in_row() noexcept {
    return this_part;
}

namespace detail {

std::int64_t row_clock() noexcept {
    return timer::now();
}

void relax_cpu() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace detail

struct part_row::part_alone {
    part_row* row;
    std::uint32_t number;
};

void part_row::begin(void (*code)(void*), void* data, std::span<const std::uint32_t> counts,
                     std::span<const double> speeds) noexcept {
    const auto runners = static_cast<std::uint32_t>(counts.size());
    std::uint32_t parts = 0;
    for (std::uint32_t k = 0; k < runners; ++k) {
        parts += counts[k];
        speeds_[k].store(speeds[k], std::memory_order_relaxed);
        seen_[k] = {};
    }
    code_.store(code, std::memory_order_relaxed);
    data_.store(data, std::memory_order_relaxed);
    count_.store(parts, std::memory_order_relaxed);
    begun_at_.store(timer::now(), std::memory_order_relaxed);
    singles_.store(0, std::memory_order_relaxed);
    meets_.store(false, std::memory_order_relaxed);
    rescued_.store(false, std::memory_order_relaxed);
    runners_.store(runners, std::memory_order_relaxed);
    left_.store(parts, std::memory_order_relaxed);
    const std::uint32_t run = serial_.load(std::memory_order_relaxed) + 1;
    std::uint32_t first = 0;
    for (std::uint32_t k = 0; k < runners; ++k) {
        const std::uint32_t kept = k == 0 ? 1 : 0;
        queues_[k].word.store(pack(run, first + kept, first + counts[k]), std::memory_order_release);
        first += counts[k];
    }
    serial_.store(run, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake_all(serial_);
}

template <class Take>
bool part_row::take(std::uint32_t runner, std::uint32_t& part, std::uint32_t run, Take from) noexcept {
    std::atomic<std::uint64_t>& word = queues_[runner].word;
    std::uint64_t found = word.load(std::memory_order_acquire);
    for (;;) {
        if (static_cast<std::uint32_t>(found >> 32) != run) return false;
        auto first = static_cast<std::uint32_t>(found >> 16 & 0xffff);
        auto end = static_cast<std::uint32_t>(found & 0xffff);
        if (first >= end) return false;
        part = from(first, end);
        const std::uint64_t rest = pack(run, first, end);
        if (word.compare_exchange_weak(found, rest, std::memory_order_acq_rel, std::memory_order_acquire))
            return true;
    }
}

bool part_row::take_first(std::uint32_t runner, std::uint32_t& part, std::uint32_t run) noexcept {
    return take(runner, part, run, [](std::uint32_t& first, std::uint32_t&) { return first++; });
}

bool part_row::take_last(std::uint32_t runner, std::uint32_t& part, std::uint32_t run) noexcept {
    return take(runner, part, run, [](std::uint32_t&, std::uint32_t& end) { return --end; });
}

bool part_row::take_of_others(std::uint32_t runner, std::uint32_t& part, std::uint32_t run) noexcept {
    const double own = speeds_[runner].load(std::memory_order_relaxed);
    const std::uint32_t runners = runners_.load(std::memory_order_relaxed);
    for (std::uint32_t k = 0; k < runners; ++k)
        if (k != runner && own >= alike * speeds_[k].load(std::memory_order_relaxed) &&
            take_last(k, part, run))
            return true;
    return false;
}

std::uint32_t part_row::run_parts(std::uint32_t runner) noexcept {
    std::uint32_t part = 0;
    std::uint32_t ran = 0;
    if (runner == 0) {
        run_part(0, &seen_[0]);
        ++ran;
    }
    for (;; ++ran) {
        const std::uint32_t run = serial_.load(std::memory_order_acquire);
        if (!take_first(runner, part, run) && !take_of_others(runner, part, run)) return ran;
        run_part(part, &seen_[runner]);
    }
}

void part_row::run_part(std::uint32_t part, runner_seen* seen) noexcept {
    const std::int64_t begun_at = begun_at_.load(std::memory_order_relaxed);
    if (seen != nullptr && seen->parts++ == 0) seen->begun = static_cast<double>(timer::now() - begun_at);
    running_part self{this, part, count_.load(std::memory_order_relaxed), 0};
    running_part* const around = std::exchange(this_part, &self);
    code_.load(std::memory_order_relaxed)(data_.load(std::memory_order_relaxed));
    this_part = around;
    if (seen != nullptr) seen->ended = static_cast<double>(timer::now() - begun_at);
    end_part();
}

void part_row::end_part() noexcept {
    const bool is_last = left_.fetch_sub(1, std::memory_order_seq_cst) == 1;
    if (is_last && joiner_sleeps_.load(std::memory_order_seq_cst) != 0) futex_wake_all(left_);
    if (!meets_.load(std::memory_order_seq_cst)) return;
    pthread_mutex_lock(&meeting_);
    end_meeting_if_all_wait();
    pthread_mutex_unlock(&meeting_);
}

void part_row::join(std::int64_t spins) noexcept {
    std::int64_t began = 0;
    for (int looks = 0;; ++looks) {
        if (left_.load(std::memory_order_acquire) == 0) return;
        if (looks % looks_at_the_clock_every != 0) {
            detail::relax_cpu();
            continue;
        }
        const std::int64_t at = timer::now();
        if (began == 0) began = at;
        if (at - began >= spins) break;
    }
    joiner_sleeps_.store(1, std::memory_order_seq_cst);
    for (std::uint32_t left = 0; (left = left_.load(std::memory_order_seq_cst)) != 0;)
        futex_wait(left_, left);
    joiner_sleeps_.store(0, std::memory_order_relaxed);
}

void part_row::sleep_until_run(std::uint32_t seen) noexcept {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    if (serial_.load(std::memory_order_seq_cst) == seen) futex_wait(serial_, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

void* part_row::run_alone(void* given) {
    const part_alone one = *static_cast<part_alone*>(given);
    std::free(given);
    one.row->run_part(one.number, nullptr);
    return nullptr;
}

void part_row::start_unbegun(std::uint32_t run) noexcept {
    const std::uint32_t runners = runners_.load(std::memory_order_relaxed);
    for (std::uint32_t k = 0; k < runners; ++k)
        for (std::uint32_t part = 0; take_last(k, part, run);) {
            rescued_.store(true, std::memory_order_relaxed);
            auto* const one = static_cast<part_alone*>(std::malloc(sizeof(part_alone)));
            if (one != nullptr) {
                *one = {this, part};
                if (starts_(run_alone, one)) continue;
            }
            constexpr char words[] = "libtauto-waits.so: no thread can be started for a parallel region\n";
            static_cast<void>(!write(STDERR_FILENO, words, sizeof words - 1));
            std::abort();
        }
}

void part_row::end_meeting_if_all_wait() noexcept {
    if (waiting_ == 0 || waiting_ < left_.load(std::memory_order_seq_cst)) return;
    waiting_ = 0;
    ++meetings_;
    pthread_cond_broadcast(&met_);
}

void part_row::meet() noexcept {
    meets_.store(true, std::memory_order_seq_cst);
    start_unbegun(serial_.load(std::memory_order_acquire));
    pthread_mutex_lock(&meeting_);
    const std::uint32_t before = meetings_;
    ++waiting_;
    end_meeting_if_all_wait();
    while (meetings_ == before) pthread_cond_wait(&met_, &meeting_);
    pthread_mutex_unlock(&meeting_);
}

bool part_row::take_single() noexcept {
    std::uint32_t mine = this_part->singles++;
    return singles_.compare_exchange_strong(mine, mine + 1, std::memory_order_relaxed);
}

void part_row::forget_runners() noexcept {
    sleepers_.store(0, std::memory_order_relaxed);
    joiner_sleeps_.store(0, std::memory_order_relaxed);
    left_.store(0, std::memory_order_relaxed);
    for (queue& one : queues_) one.word.store(0, std::memory_order_relaxed);
    meeting_ = PTHREAD_MUTEX_INITIALIZER;
    met_ = PTHREAD_COND_INITIALIZER;
    waiting_ = 0;
}

}  // namespace tauto::balance
