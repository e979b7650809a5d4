#pragma once
// Sums of doubles without any rounding but the last: the same bits for every order and every grouping.
//
// A double is an integer times 2^-1074. The accumulator holds the sum as such an integer, in digits of 32
// bits that are kept in 64, so that about a thousand numbers can be added before a carry must be passed on.
// It is the small superaccumulator of R. M. Neal, "Fast exact summation using small and large
// superaccumulators" (arXiv 1505.05571, 2015), written anew.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tauto/parallel_reduce.hpp>
#include <tauto/signed.hpp>

namespace tauto {

// An exact sum of doubles. Infinities and NaN give what adding them in any order would.
class exact_accumulator {
  public:
    // O(1); every thousandth call passes carries on.
    void add(double value) noexcept {
        const auto bits = std::bit_cast<std::uint64_t>(value);
        const auto exponent = static_cast<unsigned>(bits >> 52 & 0x7ff);
        if (exponent == 0x7ff) {
            special_ += value;
            return;
        }
        // value = mantissa * 2^shift, in units of 2^-1074
        const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
        const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << 52;
        const unsigned shift = exponent == 0 ? 0 : exponent - 1;
        const unsigned inside = shift % digit_bits;
        std::int64_t* const digit = &digits_[shift / digit_bits];
        // Up to 84 bits: the low 32 belong to this digit, up to 52 to the next, which has room for them.
        const auto low = static_cast<std::int64_t>(mantissa << inside & digit_mask);
        const auto high = static_cast<std::int64_t>(mantissa >> (digit_bits - inside));
        const std::int64_t sign = -static_cast<std::int64_t>(bits >> 63);  // 0 or -1
        digit[0] += (low ^ sign) - sign;
        digit[1] += (high ^ sign) - sign;
        if (++pending_ == most_pending) pass_carries();
    }

    void add(const exact_accumulator& other) noexcept {
        exact_accumulator theirs = other;
        theirs.pass_carries();
        pass_carries();
        for (std::size_t i = 0; i < digits_.size(); ++i) digits_[i] += theirs.digits_[i];
        pending_ = 1;
        special_ += theirs.special_;
    }

    // The sum, rounded once, to nearest, ties to even; infinite when it is beyond the largest double.
    [[nodiscard]] double value() const noexcept {
        if (special_ != 0) return special_;
        exact_accumulator sum = *this;
        sum.pass_carries();
        const bool negative = sum.digits_.back() < 0;
        if (negative) {
            for (std::int64_t& digit : sum.digits_) digit = -digit;
            sum.pass_carries();
        }
        const double magnitude = sum.rounded();
        return negative ? -magnitude : magnitude;
    }

  private:
    static constexpr unsigned digit_bits = 32;
    static constexpr std::uint64_t digit_mask = 0xffffffff;
    // Highest digit that a double reaches is 64 (shift 2045); two more hold the carries of 2^63 additions.
    static constexpr std::size_t digits = 67;
    // Each addition puts less than 2^53 into a digit, a passed-on digit is less than 2^32: 1000 of them stay
    // below 2^63.
    static constexpr int most_pending = 1000;

    // Afterwards all digits but the last are in [0, 2^32).
    void pass_carries() noexcept {
        for (std::size_t i = 0; i + 1 < digits; ++i) {
            const std::int64_t carry = digits_[i] >> digit_bits;  // rounds down, also below zero
            digits_[i] -= carry * (std::int64_t{1} << digit_bits);
            digits_[i + 1] += carry;
        }
        pending_ = 0;
    }

    [[nodiscard]] bool bit(std::size_t place) const noexcept {
        return (digits_[place / digit_bits] >> (place % digit_bits) & 1) != 0;
    }

    // Of a sum that is not negative and whose carries are passed on.
    [[nodiscard]] double rounded() const noexcept {
        std::size_t top = digits;
        while (top > 0 && digits_[top - 1] == 0) --top;
        if (top == 0) return 0.0;
        const std::size_t highest =
            (top - 1) * digit_bits +
            detail::usize(std::bit_width(static_cast<std::uint64_t>(digits_[top - 1]))) - 1;
        // 53 bits from the highest one, or all of them where there are fewer.
        const std::size_t lowest = highest < 53 ? 0 : highest - 52;
        std::uint64_t mantissa = 0;
        for (std::size_t place = highest + 1; place-- > lowest;)
            mantissa = mantissa << 1 | (bit(place) ? 1 : 0);
        if (lowest > 0 && bit(lowest - 1)) {
            bool more = (mantissa & 1) != 0;
            for (std::size_t place = 0; !more && place + 1 < lowest; ++place) more = bit(place);
            if (more) ++mantissa;
        }
        return std::ldexp(detail::as_double(mantissa), static_cast<int>(lowest) - 1074);
    }

    std::array<std::int64_t, digits> digits_{};
    double special_ = 0;  // sum of the infinities and NaN
    int pending_ = 0;     // additions since carries were passed on
};

// The exactly rounded sum of map(i) for i in [0, n): the same bits for every team, schedule, run and order of
// indices. Exceptions, nesting, turns and n as parallel_for; a requested stop throws tauto::stopped. O(n),
// about ten times the work of a plain sum that is in a cache.
template <class Map>
requires std::invocable<Map&, index>
[[nodiscard]] double exact_sum(team& members, index n, Map&& map, const loop_options& options = {}) {
    struct alignas(128) line {
        exact_accumulator sum;
    };
    std::vector<line> of_members(detail::usize(members.size()));
    const auto body = [&](range r, int rank) {
        exact_accumulator& sum = detail::at(of_members, rank).sum;
        for (index i = r.begin; i < r.end; ++i) sum.add(static_cast<double>(map(i)));
    };
    if (!parallel_for(members, n, body, options)) throw stopped{};
    exact_accumulator all;
    for (const line& one : of_members) all.add(one.sum);
    return all.value();
}

// The exactly rounded sum of `values`.
[[nodiscard]] inline double exact_sum(team& members, std::span<const double> values,
                                      const loop_options& options = {}) {
    return exact_sum(
        members, std::ssize(values), [&](index i) { return detail::at(values, i); }, options);
}

}  // namespace tauto
