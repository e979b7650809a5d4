#include "kernels/nbody/block_times.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace tauto::kernels::nbody {

namespace {

constexpr std::size_t word_bits = 64;
constexpr int mantissa_bits = 52;

// A finite number above 0 that is a power of two, and no subnormal one.
bool is_usual_step(double step) {
    const auto bits = std::bit_cast<std::uint64_t>(step);
    const std::uint64_t exponent = bits >> mantissa_bits;
    return bits << (word_bits - mantissa_bits) == 0 && exponent > 0 && exponent < 0x7ff;
}

}  // namespace

block_times::block_times(const hermite& system)
    : system_{&system}, words_{(system.size() + word_bits - 1) / word_bits} {
    level_by_exponent_.fill(none);
}

void block_times::read_all() {
    for (level& one : levels_) one.count = 0;
    std::ranges::fill(bits_, 0);
    by_looking_ = false;
    const auto& state = system_->bodies().state();
    for (std::size_t i = 0; i < system_->size(); ++i)
        enter(i, state[step_of][i], state[time_of][i] + state[step_of][i]);
}

std::size_t block_times::level_of(double step) {
    std::uint16_t& found = level_by_exponent_[std::bit_cast<std::uint64_t>(step) >> mantissa_bits];
    if (found == none) {
        found = static_cast<std::uint16_t>(levels_.size());
        levels_.emplace_back();
        bits_.resize(bits_.size() + words_, 0);
    }
    return found;
}

void block_times::enter(std::size_t particle, double step, double next) {
    if (!is_usual_step(step)) {
        by_looking_ = true;
        return;
    }
    const std::size_t of = level_of(step);
    level& one = levels_[of];
    if (one.count > 0 && one.next != next) by_looking_ = true;
    one.next = next;
    ++one.count;
    bits_of(of)[particle / word_bits] |= std::uint64_t{1} << particle % word_bits;
}

double block_times::next_time() const {
    double next = std::numeric_limits<double>::infinity();
    for (const level& one : levels_)
        if (one.count > 0) next = std::min(next, one.next);
    // A step that is too short to be added ends no later than the last block: who looks at all says which.
    return by_looking_ || !(next > system_->time()) ? system_->next_time() : next;
}

std::span<const std::size_t> block_times::due(double time, std::vector<std::size_t>& list) {
    if (by_looking_) return system_->due(time, list);
    if (list.size() < system_->size() + due_slack) list.resize(system_->size() + due_slack);
    ending_.clear();
    for (std::size_t of = 0; of < levels_.size(); ++of)
        if (levels_[of].count > 0 && levels_[of].next == time) ending_.push_back(bits_of(of).data());
    std::size_t count = 0;
    for (std::size_t word = 0; word < words_; ++word) {
        std::uint64_t bits = 0;
        for (const std::uint64_t* const ending : ending_) bits |= ending[word];
        for (; bits != 0; bits &= bits - 1)
            list[count++] = word * word_bits + static_cast<std::size_t>(std::countr_zero(bits));
    }
    return {list.data(), count};
}

void block_times::moved(std::span<const std::size_t> which, double time) {
    if (by_looking_) return;
    for (std::size_t of = 0; of < levels_.size(); ++of) {
        if (levels_[of].count == 0 || levels_[of].next != time) continue;
        levels_[of].count = 0;
        std::ranges::fill(bits_of(of), 0);
    }
    const auto steps = system_->bodies().state()[step_of];
    for (const std::size_t i : which) enter(i, steps[i], time + steps[i]);
}

}  // namespace tauto::kernels::nbody
