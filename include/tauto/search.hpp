#pragma once
// The first chosen place of a range, by one thread: place by place, or a step of many places at once, whose
// answers are all made before any is looked at. Compilers make comparisons of whole registers of the latter.
//
// Which is faster depends on the predicate, on what the compiler made of it and on its flags. So a predicate
// whose calls are short is tried both ways, and the faster is kept. Long calls are never made in steps, which
// would waste those behind the found place.

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <tauto/always_inline.hpp>
#include <tauto/clock.hpp>
#include <tauto/range.hpp>
#include <tauto/signed.hpp>
#include <tauto/wide.hpp>

namespace tauto::detail {

// The first i of r with chosen(i), else r.end. Sixteen in a row: a loop's own work takes as long as a short
// predicate. The compiler is asked to repeat the one call: it would not inline sixteen of them in a program
// that is long already.
template <class Chosen>
[[nodiscard, gnu::noinline]] index search(range r, Chosen& chosen) {
    constexpr index row = 16;
    index i = r.begin;
    for (const index rows = i + (r.end - i) / row * row; i != rows; i += row) {
#pragma GCC unroll 16
        for (index k = 0; k < row; ++k)
            if (__builtin_expect(static_cast<bool>(chosen(i + k)), 0) != 0) return i + k;
    }
    while (i != r.end && !chosen(i)) ++i;
    return i;
}

// Elements that are numbers in an array: comparisons of them may be made of whole registers.
template <class In>
inline constexpr bool has_wide_answers = false;
template <class T>
inline constexpr bool has_wide_answers<T*> = std::is_arithmetic_v<T> && (sizeof(T) == 1 || sizeof(T) == 2 ||
                                                                         sizeof(T) == 4 || sizeof(T) == 8);

#if defined(__x86_64__)

// Answers take as much room as elements do: no bit when a place is not chosen, all when it is.
template <std::size_t Bytes>
using answer_of = std::conditional_t<
    Bytes == 1, std::int8_t,
    std::conditional_t<Bytes == 2, std::int16_t, std::conditional_t<Bytes == 4, std::int32_t, std::int64_t>>>;

template <std::size_t Bytes>
struct wide_step {
    using answer = answer_of<Bytes>;
    using part [[gnu::vector_size(wide_bytes)]] = answer;
    static constexpr std::size_t width = wide_bytes / Bytes;
    static constexpr std::size_t parts = Bytes < 4 ? 2 : 4;
    static constexpr index places = static_cast<index>(width * parts);
};

template <std::size_t Bytes, class Chosen, std::size_t... Places>
[[gnu::target("avx2")]] TAUTO_ALWAYS_INLINE inline void answer_part(typename wide_step<Bytes>::part& part,
                                                                    index begin, Chosen& chosen,
                                                                    std::index_sequence<Places...>) {
    using answer = answer_of<Bytes>;
    part = typename wide_step<Bytes>::part{
        (chosen(begin + static_cast<index>(Places)) ? answer{-1} : answer{0})...};
}

// A bit for each byte.
template <class Part>
[[gnu::target("avx2")]] TAUTO_ALWAYS_INLINE inline unsigned bytes_chosen(const Part& answers) {
    using bytes [[gnu::vector_size(wide_bytes)]] = char;
    return static_cast<unsigned>(__builtin_ia32_pmovmskb256(reinterpret_cast<bytes>(answers)));
}

// As search(), in steps. A step in which a call throws is done again place by place: an earlier place of it
// may be chosen.
template <std::size_t Bytes, class Chosen>
[[nodiscard, gnu::target("avx2"), gnu::noinline]] index search_wide(range r, Chosen& chosen) {
    using step = wide_step<Bytes>;
    index i = r.begin;
    try {
        for (; r.end - i >= step::places; i += step::places) {
            typename step::part answers[step::parts];
            typename step::part any{};
            for (std::size_t k = 0; k < step::parts; ++k) {
                answer_part<Bytes>(answers[k], i + static_cast<index>(k * step::width), chosen,
                                   std::make_index_sequence<step::width>());
                any |= answers[k];
            }
            if (__builtin_expect(bytes_chosen(any) != 0, 0) == 0) continue;
            for (std::size_t k = 0; k < step::parts; ++k) {
                if (const unsigned bytes = bytes_chosen(answers[k]); bytes != 0)
                    return i + static_cast<index>(k * step::width + usize(std::countr_zero(bytes)) / Bytes);
            }
        }
    } catch (...) {
        return search({i, r.end}, chosen);
    }
    while (i != r.end && !chosen(i)) ++i;
    return i;
}

#endif

// How long the searches with one predicate took, and which way is faster. All is relaxed: a lost value costs
// speed alone.
class search_ways {
  public:
    enum class way { one_by_one, wide };

    // Ticks of a call of the predicate, of the last searches; 0: unknown.
    [[nodiscard]] double pace() const noexcept { return pace_.load(std::memory_order_relaxed); }
    void keep_pace(double now) noexcept {
        const double known = pace();
        if (now > 2 * known || 2 * now < known) pace_.store(now, std::memory_order_relaxed);
    }

    [[nodiscard]] bool is_decided() const noexcept {
        return tried_.load(std::memory_order_relaxed) >= enough_tries;
    }
    // To be tried with at least this many places, and by the calling thread only: members may run on cores of
    // other speeds.
    static constexpr index enough_places = 64;
    [[nodiscard]] way next() const noexcept {
        const bool in_turn = tried_.load(std::memory_order_relaxed) % 2 != 0;
        return in_turn && is_short(least(way::one_by_one)) ? way::wide : way::one_by_one;
    }
    void tried(way which, double now) noexcept {
        if (now < least(which)) least_[usize(static_cast<int>(which))].store(now, std::memory_order_relaxed);
        const int done = tried_.load(std::memory_order_relaxed) + 1;
        // Where memory limits both, the wide way is no slower, and it is faster where fewer members take
        // part.
        if (done == enough_tries && least(way::wide) < 1.05 * least(way::one_by_one))
            best_.store(way::wide, std::memory_order_relaxed);
        tried_.store(done, std::memory_order_relaxed);
    }
    // Place by place until it is decided, and where calls have become long.
    [[nodiscard]] way best() const noexcept {
        return is_short(pace()) ? best_.load(std::memory_order_relaxed) : way::one_by_one;
    }

  private:
    static constexpr int enough_tries = 12;

    [[nodiscard]] static bool is_short(double pace) noexcept { return pace < 2 * ticks_per_nanosecond(); }
    [[nodiscard]] double least(way which) const noexcept {
        return least_[usize(static_cast<int>(which))].load(std::memory_order_relaxed);
    }

    std::atomic<double> pace_{0};
    std::atomic<double> least_[2]{std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::infinity()};
    std::atomic<way> best_{way::one_by_one};
    std::atomic<int> tried_{0};
};

template <class Chosen>
inline search_ways search_ways_of;

// search() in one of the ways. In: where the predicate looks.
template <class In, class Chosen>
[[nodiscard]] index search_by(search_ways::way which, range r, Chosen& chosen) {
#if defined(__x86_64__)
    if constexpr (has_wide_answers<In>) {
        if (which == search_ways::way::wide) return search_wide<sizeof(std::remove_pointer_t<In>)>(r, chosen);
    }
#endif
    static_cast<void>(which);
    return search(r, chosen);
}

// Whether searches with a predicate are worth a try both ways.
template <class In>
[[nodiscard]] bool may_be_wide() noexcept {
    if constexpr (has_wide_answers<In>) return has_wide();
    return false;
}

}  // namespace tauto::detail
