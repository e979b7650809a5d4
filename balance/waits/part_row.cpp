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
    bool begins;
};

void part_row::begin(void (*code)(void*), void* data, std::span<const std::uint32_t> counts,
                     std::span<const double> speeds, bool on_stacks, const shared_work* work) noexcept {
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
    const std::uint32_t places = std::min(places_.load(std::memory_order_relaxed), most_places);
    for (std::uint32_t place = 0; place < places; ++place) taken_[place].store(0, std::memory_order_relaxed);
    work_ = work == nullptr ? shared_work{} : *work;
    given_ = work == nullptr ? 0 : 1;
    places_.store(given_, std::memory_order_relaxed);
    shares_out_.store(false, std::memory_order_relaxed);
    meets_.store(false, std::memory_order_relaxed);
    rescued_.store(false, std::memory_order_relaxed);
    on_stacks_.store(on_stacks, std::memory_order_relaxed);
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
    // Where nobody else has anything to run, nobody is woken.
    const bool alone = runners == 1 && parts > 0;
    if (!alone && sleepers_.load(std::memory_order_seq_cst) > 0) futex_wake_all(serial_);
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
    if (runner >= runners) return false;
    for (std::uint32_t k = 0; k < runners; ++k)
        if (k != runner && own >= alike * speeds_[k].load(std::memory_order_relaxed) &&
            take_last(k, part, run))
            return true;
    return false;
}

bool part_row::make_stacks(std::uint32_t parts) noexcept {
    for (std::uint32_t part = 0; part < parts; ++part)
        if (!strands_[part].stack.make()) return false;
    return true;
}

std::uint32_t part_row::run_parts(std::uint32_t runner, std::int64_t spins, runner_waits waits) noexcept {
    runner_seen& seen = seen_[runner];
    std::array<std::uint16_t, most_parts> waiting;  // parts
    std::uint32_t left = 0;
    std::uint32_t at = 0;  // what they wait for
    std::uint32_t ran = 0;
    std::int64_t since = 0;
    // Before the part has ended, and with it the run, maybe.
    const auto note_time = [&] {
        const std::int64_t now = timer::now();
        seen.ended += static_cast<double>(now - since);
        since = now;
    };
    const auto run = [&](std::uint32_t part, bool begins) {
        const bool on_stack = on_stacks_.load(std::memory_order_relaxed);
        const bool has_ended = on_stack ? enter(part, begins) : run_here(part);
        note_time();
        if (has_ended) return end_part();
        at = arrive(part);
        waiting[left++] = static_cast<std::uint16_t>(part);
    };
    const auto begin = [&](std::uint32_t part) {
        ++ran;
        if (seen.parts++ == 0) {  // of this run: there may have been one before
            since = timer::now();
            seen.begun = seen.ended = static_cast<double>(since - begun_at_.load(std::memory_order_relaxed));
        }
        run(part, true);
    };
    if (runner == 0) begin(0);
    for (;;) {
        const std::uint32_t serial = serial_.load(std::memory_order_acquire);
        std::uint32_t part = 0;
        if (!take_first(runner, part, serial) && !take_of_others(runner, part, serial)) break;
        begin(part);
    }
    while (left > 0) {
        if (waits != nullptr) waits(true);
        wait_for_meeting(at, spins);
        if (waits != nullptr) waits(false);
        since = timer::now();
        const std::uint32_t came = std::exchange(left, 0);
        for (std::uint32_t k = 0; k < came; ++k)
            if (const std::uint32_t part = waiting[k]; go_on(part)) run(part, false);
    }
    return ran;
}

running_part part_row::self_of(std::uint32_t part) noexcept {
    return {this, part, count_.load(std::memory_order_relaxed), nullptr, given_, part == 0, 0, work_};
}

// On the stack of this thread: it has ended then.
bool part_row::run_here(std::uint32_t part) noexcept {
    running_part self = self_of(part);
    running_part* const around = std::exchange(this_part, &self);
    code_.load(std::memory_order_relaxed)(data_.load(std::memory_order_relaxed));
    this_part = around;
    return true;
}

// On its own stack, until it has ended, true, or waits for others.
bool part_row::enter(std::uint32_t part, bool begins) noexcept {
    strand& one = strands_[part];
    if (begins) {
        one.self = self_of(part);
        one.self.stack = &one.stack;
    }
    running_part* const around = std::exchange(this_part, &one.self);
    const bool has_ended = begins ? one.stack.start(run_on_stack, this) : one.stack.resume();
    this_part = around;
    return has_ended;
}

void part_row::run_on_stack(void* given) {
    const auto* const row = static_cast<part_row*>(given);
    row->code_.load(std::memory_order_relaxed)(row->data_.load(std::memory_order_relaxed));
}

// A part that was left on its stack waits for the others. What it waits for.
std::uint32_t part_row::arrive(std::uint32_t part) noexcept {
    meets_.store(true, std::memory_order_seq_cst);
    pthread_mutex_lock(&meeting_);
    const std::uint32_t at = 1 + meetings_.load(std::memory_order_relaxed);
    ++waiting_;
    strands_[part].waits_at.store(at, std::memory_order_release);
    end_meeting_if_all_wait();
    pthread_mutex_unlock(&meeting_);
    return at;
}

