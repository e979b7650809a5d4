#pragma once
// What a program gets of a slowed CPU, seen from a program's place.

#include <optional>

#include "emulator/thief.hpp"

namespace tauto::emulate {

// The turns of a thief: how long one takes, and how much of it others are to get.
struct turns_seen {
    nanoseconds length;
    double free_share;
    int count;  // to look at
};

// Reads the clock again and again, from the end of one theft until that of another so many turns later. Two
// readings are some 10 ns apart; where they are farther, something took the CPU in between. Returns the share
// of the time that nothing took. Empty if one gap lasted several turns (the host), or no thief came.
template <class Clock>
std::optional<double> share_left(const turns_seen& turns, Clock&& clock) {
    constexpr nanoseconds own_step = 1'000;  // a shorter one has taken nothing
    constexpr int hardly_a_theft = 2;        // so many times shorter than a theft: an interrupt
    const auto stolen = static_cast<double>(turns.length) * (1.0 - turns.free_share);
    const nanoseconds theft = static_cast<nanoseconds>(stolen) / hardly_a_theft;
    const nanoseconds first = clock();
    const nanoseconds patience = first + (turns.count + 3) * 2 * turns.length;
    nanoseconds began = 0;
    nanoseconds own = 0;
    for (nanoseconds last = first; last < patience;) {
        const nanoseconds now = clock();
        const nanoseconds step = now - last;
        last = now;
        if (step > 3 * turns.length) return std::nullopt;
        if (step < own_step) own += step;
        if (step < theft) continue;
        if (began == 0) {
            began = now;
            own = 0;
        } else if (now - began > turns.count * turns.length - turns.length / 2) {
            return static_cast<double>(own) / static_cast<double>(now - began);
        }
    }
    return std::nullopt;
}

// The same, on `cpu`: the calling thread takes the place of all programs there, just below the thief, and
// then returns to where it was. Empty also without permission.
std::optional<double> witnessed_share(int cpu, const turns_seen& turns);

}  // namespace tauto::emulate
