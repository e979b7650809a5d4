#pragma once
// Which particles move next, without looking at all of them.
//
// Steps are powers of two and times are multiples of them (hermite::choose_first_steps, the corrector), so
// all particles with one step end it together: a level of the hierarchy of block steps (S. L. W. McMillan, in
// The Use of Supercomputers in Stellar Dynamics, 1986). Each level knows its next time and has a bit for each
// particle. Should two particles of a level ever disagree, all particles are looked at from then on.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/nbody/hermite.hpp"

namespace tauto::kernels::nbody {

/// One for each thread that asks; the system may be shared by those that only ask.
class block_times {
  public:
    /// `system` must outlive it. Nothing is read yet.
    explicit block_times(const hermite& system);

    /// Takes the times and steps of all particles as they are. O(N).
    void read_all();

    /// The time that the next block ends. Throws as hermite::next_time. O(levels).
    double next_time() const;
    /// The particles whose steps end at `time`, ascending, written to `list` as hermite::due does.
    /// O(N / 64 + how many).
    std::span<const std::size_t> due(double time, std::vector<std::size_t>& list);
    /// All of due(time), which were put since, have new steps. O(how many + N / 64).
    void moved(std::span<const std::size_t> which, double time);

  private:
    struct level {
        double next = 0.0;
        std::size_t count = 0;
    };
    static constexpr std::size_t exponents = 2048;
    static constexpr std::uint16_t none = 0xffff;

    std::span<std::uint64_t> bits_of(std::size_t of) { return {bits_.data() + of * words_, words_}; }
    void enter(std::size_t particle, double step, double next);
    std::size_t level_of(double step);

    const hermite* system_;
    std::size_t words_;
    std::vector<level> levels_;
    std::vector<std::uint64_t> bits_;  ///< words_ for each level
    std::array<std::uint16_t, exponents> level_by_exponent_{};
    std::vector<const std::uint64_t*> ending_;
    bool by_looking_ = true;
};

}  // namespace tauto::kernels::nbody
