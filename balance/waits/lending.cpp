#include "balance/waits/lending.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>

#include "balance/waits/marks.hpp"

namespace tauto::balance {

namespace {

constexpr std::uint64_t worth_a_change = 60'000;  // ns of a wait
constexpr long short_sleep = 10'000;              // ns
constexpr int pauses_until_lost = 1000;           // of some 60 us
constexpr int most_pauses = 10'000;

// How long the last wait took for which this process had a CPU to lend. A hint.
std::atomic<std::uint64_t> last_wait{0};
// Some thread of this process may be a guest.
std::atomic<bool> has_guests{false};

void sleep_shortly() noexcept {
    const timespec length{0, short_sleep};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &length, nullptr);
}

// Where the mask of a move was set, but the word is another's by now.
void give_back(slot& one, pid_t thread, hold_value moving, hold_state to, const page& shared) noexcept {
    const std::uint16_t set = goal(moving);
    const auto has_ours = [&] { return one.thread() == thread && has_mask(thread, only_on(set - 1U)); };
    for (int pauses = 0; pauses < most_pauses; ++pauses) {
        const hold_value found = one.held.read();
        const bool is_right = (found.state == is_held || found.state == is_guest) && found.on == set;
        if (is_right || !has_ours() || end_move(one.held, moving, to)) return;
        const bool lost = pauses >= pauses_until_lost;
        if (const auto taken = begin_giving_back(one.held, set, this_mover(shared), lost)) {
            // A thread that nobody held may have given itself this mask.
            if (taken->was.state != is_own || has_ours()) set_mask(thread, shared.given);
            return end_giving_back(one.held, *taken);
        }
        sleep_shortly();
    }
}

// A thread that has another mask than that of its CPU was pinned by the program, and stays.
bool put(slot& one, hold_value found, hold_state to, std::uint16_t next, const page& shared) noexcept {
    const pid_t thread = one.thread();
    const std::uint32_t mover = this_mover(shared);
    if (thread == 0 || mover == 0) return false;
    const hold_value from = settled(found);
    const auto is_on = [thread](std::uint16_t cpu) { return has_mask(thread, only_on(cpu - 1U)); };
    // Who puts it somewhere may lose his CPU to it before he can say that it is there; its mask says so.
    if (found.state == is_moving && !(may_go_on(found) && is_on(from.on))) return false;
    const std::optional<hold_value> moving = begin_move(one.held, found, next, mover, is_on);
    if (!moving) return false;
    const bool may =
        one.thread() == thread && shared.lending.load(std::memory_order_acquire) != 0 && is_on(from.on);
    if (!may) {
        cancel_move(one.held, *moving, from, sleep_shortly);
        return false;
    }
    set_mask(thread, only_on(next - 1U));
    if (end_move(one.held, *moving, to)) return true;
    give_back(one, thread, *moving, to, shared);
    return false;
}

hold_value look_at(const slot& one) noexcept {
    return one.held.read(std::memory_order_relaxed);
}

void send_home(slot& one, const page& shared) noexcept {
    const hold_value found = look_at(one);
    if (settled(found).state != is_guest) return;
    const int error = errno;
    put(one, found, is_held, found.seat, shared);
    errno = error;
}

// Whether it sits on one CPU that the page has a pace of.
bool sits(const hold_value& one) noexcept {
    const hold_value there = settled(one);
    return (there.state == is_held || there.state == is_guest) && there.on > 0 && there.on <= most_cpus;
}
// If so, which one.
std::uint32_t cpu_of(const hold_value& one) noexcept {
    return settled(one).on - 1U;
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

// Who gets least: on a CPU with many others, or alone on one that is clearly slower than CPU `here`. Where
// there are others it is worth it even here on a slow CPU, since whoever comes to wait there takes it back.
choice who_gets_least(page& shared, const slot& own, std::uint32_t here) noexcept {
    std::array<std::uint16_t, most_cpus> at_work{};  // threads on each CPU
    for_each_behind(shared, own, [&](slot&, const hold_value& found) { ++at_work[cpu_of(found)]; });
    if (at_work[here] > 0) return {};
    const auto pace_of = [&](std::uint32_t cpu) {
        return std::uint64_t{shared.paces[cpu].load(std::memory_order_relaxed)};
    };
    const std::uint64_t clearly_slower = 100 * pace_of(here) / clearly_faster;
    choice chosen;
    bool has_begun = true;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for_each_behind(shared, own, [&](slot& one, const hold_value& found) {
        const std::uint64_t pace = pace_of(cpu_of(found));
        const std::uint64_t there = std::max<std::uint64_t>(at_work[cpu_of(found)], 1);
        const std::uint64_t share = pace / there;
        const bool begun = one.waits().depth == 0;
        if (pace == 0 || (there == 1 && pace > clearly_slower)) return;
        // Of those on one CPU rather who has not begun: it leaves nothing in the caches there.
        if (share > least || (share == least && (begun || !has_begun))) return;
        least = share;
        has_begun = begun;
        chosen = {&one, found};
    });
    return chosen;
}

// Whether others are held where it is: on its CPU, or on the same few.
bool shares_its_cpu(const page& shared, const slot& own) noexcept {
    const hold_value self = settled(look_at(own));
    if (self.state != is_held && self.state != is_guest) return false;
    if (self.on == 0) return shared.crowded.load(std::memory_order_relaxed) != 0;
    bool shares = false;
    for_each_slot(shared, [&](const slot& one) {
        const hold_value found = look_at(one);
        shares = shares || (&one != &own && sits(found) && cpu_of(found) + 1 == self.on && one.thread() != 0);
    });
    return shares;
}

}  // namespace

void set_mask(pid_t thread, const cpu_set_t& mask) noexcept {
    syscall(SYS_sched_setaffinity, thread, sizeof mask, &mask);
}

std::uint32_t this_mover(const page& shared) noexcept {
    return this_thread.own == nullptr ? 0
                                      : static_cast<std::uint32_t>(this_thread.own - shared.slots.data()) + 1;
}

bool has_mask(pid_t thread, const cpu_set_t& mask) noexcept {
    cpu_set_t now;
    CPU_ZERO(&now);
    return syscall(SYS_sched_getaffinity, thread, sizeof now, &now) > 0 && CPU_EQUAL(&now, &mask) != 0;
}

void lend_cpu(slot& own, std::uint64_t now) noexcept {
    page* here = the_page();
    if (here == nullptr || here->lending.load(std::memory_order_relaxed) == 0) return;
    const hold_value self = settled(look_at(own));
    this_thread.came_as_guest = self.state == is_guest;
    if (!sits(self)) return;
    const auto [one, found] = who_gets_least(*here, own, self.on - 1U);
    if (one == nullptr) return;
    this_thread.lends_since = now;
    if (last_wait.load(std::memory_order_relaxed) < worth_a_change) return;
    const int error = errno;
    // A guest on another CPU, too: it may be the last one, and slow there.
    const bool comes_home = found.seat == self.on;
    if (put(*one, found, comes_home ? is_held : is_guest, self.on, *here) && !comes_home) {
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
    sleep_shortly();
    if (slack > 1) prctl(PR_SET_TIMERSLACK, slack);
    errno = error;
    return true;
}

void send_guests_home() noexcept {
    page* here = the_page();
    if (here == nullptr || !has_guests.load(std::memory_order_relaxed)) return;
    has_guests.store(false, std::memory_order_relaxed);
    for_each_slot(*here, [&](slot& one) {
        if (settled(look_at(one)).state != is_guest) return;
        if (one.waits().depth > 0)
            send_home(one, *here);
        else
            has_guests.store(true, std::memory_order_relaxed);
    });
}

}  // namespace tauto::balance
