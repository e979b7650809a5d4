#pragma once
// A page of shared memory between `tauto balance` and the processes of the program that it balances. The
// threads of the program write there whether they wait; the controller writes there how fast each CPU is.
//
// The controller makes it, and names it in TAUTO_BALANCE_PAGE as /proc/PID/fd/N. It is sealed: nobody can
// shorten it under a program that reads it. A program that cannot open it, or finds another version, runs as
// always.
//
// Every process of the program can write every word of it. The controller therefore takes nothing from it but
// hints, and moves no thread that it does not know from /proc to belong to the program.

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "balance/hold.hpp"

namespace tauto::balance {

inline constexpr char page_variable[] = "TAUTO_BALANCE_PAGE";
inline constexpr std::uint64_t page_magic = 0x6563'6e61'6c61'6274;  // "tbalance"
inline constexpr std::uint32_t page_version = 11;
/// Threads that the library started and that do no part of the program's work.
inline constexpr char name_of_idle_threads[] = "tauto-waits";
inline constexpr std::uint32_t most_slots = 1024;
inline constexpr std::uint32_t most_cpus = 1024;

/// What a slot says of its thread at one moment.
struct wait_state {
    std::uint32_t begun = 0;  ///< waits begun by this thread, modulo 2^32; each yield is one
    std::uint32_t depth = 0;  ///< 0: it works
};

/// Places in the program that a thread has come past: ends of its parts of parallel regions, barriers,
/// collective calls, and where one thread woke all that waited. All threads of a team come past as many.
struct progress {
    std::uint64_t passed = 0;  ///< how many
    std::uint64_t at = 0;      ///< when the last was, in nanoseconds of CLOCK_MONOTONIC
};

/// One thread. A cache line, so that threads that wait do not disturb those that work.
///
/// Invariants:
/// - `owner` is a generation (high half) and a thread id (low half, 0: free). It changes by compare-exchange
///   only. Each change adds one to the generation, so a controller that read a dead thread's word cannot free
///   the slot of a thread that took it since.
/// - `passed` is odd while its owner writes `passed_at`, and goes up by two each time: who reads the same
///   even number before and after has the time that belongs to it.
/// - `state` and `yields` are written by the owner alone, so it needs no read-modify-write. Both halves of
///   `state` are one word: who reads it twice and finds the same depth above 0 and the same count has seen
///   one wait that went on all the while.
/// - `waits_since` is set when a wait begins that is timed. When it ends it is 0 again before the length goes
///   to `waited`. So who reads `waited` first counts no wait twice; one that ends in between is missing until
///   the next reading.
///
/// Memory orders: no other data hangs on `state` and `yields`, so relaxed is enough for them; a store becomes
/// visible by itself in well under the time between two looks. Taking a slot is an acquire and leaving it is
/// a release: the next owner's stores come after those of the one before. The time in `passed_at` is a
/// release after the odd number, and read as an acquire before the second look at it. `waited` is a release
/// after `waits_since` and read as an acquire before it.
struct alignas(64) slot {
    std::atomic<std::uint64_t> owner;
    std::atomic<std::uint64_t> state;
    std::atomic<std::uint64_t> yields;  ///< calls of sched_yield
    hold_word held;
    std::atomic<std::uint64_t> passed;
    std::atomic<std::uint64_t> passed_at;
    std::atomic<std::uint64_t> waited;       ///< ns of all timed waits that have ended
    std::atomic<std::uint64_t> waits_since;  ///< the beginning of the one that goes on; 0: none

