#pragma once
// Sorting numbers by their digits, the last one first: stable, and without a comparison.
//
// Each digit is two loops over blocks that depend on the length alone: the digits of each block are counted,
// then its elements are put where those of earlier blocks and smaller digits end. Digits that all elements
// share are left out. Few elements out of place are taken out in place of that.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/always_inline.hpp>
#include <tauto/nearly_sorted.hpp>
#include <tauto/parallel_reduce.hpp>
#include <tauto/raw_buffer.hpp>

namespace tauto::detail {

template <std::size_t Bytes>
using unsigned_of_bytes =
    std::conditional_t<Bytes == 1, std::uint8_t,
                       std::conditional_t<Bytes == 2, std::uint16_t,
                                          std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
inline constexpr bool has_radix_key = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                      (std::is_integral_v<T> && sizeof(T) <= 8);

// A number's place in the order of its type, as a number without a sign; equal numbers have one key, also the
// two zeros. NaN comes last, and first where its sign bit is set. `down`: in the opposite order.
template <class T>
[[nodiscard]] TAUTO_ALWAYS_INLINE inline auto radix_key(T value, bool down) noexcept {
    using key_type = unsigned_of_bytes<sizeof(T)>;
    constexpr auto sign = static_cast<key_type>(key_type{1} << (8 * sizeof(T) - 1));
    key_type key;
    if constexpr (std::is_floating_point_v<T>) {
        const auto bits = std::bit_cast<key_type>(value + T{0});  // -0 + 0 is 0
        key = static_cast<key_type>((bits & sign) != 0 ? ~bits : bits | sign);
    } else {
        key =
            static_cast<key_type>(static_cast<key_type>(value) ^ (std::is_signed_v<T> ? sign : key_type{0}));
    }
    return static_cast<key_type>(down ? ~key : key);
}

inline constexpr std::size_t digit_values = 256;

// What one look at all keys tells.
struct key_summary {
    std::uint64_t differ = 0;  // bits in which some key differs from the first
    index descents = 0;        // keys that are smaller than the one before
};

template <class T>
class radix_sorter {
  public:
    radix_sorter(T* data, index n, bool down) : data_(data), n_(n), down_(down) {}

    // So few are sorted by the calling thread.
    static constexpr index few = index{1} << 15;

    void run(team& members, const algorithm_options& options) {
        if (options.stop.stop_requested()) throw stopped{};
        if (n_ <= few) {
            const as_member inside(members);
            sort_few(members, options);
        } else {
            sort_many(members, options);
        }
    }

  private:
    using key_type = unsigned_of_bytes<sizeof(T)>;
    using digit_counts = std::array<std::uint32_t, digit_values>;
    static constexpr int digits = static_cast<int>(sizeof(T));
    static constexpr auto minus_zero = static_cast<key_type>(key_type{1} << (8 * sizeof(T) - 1));

    [[nodiscard]] TAUTO_ALWAYS_INLINE std::size_t digit(T value, int place) const noexcept {
        return static_cast<std::size_t>(radix_key(value, down_) >> (8 * place)) & (digit_values - 1);
    }

    [[nodiscard]] key_summary look_at(range r) const noexcept {
        const key_type first = radix_key(data_[0], down_);
        key_type last = radix_key(data_[std::max<index>(r.begin - 1, 0)], down_);
        key_type differ = 0;
        index descents = 0;
        for (index i = r.begin; i < r.end; ++i) {
            const key_type key = radix_key(data_[i], down_);
            differ |= static_cast<key_type>(key ^ first);
            descents += key < last ? 1 : 0;
            last = key;
        }
        return {differ, descents};
    }

    // Merging in what is out of place costs less than three digits.
    [[nodiscard]] bool is_nearly_sorted(const key_summary& seen) const noexcept {
        int differing = 0;
        for (int place = 0; place < digits; ++place)
            differing += (seen.differ >> (8 * place) & 0xff) != 0 ? 1 : 0;
        return differing >= 3 && may_be_nearly_sorted(seen.descents, n_);
    }
    [[nodiscard]] bool sort_nearly_sorted(team& members, index block, T* buffer,
                                          const algorithm_options& options) {
        const auto key = [down = down_](T value) { return radix_key(value, down); };
        const auto twofold = [](T value) {
            return std::is_floating_point_v<T> && std::bit_cast<key_type>(value) == minus_zero;
        };
        nearly_sorted<T, decltype(key), decltype(twofold)> all(data_, n_, block, buffer, key, twofold);
        return all.run(members, options, [&](team& some, T* rest, index count) {
            if (count > 1) radix_sorter(rest, count, down_).run(some, options);
        });
    }

