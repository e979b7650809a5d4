#include "balance/waits/lending.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "balance/waits/marks.hpp"

namespace tauto::balance {

namespace {

constexpr std::uint64_t worth_a_change = 60'000;  // ns of a wait
constexpr std::uint64_t clearly_faster = 115;     // percent
constexpr long short_sleep = 10'000;              // ns

// How long the last wait took for which this process had a CPU to lend. A hint.
std::atomic<std::uint64_t> last_wait{0};
// Some thread of this process may be a guest.
std::atomic<bool> has_guests{false};

bool has_mask(pid_t thread, const cpu_set_t& mask) noexcept {
    cpu_set_t now;
    CPU_ZERO(&now);
    return syscall(SYS_sched_getaffinity, thread, sizeof now, &now) > 0 && CPU_EQUAL(&now, &mask) != 0;
}

// A thread that has another mask than that of its CPU was pinned by the program, and stays.
bool put(slot& one, hold_value found, hold_state to, std::uint16_t next, const page& shared) noexcept {
    const pid_t thread = one.thread();
    if (thread == 0) return false;
    const std::optional<hold_value> moving = begin_move(one.held, found, next);
    if (!moving) return false;
    const bool may = one.thread() == thread && shared.lending.load(std::memory_order_acquire) != 0 &&
                     has_mask(thread, only_on(found.on - 1U));
    if (!may) {
        one.held.change(*moving, found);
        return false;
    }
    set_mask(thread, only_on(next - 1U));
    if (end_move(one.held, *moving, to)) return true;
    set_mask(thread, shared.given);
    return false;
}

hold_value look_at(const slot& one) noexcept {
    return one.held.read(std::memory_order_relaxed);
}

void send_home(slot& one, const page& shared) noexcept {
    const hold_value found = look_at(one);
    if (found.state != is_guest) return;
    const int error = errno;
    put(one, found, is_held, found.seat, shared);
    errno = error;
}

// Whether it sits on one CPU that the page has a pace of.
bool sits(const hold_value& one) noexcept {
    return (one.state == is_held || one.state == is_guest) && one.on > 0 && one.on <= most_cpus;
}

std::uint64_t places_of(const slot& one) noexcept {
    return one.passed.load(std::memory_order_relaxed) / 2;
}

template <class Page, class What>
void for_each_slot(Page& shared, What what) noexcept {
    const std::uint32_t used = std::min(shared.used.load(std::memory_order_acquire), most_slots);
    for (std::uint32_t k = 0; k < used; ++k) what(shared.slots[k]);
}

// Whether it has not yet come to the place where `own` waits: it works, or was woken and has not begun.
// Threads of a team come past as many places. For a thread of another team this is a guess.
bool is_behind(const slot& one, const slot& own) noexcept {
    return &one != &own && (one.waits().depth == 0 || places_of(one) + 1 == places_of(own)) &&
           one.thread() != 0;
}

// `what` gets each that sits on a CPU and is behind, with what its word says.
template <class What>
void for_each_behind(page& shared, const slot& own, What what) noexcept {
    for_each_slot(shared, [&](slot& one) {
        const hold_value found = look_at(one);
        if (sits(found) && is_behind(one, own)) what(one, found);
    });
}

struct choice {
    slot* one = nullptr;
    hold_value found;
};

// Who gets least: on a slow CPU, or on one with many others. Nobody where none would be clearly faster on CPU
// `here`, or that is not free.
choice who_gets_least(page& shared, const slot& own, std::uint32_t here) noexcept {
    std::array<std::uint16_t, most_cpus> at_work{};  // threads on each CPU
    for_each_behind(shared, own, [&](slot&, const hold_value& found) { ++at_work[found.on - 1U]; });
    if (at_work[here] > 0) return {};
    const auto pace_of = [&](std::uint32_t cpu) {
        return std::uint64_t{shared.paces[cpu].load(std::memory_order_relaxed)};
    };
    choice chosen;
    bool has_begun = true;
    std::uint64_t least = 100 * pace_of(here) / clearly_faster;
    for_each_behind(shared, own, [&](slot& one, const hold_value& found) {
        const std::uint64_t pace = pace_of(found.on - 1U);
        const std::uint64_t share = pace / std::max<std::uint64_t>(at_work[found.on - 1U], 1);
        const bool begun = one.waits().depth == 0;
        // Of those on one CPU rather who has not begun: it leaves nothing in the caches there.
        if (pace == 0 || share > least || (share == least && (begun || !has_begun))) return;
        least = share;
        has_begun = begun;
        chosen = {&one, found};
    });
    return chosen;
}

// Whether others are held where it is: on its CPU, or on the same few.
bool shares_its_cpu(const page& shared, const slot& own) noexcept {
    const hold_value self = look_at(own);
    if (self.state != is_held && self.state != is_guest) return false;
    if (self.on == 0) return shared.crowded.load(std::memory_order_relaxed) != 0;
    bool shares = false;
    for_each_slot(shared, [&](const slot& one) {
        const hold_value found = look_at(one);
        shares = shares || (&one != &own && sits(found) && found.on == self.on && one.thread() != 0);
    });
    return shares;
}

}  // namespace

void set_mask(pid_t thread, const cpu_set_t& mask) noexcept {
    syscall(SYS_sched_setaffinity, thread, sizeof mask, &mask);
}

void lend_cpu(slot& own, std::uint64_t now) noexcept {
    page* here = the_page();
    if (here == nullptr || here->lending.load(std::memory_order_relaxed) == 0) return;
    const hold_value self = look_at(own);
    this_thread.came_as_guest = self.state == is_guest;
    if (!sits(self)) return;
    const auto [one, found] = who_gets_least(*here, own, self.on - 1U);
    if (one == nullptr) return;
    this_thread.lends_since = now;
    if (last_wait.load(std::memory_order_relaxed) < worth_a_change) return;
    const int error = errno;
    if (found.state == is_held && put(*one, found, is_guest, self.on, *here)) {
        this_thread.guest = one;
        here->lent.fetch_add(1, std::memory_order_relaxed);
        has_guests.store(true, std::memory_order_relaxed);
    }
    errno = error;
}

void take_cpu_back() noexcept {
    const slot* own = this_thread.own;
    if (own == nullptr) return;
    if (this_thread.lends_since != 0) {
        last_wait.store(static_cast<std::uint64_t>(timer::now()) - this_thread.lends_since,
                        std::memory_order_relaxed);
        this_thread.lends_since = 0;
    }
    const bool goes_home = std::exchange(this_thread.came_as_guest, false);
    if (this_thread.guest == nullptr && !goes_home) return;
    const page* const here = the_page();
    slot* const guest = this_thread.guest;
    this_thread.guest = nullptr;
    if (guest != nullptr) send_home(*guest, *here);
    if (goes_home) send_home(*this_thread.own, *here);
}

bool leave_shared_cpu(const slot& own) noexcept {
    const page* here = the_page();
    if (here == nullptr || !shares_its_cpu(*here, own)) return false;
    const int error = errno;
    // By default Linux may add 50 us to a sleep.
    const int slack = prctl(PR_GET_TIMERSLACK);
    if (slack > 1) prctl(PR_SET_TIMERSLACK, 1);
    const timespec length{0, short_sleep};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &length, nullptr);
    if (slack > 1) prctl(PR_SET_TIMERSLACK, slack);
    errno = error;
    return true;
}

void send_guests_home() noexcept {
    page* here = the_page();
    if (here == nullptr || !has_guests.load(std::memory_order_relaxed)) return;
    has_guests.store(false, std::memory_order_relaxed);
    for_each_slot(*here, [&](slot& one) {
        if (look_at(one).state != is_guest) return;
        if (one.waits().depth > 0)
            send_home(one, *here);
        else
            has_guests.store(true, std::memory_order_relaxed);
    });
}

}  // namespace tauto::balance
