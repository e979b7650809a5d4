// How members meet: the protocol whose table and invariant stand in collectives.hpp, and what it refuses.

#include <tauto/collectives.hpp>

#include <sched.h>

#include <iterator>
#include <string>
#include <utility>

#include <tauto/member.hpp>

#include "forks.hpp"
#include "unwinding.hpp"

namespace tauto {
namespace detail {
namespace {

// Shortly before the wrap-around, so that every program with a thousand meetings crosses it.
constexpr std::uint32_t first_epoch = epoch_mask - 1000;

// Members in a group of the tournament.
constexpr int group_size = 4;

const char* name_of(std::uint32_t tag) {
    constexpr const char* names[] = {"barrier", "broadcast", "all_reduce", "all_gather", "reduce_scatter",
                                     "scan",    "peers",     "arrive",     "all_gather"};
    return names[tag >> 28 < std::size(names) ? tag >> 28 : 1];
}

std::string length_of(std::uint32_t tag) {
    const std::uint32_t length = tag & (2 * exact_lengths - 1);
    return length < exact_lengths ? std::to_string(length) : std::to_string(exact_lengths) + " or more";
}

std::string elements_of(std::uint32_t tag) {
    const std::uint32_t element = tag >> 24 & 15;
    if (element >= larger_elements && element < floats) return "large elements";
    return std::to_string(1U << (element & 7)) + "-byte " + (element < floats ? "elements" : "floats");
}

// Among `size` members.
std::string call_of(std::uint32_t tag, int size) {
    std::string text = name_of(tag);
    if (text == "broadcast") {
        const int root = tag >> 28 == 1 ? 0 : static_cast<int>(tag >> 28) - 8;
        text += " from rank " + std::to_string(root);
        if (root > 0 && root + other_roots < size) text += " (or " + std::to_string(other_roots) + " more)";
    }
    const auto what = static_cast<operation>(tag >> 28);
    if (what == operation::gather_bounds)
        text += " with bounds of its own";
    else if (what != operation::barrier && what != operation::scan && what != operation::peers &&
             what != operation::split_barrier)
        text += " with a length of " + length_of(tag) + " of " + elements_of(tag);
    return text;
}

bool shows(std::uint32_t word, std::uint32_t epoch) noexcept {
    return word >> 2 == epoch;
}

// Asks for a line that this member will write soon: the request runs beside the wait.
void own_soon([[maybe_unused]] const void* line) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
    __builtin_prefetch(line, 1);
#endif
}

void set_word(std::atomic<std::uint32_t>& word, std::uint32_t epoch, std::uint32_t bits) noexcept {
    // Releases all that this member wrote; pairs with the acquire loads in await and await_long. An exchange,
    // because bit 0 says that a member sleeps.
    const std::uint32_t value = (epoch & epoch_mask) << 2 | bits;
    if ((word.exchange(value, std::memory_order_acq_rel) & waiting_bit) != 0) futex_wake_all(word);
}

}  // namespace

collectives::collectives(int members, bool more_members_than_cpus, wait_policy policy)
    : size(members), oversubscribed(more_members_than_cpus), wait(policy) {
    const auto count = usize(members);
    lines = std::make_unique<member_lines_of_team[]>(count);
    // Not written here: a page belongs to the memory of the member that first writes it.
    buffers = std::make_unique_for_overwrite<copy_buffer[]>(2 * count);
    constexpr std::size_t in_lines = 128 / sizeof(published_span);
    table_row = (count + in_lines - 1) / in_lines * in_lines;
    tables = std::make_unique<published_span[]>(count * table_row);
    failures = std::make_unique<std::exception_ptr[]>(count);
    reset();
}

void collectives::reset() noexcept {
    for (int rank = 0; rank < size; ++rank) {
        member_lines_of_team& own = at(lines, rank);
        for (std::atomic<std::uint32_t>* word : {&own.slots[0].word, &own.slots[1].word, &own.released.word})
            word->store(first_epoch << 2, std::memory_order_relaxed);
    }
    start_epoch = first_epoch;
    fork_generation = current_fork_generation();
    (void)take_failure();
}

void collectives::fail(int rank, std::exception_ptr what) noexcept {
    std::exception_ptr& own = at(failures, rank);
    if (own == nullptr) own = thrown_by_body(std::move(what));
    failed.store(true, std::memory_order_release);
}

std::exception_ptr collectives::take_failure() noexcept {
    if (!failed.load(std::memory_order_relaxed)) return nullptr;
    failed.store(false, std::memory_order_relaxed);
    std::exception_ptr lowest;
    for (int rank = size - 1; rank >= 0; --rank) {
        std::exception_ptr one = std::exchange(at(failures, rank), nullptr);
        if (one != nullptr) lowest = std::move(one);
    }
    return lowest;
}

void refuse_length(operation what, int rank, const char* argument, std::size_t length, std::size_t expected,
                   const char* why) {
    throw error(std::string(name_of(tag_of(what, 0))) + " on rank " + std::to_string(rank) + ": " + argument +
                " has a length of " + std::to_string(length) + ", expected " + std::to_string(expected) +
                ", " + why);
}

void refuse_root(int rank, int root, int size) {
    throw error("broadcast on rank " + std::to_string(rank) + ": root " + std::to_string(root) +
                " is not a rank; expected 0 to " + std::to_string(size - 1));
}

void refuse_phase(int rank, bool arrived) {
    throw error("rank " + std::to_string(rank) +
                (arrived ? " has arrived at a split barrier; it must call wait before any other collective"
                         : " called wait without an arrive before it"));
}

void check_bounds(int rank, int size, std::size_t part, std::size_t whole, std::span<const index> bounds) {
    const std::string where = "all_gather on rank " + std::to_string(rank) + ": ";
    const auto members = usize(size);
    check_length(operation::all_gather, rank, "bounds", bounds.size(), members + 1, "members plus one");
    for (std::size_t i = 0; i <= members; ++i) {
        const index previous = i == 0 ? 0 : bounds[i - 1];
        if (bounds[i] >= previous) continue;
        throw error(where + "bounds[" + std::to_string(i) + "] is " + std::to_string(bounds[i]) +
                    ", expected at least " + std::to_string(previous));
    }
    if (bounds[members] > static_cast<index>(whole)) {
        throw error(where + "whole has a length of " + std::to_string(whole) + ", expected at least " +
                    std::to_string(bounds[members]) + ", the last bound");
    }
    const auto self = usize(rank);
    check_length(operation::all_gather, rank, "part", part, usize(bounds[self + 1] - bounds[self]),
                 "this rank's bounds");
}

}  // namespace detail

