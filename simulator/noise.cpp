#include "noise.hpp"

#include <algorithm>

namespace tauto::sim {

// splitmix64
double chance(std::uint64_t who, std::uint64_t when) {
    std::uint64_t mixed = (when << 20U) + who + 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return static_cast<double>((mixed ^ (mixed >> 31U)) >> 11U) * 0x1p-53;
}

nanoseconds noise::length(int thread, nanoseconds tick) const {
    double left = chance(static_cast<std::uint64_t>(thread), static_cast<std::uint64_t>(tick));
    for (std::size_t i = 0; i < shares.size(); ++i) {
        left -= shares[i];
        if (left < 0) return lengths[i];
    }
    return lengths.empty() ? 0 : lengths.back();
}

nanoseconds noise::finish(int thread, nanoseconds at, nanoseconds work) const {
    if (period == 0) return at + work;
    nanoseconds tick = at / period;
    if (tick > 0) at = std::max(at, tick * period + length(thread, tick));  // in the middle of one
    for (;;) {
        const nanoseconds next = ++tick * period;
        if (at + work <= next) return at + work;
        work -= next - at;
        at = next + length(thread, tick);
    }
}

nanoseconds noise::served(int thread, nanoseconds from, nanoseconds to) const {
    nanoseconds taken = 0;
    if (period > 0) {
        for (nanoseconds tick = std::max<nanoseconds>(1, from / period); tick * period < to; ++tick) {
            const nanoseconds end = std::min(to, tick * period + length(thread, tick));
            taken += std::max<nanoseconds>(0, end - std::max(from, tick * period));
        }
    }
    return to - from - taken;
}

}  // namespace tauto::sim