void part_row::wait_for_meeting(std::uint32_t at, std::int64_t spins) noexcept {
    const auto is_over = [&] { return 1 + meetings_.load(std::memory_order_acquire) != at; };
    if (detail::spin_until(is_over, [spins] { return spins; })) return;
    pthread_mutex_lock(&meeting_);
    while (!is_over()) pthread_cond_wait(&met_, &meeting_);
    pthread_mutex_unlock(&meeting_);
}

// Whether the calling thread goes on with a part that waited.
bool part_row::go_on(std::uint32_t part) noexcept {
    std::atomic<std::uint32_t>& waits_at = strands_[part].waits_at;
    std::uint32_t at = waits_at.load(std::memory_order_acquire);
    return at != 0 && 1 + meetings_.load(std::memory_order_acquire) != at &&
           waits_at.compare_exchange_strong(at, 0, std::memory_order_acq_rel);
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
    const auto is_over = [&] { return left_.load(std::memory_order_acquire) == 0; };
    if (detail::spin_until(is_over, [spins] { return spins; })) return;
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
    part_row& row = *one.row;
    if (one.begins) {
        row.run_here(one.number);
        row.end_part();
        return nullptr;
    }
    do {
        if (row.enter(one.number, false)) {
            row.end_part();
            return nullptr;
        }
        row.wait_for_meeting(row.arrive(one.number), 0);
    } while (row.go_on(one.number));
    return nullptr;
}

void part_row::start_thread(std::uint32_t part, bool begins) noexcept {
    rescued_.store(true, std::memory_order_relaxed);
    auto* const one = static_cast<part_alone*>(std::malloc(sizeof(part_alone)));
    if (one != nullptr) {
        *one = {this, part, begins};
        if (starts_(run_alone, one)) return;
    }
    constexpr char words[] = "libtauto-waits.so: no thread can be started for a parallel region\n";
    static_cast<void>(!write(STDERR_FILENO, words, sizeof words - 1));
    std::abort();
}

void part_row::start_unbegun(std::uint32_t run) noexcept {
    const std::uint32_t runners = runners_.load(std::memory_order_relaxed);
    for (std::uint32_t k = 0; k < runners; ++k)
        for (std::uint32_t part = 0; take_last(k, part, run);) start_thread(part, true);
}

void part_row::start_waiting() noexcept {
    const std::uint32_t parts = count_.load(std::memory_order_relaxed);
    for (std::uint32_t part = 0; part < parts; ++part)
        if (go_on(part)) start_thread(part, false);
}

void part_row::end_meeting_if_all_wait() noexcept {
    if (waiting_ == 0 || waiting_ < left_.load(std::memory_order_seq_cst)) return;
    waiting_ = 0;
    meetings_.fetch_add(1, std::memory_order_release);
    pthread_cond_broadcast(&met_);
}

void part_row::meet() noexcept {
    if (own_stack* const stack = this_part->stack; stack != nullptr) return stack->leave();
    meets_.store(true, std::memory_order_seq_cst);
    start_unbegun(serial_.load(std::memory_order_acquire));
    pthread_mutex_lock(&meeting_);
    const std::uint32_t before = meetings_.load(std::memory_order_relaxed);
    ++waiting_;
    end_meeting_if_all_wait();
    while (meetings_.load(std::memory_order_relaxed) == before) pthread_cond_wait(&met_, &meeting_);
    pthread_mutex_unlock(&meeting_);
}

bool part_row::take_single() noexcept {
    running_part& self = *this_part;
    std::uint32_t place = self.places++;
    self.was_first = places_.compare_exchange_strong(place, place + 1, std::memory_order_relaxed);
    self.alone = 0;
    return self.was_first;
}

bool part_row::take_pieces(std::uint64_t& first, std::uint64_t& end) noexcept {
    running_part& self = *this_part;
    const std::uint64_t pieces = self.work.pieces;
    const std::uint32_t place = self.places - 1;
    if (!shares_out_.load(std::memory_order_relaxed)) shares_out_.store(true, std::memory_order_relaxed);
    if (place >= most_places) {
        first = self.was_first ? std::exchange(self.alone, pieces) : pieces;
        end = pieces;
        return first < end;
    }
    std::atomic<std::uint64_t>& taken = taken_[place];
    const std::uint64_t least = std::max<std::uint64_t>(self.work.least, 1);
    const std::uint64_t few = 16 * std::uint64_t{runners_.load(std::memory_order_relaxed)};
    first = taken.load(std::memory_order_relaxed);
    do {
        if (first >= pieces) return false;
        const std::uint64_t left = pieces - first;
        const std::uint64_t some = std::max(least, left / few / least * least);
        end = first + std::min(left, some);
    } while (!taken.compare_exchange_weak(first, end, std::memory_order_relaxed));
    return true;
}

void part_row::forget_runners() noexcept {
    sleepers_.store(0, std::memory_order_relaxed);
    joiner_sleeps_.store(0, std::memory_order_relaxed);
    left_.store(0, std::memory_order_relaxed);
    for (queue& one : queues_) one.word.store(0, std::memory_order_relaxed);
    for (strand& one : strands_) one.waits_at.store(0, std::memory_order_relaxed);
    meeting_ = PTHREAD_MUTEX_INITIALIZER;
    met_ = PTHREAD_COND_INITIALIZER;
    waiting_ = 0;
}

}  // namespace tauto::balance