using namespace detail;

member::member(const std::stop_token* stop) noexcept : stop_(stop), budget_(wait_policy::passive) {}

member::member(collectives& shared, int rank) noexcept
    : shared_(&shared),
      stop_(shared.stop),
      table_(&shared.tables[usize(rank) * shared.table_row]),
      epoch_(shared.start_epoch),
      rank_(rank),
      size_(shared.size),
      budget_(shared.wait) {}

arrival member::arrive() {
    open<std::byte>(operation::split_barrier, 0);
    coming_lines_ = 0;
    if (size_ > 1) announce();
    phase_ = phase::arrived;
    return arrival();
}

// Rows, whatever the team's shape: then no arrival depends on a member that is still computing.
void member::wait(arrival) {
    if (phase_ != phase::arrived) refuse_phase();
    if (size_ > 1) await_rows();
    phase_ = phase::between;
}

void member::meet(std::size_t copied) {
    coming_lines_ =
        static_cast<std::uint32_t>(std::min(most_coming_lines, (copied + line_bytes - 1) / line_bytes));
    if (shared_->shape == barrier_shape::rows) {
        announce();
        await_rows();
    } else {
        pass_tournament();
    }
    phase_ = phase::between;
}

void member::meet_last() {
    meet();
    if (!shared_->failed.load(std::memory_order_relaxed)) [[likely]]
        return;
    phase_ =
        phase::gathering;  // ends the phase for losers of the tournament, and allows no further operation
    throw released{};
}

void member::announce() noexcept {
    phase_ = phase::announced;
    epoch_ = (epoch_ + 1) & epoch_mask;
    arrival_slot& own = slot_of(rank_);
    own.tag = tag_;  // not before: a member that looks at the word would take the line away again
    set_word(own.word, epoch_, 0);
    // By now nearly always all members have read what it held in the epoch before.
    own_soon(&next_slot());
    const std::byte* buffer = shared_->buffer(rank_, epoch_ + 1);
    for (std::uint32_t line = 0; line < coming_lines_; ++line) own_soon(buffer + line * line_bytes);
}

// Beside the look at the arrival, not after it: what the owner wrote before it arrived then comes with the
// arrival. Lines that were asked for too early are fetched again.
void member::ask_for_buffer(int of, std::uint32_t epoch) const noexcept {
    const std::byte* buffer = shared_->buffer(of, epoch);
    for (std::uint32_t line = 0; line < coming_lines_; ++line) __builtin_prefetch(buffer + line * line_bytes);
}

void member::await_rows() {
    phase_ = phase::announced;
    for (int step = 1; step < size_; ++step) {
        const int other = rank_ + step < size_ ? rank_ + step : rank_ + step - size_;
        await(slot_of(other).word, epoch_, other);
    }
    for (int other = 0; other < size_; ++other) {
        if (other == rank_) continue;
        const std::uint32_t theirs = slot_of(other).tag;
        if (theirs != tag_) [[unlikely]]
            refuse_tag(theirs, other);
    }
}

