#pragma once
// Who decides where a thread runs: the program, the controller, or a thread of the program that has nothing
// to do. A word in shared memory; see page.hpp.

#include <sched.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>

namespace tauto::balance {

enum hold_state : std::uint8_t {
    is_own,        ///< it has the program's mask
    is_asked,      ///< the controller looks whether it may change its mask
    becomes_held,  ///< the controller changes its mask
    is_held,       ///< it stays on its seat, or on several CPUs
    is_moving,     ///< a thread of the program changes its mask
    is_guest,      ///< it is on the CPU of a thread that waits
    is_guarded,    ///< the controller's guard gives it the program's mask again
    stays_own,     ///< it has the program's mask, and everybody leaves it
};

/// What a word says.
struct hold_value {
    hold_state state = is_own;
    std::uint8_t mover = 0;  ///< `is_moving`: the lower bits of who moves it, see `set_mover`
    std::uint16_t seat = 0;  ///< 1 + the CPU on which it is held; 0: on several
    std::uint16_t on = 0;    ///< 1 + the CPU to which it was put last
    std::uint16_t next = 0;  ///< `is_moving`: 1 + the CPU to which it is put (`goal`), and the bits above it
};
static_assert(sizeof(hold_value) == sizeof(std::uint64_t));
/// A bit of `next`: another thread looks whether the mask is that of the goal, to go on from there.
constexpr std::uint16_t is_claimed = 0x8000;
/// The bits of `next` that are the goal. The three above them are the upper ones of who moves it.
constexpr std::uint16_t goal_bits = 0x07ff;

/// Of one thread. The controller goes from `is_own` over `is_asked` and `becomes_held` to `is_held`, and from
/// there over `becomes_held` to `is_own`; back at once where it only moves it. A thread of the program that
/// waits may lend its CPU to one that is held: from `is_held` over `is_moving` to `is_guest`, and back. One
/// that ends may put a thread of its process that is not held on its CPU: from `is_own` over `is_moving` back
/// at once. The thread itself goes to `stays_own` before it starts what would inherit its mask.
///
/// Invariant: who changes the mask of a thread has first brought its word to a value that is his alone: a
/// word with `becomes_held` is the controller's, with `is_guarded` its guard's, with `is_moving` that of
/// the one who set it, with `stays_own` the thread's. Nobody else changes such a word, but for two things.
/// Who waited for too long takes it away, because the one who had it may have been killed. And once the mask
/// is that of `goal`, any thread of the program may go on from there: whoever moves a thread to his own CPU
/// may lose it to that thread before he has changed the word. That other one claims the word, looks at the
/// mask, and leaves the word as it was where the mask is another: it may say a later move to the same CPU,
/// whose mask is not set yet. The word says whose move it is, so no two moves under way have the same. Who
/// has set a mask and finds another word ends his move where the word says it again. Else he takes the word
/// once more, and gives the thread the program's mask unless the mask has changed or is what the word says.
/// Whoever was killed, the mask is the program's or that of `seat`, `on` or `goal`. verify/hold.pml has the
/// steps.
///
/// Memory orders: each change is an acquire and a release, so that a change of the mask stays between those
/// of the word. No other data hang on it: who only chooses a thread reads it relaxed, and compares the whole
/// word when he changes it.
struct hold_word {
    std::atomic<std::uint64_t> bits;

