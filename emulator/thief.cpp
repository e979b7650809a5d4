#include "emulator/thief.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <system_error>

namespace tauto::emulate {

namespace {

// Waking by a timer takes tens of microseconds in a virtual machine; if it takes longer, the thread was
// delayed.
constexpr nanoseconds longest_timer_delay = 300'000;
constexpr std::int64_t turns_a_book_entry = 1024;

nanoseconds read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<nanoseconds>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void sleep_until(nanoseconds deadline) {
    timespec at{};
    at.tv_sec = static_cast<time_t>(deadline / 1'000'000'000);
    at.tv_nsec = static_cast<long>(deadline % 1'000'000'000);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
}

void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Uses only registers and the clock's own page, so that the caches of other programs on this CPU are
// unchanged.
nanoseconds spin_until(nanoseconds deadline) {
    nanoseconds now = monotonic_now();
    while (now < deadline) {
        relax();
        now = monotonic_now();
    }
    return now;
}

}  // namespace

int take_cpu(int cpu, int priority) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<unsigned>(cpu), &cpus);
    if (const int failed = pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus)) return failed;
    sched_param parameters{};
    parameters.sched_priority = priority;
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters);
}

nanoseconds monotonic_now() {
    return read_clock(CLOCK_MONOTONIC);
}

double thief_tally::factor(double overhead_nanoseconds) const {
    const double free = static_cast<double>(gaps) - static_cast<double>(turns) * overhead_nanoseconds;
    if (turns == 0 || free <= 0.0) return std::numeric_limits<double>::quiet_NaN();
    return static_cast<double>(wall) / free;
}

double thief_tally::busy_fraction() const {
    return wall > 0 ? static_cast<double>(processor) / static_cast<double>(wall) : 0.0;
}

double thief_tally::turn_nanoseconds() const {
    return turns > 0 ? static_cast<double>(wall) / static_cast<double>(turns) : 0.0;
}

thief::thief(int cpu) : thread_([this, cpu] { live(cpu); }) {
    done_.wait(order::leave, std::memory_order_acquire);
    if (error_ != 0) {
        thread_.join();
        throw std::system_error(error_, std::generic_category(), "SCHED_FIFO thread");
    }
}

thief::~thief() {
    if (!thread_.joinable()) return;
    order_.store(order::leave, std::memory_order_release);
    order_.notify_one();
    thread_.join();
}

void thief::configure(const thief_settings& settings) {
    settings_ = settings;
    adjust(settings.overhead_nanoseconds);
}

void thief::obey(order given) {
    order_.store(given, std::memory_order_release);
    order_.notify_one();
    for (order seen; (seen = done_.load(std::memory_order_acquire)) != given;) done_.wait(seen);
}

void thief::start() {
    if (!on_duty()) publish({}, true);  // the counts of the last duty are not read as this one's
    obey(order::steal);
}
void thief::stop() {
    obey(order::rest);
}

thief_tally thief::tally() const {
    const std::lock_guard lock(tally_mutex_);
    return tally_;
}

void thief::live(int cpu) {
    error_ = take_cpu(cpu);
    const auto report = [this](order now) {
        done_.store(now, std::memory_order_release);
        done_.notify_all();
    };
    report(order::rest);
    if (error_ != 0) return;
    for (order now; (now = order_.load(std::memory_order_acquire)) != order::leave;) {
        if (now == order::rest) {
            if (done_.load(std::memory_order_relaxed) != order::rest) report(order::rest);
            order_.wait(order::rest, std::memory_order_acquire);
        } else {
            report(order::steal);
            steal();
        }
    }
}

// The owner reads the tally occasionally; meanwhile the thief continues, and publishes later.
void thief::publish(const thief_tally& tally, bool must) {
    std::unique_lock lock(tally_mutex_, std::defer_lock);
    if (must) {
        lock.lock();
    } else if (!lock.try_lock()) {
        return;
    }
    tally_ = tally;
}

// Each gap follows from the previous turn: overhead + turn / factor. A late start first shortens the
// spinning; the rest of the delay lengthens the turn and so the next gap. A gap is counted from now, never
// from the past, because RT throttling stops a thief that only spins for most of a second.
void thief::steal() {
    const thief_settings keep = settings_;
    const auto earned = [this, &keep](nanoseconds turn) {
        const double overhead = overhead_nanoseconds_.load(std::memory_order_relaxed);
        return static_cast<nanoseconds>(overhead + static_cast<double>(turn) / keep.factor);
    };
    const nanoseconds processor_before = read_clock(CLOCK_THREAD_CPUTIME_ID);
    thief_tally tally;
    tally.started = monotonic_now();
    nanoseconds turn_began = tally.started;
    nanoseconds now = turn_began;
    nanoseconds gap = earned(keep.period);
    while (order_.load(std::memory_order_relaxed) == order::steal) {
        now = spin_until(turn_began + keep.period - gap);
        const nanoseconds turn = now + gap - turn_began;
        tally.gaps += gap;
        tally.wall += turn;
        ++tally.turns;
        turn_began = now + gap;
        sleep_until(turn_began);
        now = monotonic_now();
        if (const nanoseconds late = now - turn_began; late > longest_timer_delay) {
            ++tally.interruptions;
            tally.interrupted += late;
            tally.longest_interruption = std::max(tally.longest_interruption, late);
            turn_began = now;
        }
        gap = earned(std::max(turn, keep.period));
        if (tally.turns % turns_a_book_entry == 0) {
            tally.processor = read_clock(CLOCK_THREAD_CPUTIME_ID) - processor_before;
            publish(tally, false);
        }
    }
    tally.processor = read_clock(CLOCK_THREAD_CPUTIME_ID) - processor_before;
    tally.stopped = now;
    publish(tally, true);
}

}  // namespace tauto::emulate