// Groups of `group_size` ranks, then groups of the groups' first ranks, and so on. The first of a group waits
// for the others; each other member arrives and waits until its first lets it go on.
void member::pass_tournament() {
    phase_ = phase::gathering;
    const std::uint32_t epoch = (epoch_ + 1) & epoch_mask;
    int winner = rank_;
    for (int stride = 1; stride < size_ && winner == rank_; stride *= group_size) {
        winner = rank_ - rank_ % (stride * group_size);
        if (winner != rank_) break;
        for (int loser = rank_ + stride; loser < std::min(size_, rank_ + stride * group_size);
             loser += stride) {
            arrival_slot& theirs = at(shared_->lines, loser).slots[epoch & 1];
            await(theirs.word, epoch, loser);
            if (theirs.tag != tag_) [[unlikely]]
                refuse_tag(theirs.tag, loser);
        }
    }
    announce();
    if (winner != rank_) await(at(shared_->lines, winner).released.word, epoch, winner);
    if (rank_ % group_size == 0) set_word(at(shared_->lines, rank_).released.word, epoch, 0);
}

void member::await(std::atomic<std::uint32_t>& word, std::uint32_t epoch, int of) {
    // Some round trips long. A PAUSE between two looks leaves the line to its writer: a barrier of two cores
    // takes 126 ns here, and 142 ns without.
    const int polls = shared_->oversubscribed ? 1 : 32;
    for (int poll = 0; poll < polls; ++poll) {
        if (shows(word.load(std::memory_order_acquire), epoch)) return;
        ask_for_buffer(of, epoch);
        if (poll + 1 < polls) relax();
    }
    await_long(word, epoch, of);
}

void member::await_long(std::atomic<std::uint32_t>& word, std::uint32_t epoch, int of) {
    static const std::int64_t eager_ticks = to_ticks(std::chrono::microseconds(2));
    static const std::int64_t crowded_ticks = to_ticks(std::chrono::microseconds(100));
    // With more members than CPUs no member spins: the CPU goes at once to the member that is waited for.
    const std::int64_t eager = shared_->oversubscribed ? 0 : eager_ticks;
    const std::int64_t limit = shared_->oversubscribed ? crowded_ticks : budget_.ticks();
    const std::int64_t start = ticks();
    std::uint32_t seen = 0;
    const auto arrived = [&](int polls) {
        for (int poll = 0; poll < polls; ++poll) {
            seen = word.load(std::memory_order_acquire);
            if (shows(seen, epoch)) return true;
        }
        return false;
    };
    while (!arrived(32)) {
        throw_if_left(seen, epoch, of);
        const std::int64_t waited = ticks() - start;
        // A peer whose CPU runs something else does not arrive sooner because this member watches it.
        if (waited > limit || waited < 0) {  // see spin_while_equal
            park(word, seen);
        } else if (waited >= eager) {
            sched_yield();
        }
    }
    budget_.learn(ticks() - start);
}

void member::park(std::atomic<std::uint32_t>& word, std::uint32_t seen) const {
    if (shared_->fork_generation != current_fork_generation()) {
        throw error(
            "fork() was called inside a body of team::run: the other members do not exist in the child, so "
            "no collective can end there; leave the child with _exit or exec");
    }
    const std::uint32_t asleep = seen | waiting_bit;
    if (seen != asleep && !word.compare_exchange_strong(seen, asleep, std::memory_order_acquire)) return;
    futex_wait(word, asleep);
}

// Marks of an earlier run are not heard, however long this run is: see "leaves" in collectives.hpp.
void member::throw_if_left(std::uint32_t seen, std::uint32_t epoch, int of) const {
    if ((seen & left_bit) == 0 || ((epoch - (seen >> 2)) & epoch_mask) > 2) return;
    if (shared_->failed.load(std::memory_order_relaxed)) throw released{};
    throw error("rank " + std::to_string(of) + " has returned from the body while rank " +
                std::to_string(rank_) + " waits for it in a collective; all members must call the same ones");
}

// Written where the others look for the next epoch, with an epoch that is over for all members that wait
// there. Pairs with the loads in await_long: a member that sees that this one has left sees `failed` too.
void member::leave() noexcept {
    if (size_ == 1) return;
    member_lines_of_team& own = at(shared_->lines, rank_);
    set_word(next_slot().word, epoch_ - 1, left_bit);
    if (shared_->shape == barrier_shape::tournament) {
        const bool let_go = phase_ == phase::between || phase_ == phase::gathering;
        set_word(own.released.word, let_go ? epoch_ : epoch_ - 1, left_bit);
    }
}

void member::check_stop() const {
    if (stop_->stop_requested()) throw stopped("the run was stopped before its end");
}

void member::refuse_phase() const {
    if (phase_ == phase::arrived || phase_ == phase::between)
        detail::refuse_phase(rank_, phase_ == phase::arrived);
    if (shared_->failed.load(std::memory_order_relaxed)) throw released{};
    throw error("rank " + std::to_string(rank_) +
                " cannot meet the others any more: one of its collectives has failed");
}

void member::refuse_tag(std::uint32_t theirs, int of) {
    phase_ = phase::gathering;
    throw error(call_of(tag_, size_) + " on rank " + std::to_string(rank_) + ", but rank " +
                std::to_string(of) + " called " + call_of(theirs, size_) +
                "; expected the same on all members");
}

void member::read_table() noexcept {
    for (int of = 0; of < size_; ++of) table_[of] = load_bytes<published_span>(payload_of(of));
}

}  // namespace tauto
