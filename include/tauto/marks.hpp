#pragma once
// Which elements of a sequence a predicate has chosen.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include <tauto/algorithm_options.hpp>
#include <tauto/always_inline.hpp>
#include <tauto/lanes.hpp>

namespace tauto::detail {

// One bit an element, set by its tile's member: whether it was chosen.
class marks {
  public:
    static constexpr index word_bits = 64;

    explicit marks(index n) : n_(n), tile_(tile_of(n)), words_(usize((n + word_bits - 1) / word_bits)) {}

    [[nodiscard]] static index tile_of(index n) noexcept { return block_of(n, word_bits, 8192); }
    [[nodiscard]] static index tiles_of(index n) noexcept { return (n + tile_of(n) - 1) / tile_of(n); }
    [[nodiscard]] index tiles() const noexcept { return tiles_of(n_); }
    [[nodiscard]] range elements_of(index t) const noexcept {
        return {t * tile_, std::min(n_, (t + 1) * tile_)};
    }
    [[nodiscard]] std::uint64_t word(index i) const noexcept { return at(words_, i / word_bits); }

    // Sets the bits of a tile by chosen(i); how many are set.
    template <class Chosen>
    index set(index t, Chosen&& chosen) {
        const range r = elements_of(t);
        index count = 0;
        for (index begin = r.begin; begin < r.end; begin += word_bits) {
            const std::uint64_t word = word_of({begin, std::min(begin + word_bits, r.end)}, chosen);
            at(words_, begin / word_bits) = word;
            count += std::popcount(word);
        }
        return count;
    }

    // chosen(i) for up to 64 elements, the first in the lowest bit. Eight at a time do not wait for each
    // other.
    template <class Chosen>
    [[nodiscard]] static std::uint64_t word_of(range r, Chosen& chosen) {
        const auto bit = [&](index i) TAUTO_ALWAYS_INLINE { return std::uint64_t{chosen(i) ? 1U : 0U}; };
        std::uint64_t word = 0;
        index i = r.begin;
        for (; r.end - i >= 8; i += 8) {
            std::uint64_t some = 0;
            each_part<8>([&](std::size_t k)
                             TAUTO_ALWAYS_INLINE { some |= bit(i + static_cast<index>(k)) << k; });
            word |= some << (i - r.begin);
        }
        for (; i < r.end; ++i) word |= bit(i) << (i - r.begin);
        return word;
    }

    // call(i, whether it is set) for each element of a tile.
    template <class Call>
    void each(index t, Call&& call) const {
        const range r = elements_of(t);
        for (index begin = r.begin; begin < r.end; begin += word_bits) {
            const index end = std::min(begin + word_bits, r.end);
            std::uint64_t bits = word(begin);
            for (index i = begin; i < end; ++i, bits >>= 1) call(i, static_cast<index>(bits & 1));
        }
    }

  private:
    index n_;
    index tile_;  // a multiple of a word, so that no two members write to one
    std::vector<std::uint64_t> words_;
};

// The marked places, or the others, in ascending order.
class marked_places {
  public:
    // From the j-th on. `before`: how many are marked before each tile, and in all.
    marked_places(const marks& of, const std::vector<index>& before, bool marked, index j)
        : of_(&of), flip_(marked ? 0 : ~std::uint64_t{0}) {
        const auto those_before = [&](index t) {
            return marked ? at(before, t) : of.elements_of(t).begin - at(before, t);
        };
        index first = 0;
        for (index last = of.tiles(); last - first > 1;) {
            const index middle = first + (last - first) / 2;
            (those_before(middle) <= j ? first : last) = middle;
        }
        index left = j - those_before(first);
        place_ = of.elements_of(first).begin;
        bits_ = word();
        for (index here = 0; left >= (here = std::popcount(bits_)); left -= here) take_word();
        for (; left > 0; --left) bits_ &= bits_ - 1;
    }

    [[nodiscard]] index next() {
        while (bits_ == 0) take_word();
        const index found = place_ + std::countr_zero(bits_);
        bits_ &= bits_ - 1;
        return found;
    }

  private:
    [[nodiscard]] std::uint64_t word() const { return of_->word(place_) ^ flip_; }
    void take_word() {
        place_ += marks::word_bits;
        bits_ = word();
    }

    const marks* of_;
    std::uint64_t flip_;
    index place_;
    std::uint64_t bits_;
};

}  // namespace tauto::detail
