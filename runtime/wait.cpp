#include <tauto/wait.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <string>

#include <tauto/error.hpp>
#include <tauto/signed.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace tauto {

wait_policy wait_policy_from(std::string_view text) {
    if (text == "active") return wait_policy::active;
    if (text == "balanced") return wait_policy::balanced;
    if (text == "passive") return wait_policy::passive;
    throw error("wait policy '" + std::string(text) + "' is unknown; use active, balanced or passive");
}

namespace detail {
namespace {

std::int64_t nanoseconds_now() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

double measure_ticks_per_nanosecond() noexcept {
    constexpr std::int64_t span =
        30'000;  // an error of 50 ns in reading is 0.2 %: enough to wait and learn by
    for (;;) {
        const std::int64_t start = nanoseconds_now();
        const std::int64_t first = ticks();
        std::int64_t end = start;
        while (end - start < span) end = nanoseconds_now();
        // Else it was set back meanwhile.
        if (const std::int64_t passed = ticks() - first; passed > 0)
            return as_double(passed) / as_double(end - start);
    }
}

#if defined(__x86_64__)
bool cpu_has_waitpkg() noexcept {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & (1U << 5)) != 0;
}

// Waits in the light C0.1 state until the line changes or the deadline passes. The kernel's own limit
// (umwait_control, 100 us by default) may end it sooner, which only costs another turn.
__attribute__((target("waitpkg"))) void monitor_wait(const std::atomic<std::uint32_t>& word,
                                                     std::uint32_t current, std::int64_t deadline) noexcept {
    _umonitor(const_cast<std::atomic<std::uint32_t>*>(&word));
    if (word.load(std::memory_order_acquire) == current)
        _umwait(1, static_cast<unsigned long long>(deadline));
}
#endif

}  // namespace

double ticks_per_nanosecond() noexcept {
    static const double rate = measure_ticks_per_nanosecond();
    return rate;
}

namespace {

// No time: as long as it takes.
void futex_wait_at_most(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                        const timespec* time) noexcept {
    const int before = errno;  // the caller's own
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, time, nullptr, 0);
    errno = before;
}

}  // namespace

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
    futex_wait_at_most(word, expected, nullptr);
}

void futex_wait_for(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                    std::chrono::nanoseconds time) noexcept {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const timespec most{static_cast<time_t>(whole.count()), static_cast<long>((time - whole).count())};
    futex_wait_at_most(word, expected, &most);
}

void futex_wake(const std::atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void futex_wake_all(const std::atomic<std::uint32_t>& word) noexcept {
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

std::uint32_t spin_while_equal(const std::atomic<std::uint32_t>& word, std::uint32_t current,
                               std::int64_t budget_ticks) noexcept {
    std::uint32_t seen = word.load(std::memory_order_acquire);
    if (seen != current || budget_ticks <= 0) return seen;
    const std::int64_t start = ticks();
#if defined(__x86_64__)
    // Answers within a few round trips are the common case in a chain of short loops.
    static const std::int64_t eager = to_ticks(std::chrono::microseconds(3));
    static const bool waitpkg = cpu_has_waitpkg();
#endif
    for (;;) {
        for (int poll = 0; poll < 32; ++poll) {
            // Without a pause, loads of the word are in flight when it changes and have to be thrown away: an
            // empty loop over two members takes 400 instead of 340 ns.
            relax();
            seen = word.load(std::memory_order_acquire);
            if (seen != current) return seen;
        }
        const std::int64_t waited = ticks() - start;
        // Less than nothing: the counter was set back, by a suspend or a move to another machine.
        if (waited > budget_ticks || waited < 0) return seen;
#if defined(__x86_64__)
        if (waitpkg && waited >= eager) monitor_wait(word, current, start + budget_ticks);
#endif
    }
}

spin_budget::spin_budget(wait_policy policy) noexcept
    : policy_(policy),
      wake_ticks_(to_ticks(std::chrono::microseconds(30))),
      cap_ticks_(to_ticks(policy == wait_policy::active ? std::chrono::microseconds(1'000'000)
                                                        : std::chrono::microseconds(2'000))),
      mean_gap_(wake_ticks_),
      budget_(0) {
    learn(wake_ticks_);
}

void spin_budget::learn(std::int64_t waited_ticks) noexcept {
    // A single long pause must not wipe out what a thousand short gaps taught. Nor may a counter that was set
    // back.
    mean_gap_ += (std::clamp<std::int64_t>(waited_ticks, 0, 4 * cap_ticks_) - mean_gap_) / 8;
    set_budget();
}

void spin_budget::set_budget() noexcept {
    if (policy_ == wait_policy::active) {
        budget_ = cap_ticks_;
    } else if (policy_ == wait_policy::passive || mean_gap_ > cap_ticks_) {
        budget_ = wake_ticks_;
    } else {
        // Twice the mean plus a wake-up: covers ordinary spread. A gap in [mean, cap] is cheaper to spin.
        budget_ = std::min(cap_ticks_, 2 * mean_gap_ + 4 * wake_ticks_);
    }
}

}  // namespace detail
}  // namespace tauto