    // All digits are counted at once: their numbers do not depend on the order.
    void sort_few(team& members, const algorithm_options& options) {
        const key_summary seen = look_at({0, n_});
        if (seen.descents == 0) return;
        const raw_buffer<T> buffer(n_);
        if (is_nearly_sorted(seen) && sort_nearly_sorted(members, n_, buffer.data(), options)) return;
        std::array<digit_counts, sizeof(T)> counts{};
        for (index i = 0; i < n_; ++i) {
            for (int place = 0; place < digits; ++place) ++at(counts, place)[digit(data_[i], place)];
        }
        T* from = data_;
        T* to = buffer.data();
        for (int place = 0; place < digits; ++place) {
            if ((seen.differ >> (8 * place) & 0xff) == 0) continue;
            std::array<index, digit_values> next;
            index before = 0;
            for (std::size_t value = 0; value < digit_values; ++value) {
                next[value] = before;
                before += at(counts, place)[value];
            }
            put(from, to, {0, n_}, place, next);
            std::swap(from, to);
        }
        if (from != data_) std::copy_n(from, n_, data_);
    }

    // Elements in their order to where the next one with their digit belongs.
    void put(const T* from, T* to, range r, int place, std::array<index, digit_values>& next) const noexcept {
        for (index i = r.begin; i < r.end; ++i) {
            const T value = from[i];
            to[next[digit(value, place)]++] = value;
        }
    }

    void count(const T* from, range r, int place, std::span<index> counts) const noexcept {
        // Four tables: a digit that follows itself need not wait for its count.
        std::array<digit_counts, 4> tables{};
        index i = r.begin;
        for (; r.end - i >= 4; i += 4) {
            for (index k = 0; k < 4; ++k) ++at(tables, k)[digit(from[i + k], place)];
        }
        for (; i < r.end; ++i) ++tables[0][digit(from[i], place)];
        for (std::size_t value = 0; value < digit_values; ++value)
            counts[value] = index{tables[0][value]} + tables[1][value] + tables[2][value] + tables[3][value];
    }

    // A table of counts by block and digit becomes one of the places where each begins.
    static void begin_places(std::vector<index>& table, index blocks) noexcept {
        index before = 0;
        for (std::size_t value = 0; value < digit_values; ++value) {
            for (index b = 0; b < blocks; ++b) {
                index& one = table[usize(b) * digit_values + value];
                before += std::exchange(one, before);
            }
        }
    }

    void sort_many(team& members, const algorithm_options& options) {
        const block_plan plan{n_, std::max<index>(index{1} << 12, n_ / 256 + 1)};
        const key_summary seen = look_at_all(members, options);
        if (seen.descents == 0) return;
        const raw_buffer<T> buffer(n_);
        touch_pages(members, buffer, options);
        if (is_nearly_sorted(seen) && sort_nearly_sorted(members, plan.grain, buffer.data(), options)) return;
        std::vector<index> table(usize(plan.blocks()) * digit_values);
        T* from = data_;
        T* to = buffer.data();
        bool all = true;
        for (int place = 0; all && place < digits; ++place) {
            if ((seen.differ >> (8 * place) & 0xff) == 0) continue;
            all = one_digit(members, plan, table, from, to, place, options);
            if (all) std::swap(from, to);
        }
        // Also after a stop: what the last digit was read from is whole.
        if (from != data_) {
            const auto copy = [&](range r) { std::copy(from + r.begin, from + r.end, data_ + r.begin); };
            loop_to_end(members, n_, copy, loop_options_of(without_stop(options)));
        }
        if (!all) throw stopped{};
    }

    [[nodiscard]] bool one_digit(team& members, const block_plan& plan, std::vector<index>& table,
                                 const T* from, T* to, int place, const algorithm_options& options) const {
        const auto of_block = [&](index b) {
            return std::span(table).subspan(usize(b) * digit_values, digit_values);
        };
        const auto counting = [&](index b) { count(from, plan.block(b), place, of_block(b)); };
        if (!parallel_for(members, plan.blocks(), counting, loop_options_of(options))) return false;
        begin_places(table, plan.blocks());
        const auto putting = [&](index b) {
            std::array<index, digit_values> next;
            std::ranges::copy(of_block(b), next.begin());
            put(from, to, plan.block(b), place, next);
        };
        return parallel_for(members, plan.blocks(), putting, loop_options_of(options));
    }

    [[nodiscard]] key_summary look_at_all(team& members, const algorithm_options& options) const {
        const auto look = [this](range r) { return look_at(r); };
        const auto both = [](key_summary a, key_summary b) {
            return key_summary{a.differ | b.differ, a.descents + b.descents};
        };
        return parallel_reduce(members, n_, key_summary{}, look, both,
                               {options.schedule, options.stop, nullptr, nullptr, options.name, 0, false,
                                options.members, options.priority});
    }

    T* data_;
    index n_;
    bool down_;
};

}  // namespace tauto::detail