    [[nodiscard]] pid_t thread() const noexcept {
        return static_cast<pid_t>(static_cast<std::uint32_t>(owner.load(std::memory_order_acquire)));
    }
    [[nodiscard]] wait_state waits() const noexcept {
        const std::uint64_t word = state.load(std::memory_order_relaxed);
        return {static_cast<std::uint32_t>(word >> 32), static_cast<std::uint32_t>(word)};
    }
    /// Nanoseconds of all timed waits until `now`.
    [[nodiscard]] std::uint64_t waited_until(std::uint64_t now) const noexcept {
        const std::uint64_t ended = waited.load(std::memory_order_acquire);
        const std::uint64_t since = waits_since.load(std::memory_order_relaxed);
        return since == 0 || since > now ? ended : ended + (now - since);
    }
    /// False while the owner writes it, or where it was killed then.
    [[nodiscard]] bool read_progress(progress& into) const noexcept {
        const std::uint64_t before = passed.load(std::memory_order_acquire);
        into = {before / 2, passed_at.load(std::memory_order_acquire)};
        return before % 2 == 0 && passed.load(std::memory_order_relaxed) == before;
    }
};

/// How fast CPUs are, for loops that are shared out by it.
///
/// Invariant: `sequence` is odd while the controller writes, and 0 until it has written once. Memory orders:
/// each stored value is a release after the odd number and each read of one is an acquire before the second
/// look at the number. Who has read one new value therefore sees at least the odd number, and throws away
/// what it read.
struct cpu_weights {
    std::atomic<std::uint32_t> sequence;
    std::atomic<std::uint32_t> cpus;  ///< how many weights count; 0: share out equally
    std::array<std::atomic<std::uint32_t>, most_cpus> weights;  ///< of CPU k; any unit, 0: not used
};

/// What threads did that live for one step of a program: whoever forks them waits until all have ended.
///
/// Invariant: `last` has the number of steps (its low 20 bits) and the time of the last one (16 ns each; the
/// rest) in one word, so who reads it has the time that belongs to the number. It changes by
/// compare-exchange, and its number goes up by one each time. Memory orders: no other data hang on any of
/// these, so all are relaxed.
struct step_account {
    std::atomic<std::uint64_t> last;
    std::atomic<std::uint64_t> ended;        ///< threads
    std::atomic<std::uint64_t> handed_over;  ///< times that one of them was put on the CPU of another
    std::atomic<std::uint32_t> hand_over;    ///< by the controller: who ends hands its CPU over
    std::atomic<std::uint64_t> asked;        ///< threads that told their CPU time: few do
    /// CPU time of those that ended on CPU k, in ns.
    std::array<std::atomic<std::uint64_t>, most_cpus> ran;
};

/// The whole page. All zero but for the first four words when it is new.
struct page {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t size;
    std::uint64_t pid_namespace;      ///< of the controller: thread ids of another one mean nothing to it
    std::atomic<std::uint32_t> used;  ///< slots from here on were never taken; it only grows
    cpu_weights cpu_speeds;
    alignas(64) std::array<slot, most_slots> slots;
    cpu_set_t given;                          ///< the program's own CPUs; written before it starts
    std::atomic<std::uint32_t> static_loops;  ///< by a process in which loops can be shared out by speed
    std::atomic<std::uint32_t> may_spin;      ///< the user has not set how long LLVM's OpenMP spins
    std::atomic<std::uint32_t> lending;       ///< threads that wait may lend their CPUs; see lending.hpp
    std::atomic<std::uint32_t> crowded;  ///< so many CPUs hold more threads than that, together; 0: none do
    std::atomic<std::uint32_t> waits_sleep;  ///< who waits in GCC's OpenMP shall sleep soon
    /// Of CPU k, in any unit; 0: not known. Hints, so each is read for itself.
    std::array<std::atomic<std::uint32_t>, most_cpus> paces;
    /// Of loops that were shared out, by whoever sat on CPU k: the sum of its share times the region's ns.
    std::array<std::atomic<std::uint64_t>, most_cpus> shared_out;
    /// Of the thread in slot k: 1 + the CPU for which it takes parts of others' regions; 0: it is no such
    /// one.
    std::array<std::atomic<std::uint32_t>, most_slots> helps_on;
    std::atomic<std::uint64_t> in_a_row;  ///< regions whose parts were run in a row
    std::atomic<std::uint64_t> lent;      ///< times that a CPU was lent
    step_account steps;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
                  std::atomic<std::uint32_t>::is_always_lock_free,
              "words that processes share cannot have locks");
static_assert(sizeof(slot) == 64);

/// A number for the pid namespace of this process; 0 where /proc does not tell.
inline std::uint64_t this_pid_namespace() noexcept {
    struct stat found {};
    return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

/// A new page, for the controller; null with errno where there can be none. `descriptor` stays open as long
/// as processes may still start.
inline page* make_page(int& descriptor) noexcept {
    descriptor = memfd_create("tautochrone-balance", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (ftruncate(descriptor, sizeof(page)) == 0 &&
        fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        memory = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        const int why = errno;
        close(descriptor);
        descriptor = -1;
        errno = why;
        return nullptr;
    }
    auto* made = static_cast<page*>(memory);  // all zero is a valid page
    made->pid_namespace = this_pid_namespace();
    made->size = sizeof(page);
    made->version = page_version;
    made->magic = page_magic;
    return made;
}

/// The controller's page, for a process of the program; null where it is none that this version can use.
inline page* open_page(const char* path) noexcept {
    const int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0) return nullptr;
    struct stat found {};
    void* memory = MAP_FAILED;
    if (fstat(descriptor, &found) == 0 && found.st_size == sizeof(page)) {
        const int seals = fcntl(descriptor, F_GET_SEALS);
        if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0)
            memory = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    }
    close(descriptor);
    if (memory == MAP_FAILED) return nullptr;
    auto* opened = static_cast<page*>(memory);
    if (opened->magic == page_magic && opened->version == page_version && opened->size == sizeof(page) &&
        opened->pid_namespace == this_pid_namespace())
        return opened;
    munmap(memory, sizeof(page));
    return nullptr;
}

namespace detail {

inline std::uint64_t next_owner(std::uint64_t word, pid_t thread) noexcept {
    return ((word >> 32) + 1) << 32 | static_cast<std::uint32_t>(thread);
}

inline bool take(slot& one, std::uint64_t found, pid_t thread) noexcept {
    if (!one.owner.compare_exchange_strong(found, next_owner(found, thread), std::memory_order_acq_rel,
                                           std::memory_order_relaxed))
        return false;
    one.state.store(0, std::memory_order_relaxed);
    one.yields.store(0, std::memory_order_relaxed);
    one.held.bits.store(0, std::memory_order_relaxed);  // is_own
    one.passed.store(0, std::memory_order_relaxed);
    one.waited.store(0, std::memory_order_relaxed);
    one.waits_since.store(0, std::memory_order_relaxed);
    return true;
}

}  // namespace detail

/// A slot for the calling thread, whose id is `thread`; null when all are taken. A slot that carries this id
/// already is that of a thread that was killed, or of this process before it executed another program.
inline slot* claim_slot(page& shared, pid_t thread) noexcept {
    const std::uint32_t used = shared.used.load(std::memory_order_acquire);
    for (std::uint32_t k = 0; k < used && k < most_slots; ++k) {
        slot& one = shared.slots[k];
        const std::uint64_t word = one.owner.load(std::memory_order_relaxed);
        if (static_cast<std::uint32_t>(word) == static_cast<std::uint32_t>(thread) &&
            detail::take(one, word, thread)) {
            shared.helps_on[k].store(0, std::memory_order_relaxed);
            return &one;
        }
    }
    for (std::uint32_t k = 0; k < most_slots; ++k) {
        slot& one = shared.slots[k];
        const std::uint64_t word = one.owner.load(std::memory_order_relaxed);
        if (static_cast<std::uint32_t>(word) != 0 || !detail::take(one, word, thread)) continue;
        shared.helps_on[k].store(0, std::memory_order_relaxed);
        std::uint32_t seen = shared.used.load(std::memory_order_relaxed);
        while (seen <= k && !shared.used.compare_exchange_weak(seen, k + 1, std::memory_order_release,
                                                               std::memory_order_relaxed)) {
        }
        return &one;
    }
    return nullptr;
}

/// By the owner, when its thread ends.
inline void leave_slot(slot& one) noexcept {
    std::uint64_t word = one.owner.load(std::memory_order_relaxed);
    one.state.store(0, std::memory_order_relaxed);
    one.owner.compare_exchange_strong(word, detail::next_owner(word, 0), std::memory_order_release,
                                      std::memory_order_relaxed);
}

/// By the controller, for a thread that ended without leaving. `thread_exists` is asked with the thread's id
/// after the slot was read, so that a thread which took the slot since keeps it. True when the slot became
/// free.
template <class Exists>
bool free_dead_slot(slot& one, Exists thread_exists) {
    std::uint64_t word = one.owner.load(std::memory_order_acquire);
    const auto thread = static_cast<pid_t>(static_cast<std::uint32_t>(word));
    if (thread == 0 || thread_exists(thread)) return false;
    return one.owner.compare_exchange_strong(word, detail::next_owner(word, 0), std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
}

/// By the owner alone.
inline void begin_wait(slot& one) noexcept {
    const std::uint64_t word = one.state.load(std::memory_order_relaxed);
    one.state.store(word + (std::uint64_t{1} << 32) + 1, std::memory_order_relaxed);
}

inline void end_wait(slot& one) noexcept {
    const std::uint64_t word = one.state.load(std::memory_order_relaxed);
    if (static_cast<std::uint32_t>(word) != 0) one.state.store(word - 1, std::memory_order_relaxed);
}

/// By the owner alone.
inline void pass(slot& one, std::uint64_t now) noexcept {
    const std::uint64_t before = one.passed.load(std::memory_order_relaxed) & ~std::uint64_t{1};
    one.passed.store(before + 1, std::memory_order_relaxed);
    one.passed_at.store(now, std::memory_order_release);
    one.passed.store(before + 2, std::memory_order_release);
}

/// By the owner alone: it was left out of regions that others of its team came past, and is one of them
/// again. The time stays that of the last place that it came past itself.
inline void catch_up(slot& one, std::uint64_t places) noexcept {
    const std::uint64_t before = one.passed.load(std::memory_order_relaxed);
    if (before / 2 < places) one.passed.store(2 * places, std::memory_order_release);
}

/// By the owner alone, at both ends of a wait that is timed.
inline void begin_timed_wait(slot& one, std::uint64_t now) noexcept {
    one.waits_since.store(now, std::memory_order_relaxed);
}

inline void end_timed_wait(slot& one, std::uint64_t now) noexcept {
    const std::uint64_t since = one.waits_since.load(std::memory_order_relaxed);
    if (since == 0) return;
    const std::uint64_t before = one.waited.load(std::memory_order_relaxed);
    one.waits_since.store(0, std::memory_order_relaxed);
    one.waited.store(before + (now - since), std::memory_order_release);
}

namespace detail {

constexpr unsigned step_bits = 20;
constexpr unsigned step_time_shift = 4;

}  // namespace detail

/// By whoever begins another step, at `now`.
inline void note_step(step_account& of, std::uint64_t now) noexcept {
    constexpr std::uint64_t most = (std::uint64_t{1} << detail::step_bits) - 1;
    std::uint64_t before = of.last.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
        next = now >> detail::step_time_shift << detail::step_bits | ((before + 1) & most);
    } while (!of.last.compare_exchange_weak(before, next, std::memory_order_relaxed));
}

/// How many there were, modulo 2^20, and when the last one was over, modulo 2^48 ns.
inline progress read_steps(const step_account& of) noexcept {
    const std::uint64_t word = of.last.load(std::memory_order_relaxed);
    return {word & ((std::uint64_t{1} << detail::step_bits) - 1),
            word >> detail::step_bits << detail::step_time_shift};
}

/// What there was between two readings.
inline progress steps_between(const progress& before, const progress& after) noexcept {
    return {(after.passed - before.passed) & ((std::uint64_t{1} << detail::step_bits) - 1),
            (after.at - before.at) & ((std::uint64_t{1} << 48) - 1)};
}

/// By the controller alone. `count` weights; 0 of them: loops are shared out equally again.
inline void publish_speeds(cpu_weights& to, const std::uint32_t* weights, std::uint32_t count) noexcept {
    if (count > most_cpus) count = most_cpus;
    const std::uint32_t before = to.sequence.load(std::memory_order_relaxed);
    // Odd already: the controller before this one was killed while it wrote.
    const std::uint32_t odd = before | 1;
    to.sequence.store(odd, std::memory_order_relaxed);
    to.cpus.store(count, std::memory_order_release);
    for (std::uint32_t k = 0; k < count; ++k) to.weights[k].store(weights[k], std::memory_order_release);
    to.sequence.store(odd + 1, std::memory_order_release);
}

/// Nobody is placed any more. By the controller, or by its guard where it was killed.
inline void let_go(page& shared) noexcept {
    shared.lending.store(0, std::memory_order_release);
    shared.crowded.store(0, std::memory_order_relaxed);
    shared.waits_sleep.store(0, std::memory_order_relaxed);
    shared.steps.hand_over.store(0, std::memory_order_relaxed);
    if (shared.cpu_speeds.cpus.load(std::memory_order_relaxed) != 0)
        publish_speeds(shared.cpu_speeds, nullptr, 0);
}

/// The weights as they were at one moment, into room for `most_cpus`: how many there are, with their sequence
/// number; 0 where none are published, or the controller writes at this moment or was killed while it wrote.
inline std::uint32_t read_speeds(const cpu_weights& from, std::uint32_t* weights,
                                 std::uint32_t& sequence) noexcept {
    for (int attempt = 0; attempt < 8; ++attempt) {
        sequence = from.sequence.load(std::memory_order_acquire);
        if (sequence == 0 || sequence % 2 != 0) continue;
        std::uint32_t count = from.cpus.load(std::memory_order_acquire);
        if (count > most_cpus) count = most_cpus;
        for (std::uint32_t k = 0; k < count; ++k)
            weights[k] = from.weights[k].load(std::memory_order_acquire);
        if (from.sequence.load(std::memory_order_relaxed) == sequence) return count;
    }
    sequence = 0;
    return 0;
}

}  // namespace tauto::balance