    [[nodiscard]] hold_value read(std::memory_order order = std::memory_order_acquire) const noexcept {
        return std::bit_cast<hold_value>(bits.load(order));
    }
    /// False: it says something else meanwhile.
    bool change(hold_value from, hold_value to) noexcept {
        auto expected = std::bit_cast<std::uint64_t>(from);
        return bits.compare_exchange_strong(expected, std::bit_cast<std::uint64_t>(to),
                                            std::memory_order_acq_rel);
    }
};

/// The mask with this CPU alone.
inline cpu_set_t only_on(std::uint32_t cpu) noexcept {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    return mask;
}

/// Whether the thread has the program's mask, as long as its word says that.
inline bool has_programs_mask(hold_state state) noexcept {
    return state == is_own || state == is_asked || state == stays_own;
}

namespace detail {

constexpr int most_pauses = 1000;  // whoever has the word may have been killed

inline hold_value with(hold_value one, hold_state state) noexcept {
    one.state = state;
    return one;
}

}  // namespace detail

/// By the controller, before it looks whether the thread has the program's mask. False: it may not.
inline bool begin_hold(hold_word& word) noexcept {
    return word.change({}, {.state = is_asked});
}

/// When it has, before the controller gives it another. `seat`: 1 + the CPU, or 0.
inline bool confirm_hold(hold_word& word, std::uint16_t seat) noexcept {
    return word.change({.state = is_asked}, {.state = becomes_held, .seat = seat, .on = seat});
}

/// When it is done. False: the thread wants its own mask, so it must be given back.
inline bool end_hold(hold_word& word) noexcept {
    const hold_value found = word.read();
    return found.state == becomes_held && word.change(found, detail::with(found, is_held));
}

/// Before the thread gets the program's mask again: by the controller (`by`: becomes_held) or its guard
/// (is_guarded). What the word said; nothing where the thread is not held, or not any more.
template <class Pause>
std::optional<hold_value> begin_release(hold_word& word, hold_state by, Pause pause) noexcept {
    for (int pauses = 0;;) {
        const hold_value found = word.read();
        if (found.state == is_own || found.state == stays_own) return std::nullopt;
        if (found.state == is_moving && pauses++ < detail::most_pauses)
            pause();
        else if (found.state == is_asked && word.change(found, {}))
            return std::nullopt;
        else if (found.state != is_asked && word.change(found, detail::with(found, by)))
            return found;
    }
}

/// When it has: by the same.
inline void leave_hold(hold_word& word) noexcept {
    const hold_value found = word.read();
    if (found.state == is_asked || found.state == becomes_held || found.state == is_guarded)
        word.change(found, {});
}

namespace detail {

inline hold_value sitting(std::uint16_t seat, std::uint16_t on) noexcept {
    return {.state = on == seat ? is_held : is_guest, .seat = seat, .on = on};
}

}  // namespace detail

/// 1 + the CPU to which a thread with such a word is put.
inline std::uint16_t goal(hold_value moving) noexcept {
    return moving.next & goal_bits;
}

/// `mover`: 1 + the place of the slot of the thread that moves it.
inline void set_mover(hold_value& moving, std::uint32_t mover) noexcept {
    moving.mover = static_cast<std::uint8_t>(mover & 0xff);
    moving.next = static_cast<std::uint16_t>(goal(moving) | ((mover >> 8 & 7) << 11));
}

/// Where the thread is, or will be when it has been put there.
inline hold_value settled(hold_value found) noexcept {
    return found.state == is_moving ? detail::sitting(found.seat, goal(found)) : found;
}

/// Whether another thread may go on with this move once it sees the mask of its goal. What is given back
/// goes to no CPU.
inline bool may_go_on(hold_value moving) noexcept {
    return moving.state == is_moving && (moving.next & is_claimed) == 0 && goal(moving) != 0 &&
           goal(moving) != moving.on;
}

/// By a thread of the program that puts the thread on another CPU, after it has read `found`, which is no
/// move or one that it may go on with. `mover`: see set_mover. is_on(cpu): whether the thread has the mask of
/// CPU `cpu` - 1; called for a move to go on with. What the word says then; nothing where it says something
/// else by now, or the mask of the move is not set.
template <class IsOn>
std::optional<hold_value> begin_move(hold_word& word, hold_value found, std::uint16_t next,
                                     std::uint32_t mover, IsOn is_on) noexcept {
    hold_value mine = found;
    if (found.state == is_moving) {
        mine.next |= is_claimed;
        if (!word.change(found, mine)) return std::nullopt;
        if (!is_on(goal(found))) {
            word.change(mine, found);
            return std::nullopt;
        }
    }
    hold_value moving = detail::with(settled(mine), is_moving);
    moving.next = next;
    set_mover(moving, mover);
    if (!word.change(mine, moving)) return std::nullopt;
    return moving;
}

/// When it has. False: the word is somebody else's by now, perhaps for a moment; see begin_giving_back.
inline bool end_move(hold_word& word, hold_value moving, hold_state to) noexcept {
    return word.change(moving, {.state = to, .seat = moving.seat, .on = goal(moving)});
}

/// When it has not, and does not: the word says `from` again. `pause` is called while another thread claims
/// the move.
template <class Pause>
void cancel_move(hold_word& word, hold_value moving, hold_value from, Pause pause) noexcept {
    for (int pauses = 0; !word.change(moving, from) && pauses < detail::most_pauses; ++pauses) {
        hold_value found = word.read();
        found.next &= static_cast<std::uint16_t>(~is_claimed);
        if (std::bit_cast<std::uint64_t>(found) != std::bit_cast<std::uint64_t>(moving)) return;
        pause();
    }
}

/// A word in the hands of a thread of the program that has set a mask and found another word then.
struct taken_word {
    hold_value was;
    hold_value now;
};

/// Before it gives the thread the program's mask in place of that of CPU `set` - 1. `lost`: it has waited for
/// so long that whoever moves the thread must have been killed. Nothing where the word is another's, or says
/// what was set. `mover`: see set_mover.
inline std::optional<taken_word> begin_giving_back(hold_word& word, std::uint16_t set, std::uint32_t mover,
                                                   bool lost) noexcept {
    const hold_value found = word.read();
    const bool sits = found.state == is_held || found.state == is_guest;
    taken_word taken;
    if (sits && found.on != set)
        taken.was = found;
    else if (found.state == is_moving && lost)
        taken.was = detail::sitting(found.seat, found.on);
    else if (found.state == is_own || found.state == is_asked)
        taken.was = {};
    else
        return std::nullopt;
    taken.now = has_programs_mask(found.state) ? hold_value{.state = is_moving, .seat = set, .on = set}
                                               : detail::with(taken.was, is_moving);
    set_mover(taken.now, mover);
    if (!word.change(found, taken.now)) return std::nullopt;
    return taken;
}

/// When it has.
inline void end_giving_back(hold_word& word, const taken_word& taken) noexcept {
    word.change(taken.now, taken.was);
}

/// By a thread of the program that puts another one, which nobody holds, on CPU `to` - 1 and gives it the
/// program's mask back at once; before it looks at that mask, and up to end_giving_back. Both threads belong
/// to one process: a kill ends both, so none is left with a narrow mask. Nothing where somebody has the word.
/// `mover`: see set_mover.
inline std::optional<taken_word> begin_pull(hold_word& word, std::uint16_t to, std::uint32_t mover) noexcept {
    taken_word taken{.was = {}, .now = {.state = is_moving, .seat = to, .on = to}};
    set_mover(taken.now, mover);
    if (!word.change(taken.was, taken.now)) return std::nullopt;
    return taken;
}

enum class refusal { was_own, was_held, was_refused };

/// By the thread itself: from here on everybody leaves its mask alone. `pause` is called while somebody
/// changes it, which takes some microseconds; not for ever, because he may be killed meanwhile.
template <class Pause>
refusal refuse_hold(hold_word& own, Pause pause) noexcept {
    for (int pauses = 0;;) {
        const hold_value found = own.read();
        if (found.state == stays_own) return refusal::was_refused;
        const bool changes =
            found.state == becomes_held || found.state == is_moving || found.state == is_guarded;
        if (changes && pauses++ < detail::most_pauses)
            pause();
        else if (own.change(found, {.state = stays_own}))
            return has_programs_mask(found.state) ? refusal::was_own : refusal::was_held;
    }
}

/// By the thread itself, after refuse_hold.
inline void allow_hold(hold_word& own) noexcept {
    own.change({.state = stays_own}, {});
}

}  // namespace tauto::balance
