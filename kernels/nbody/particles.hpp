#pragma once
// Particles as a structure of arrays, and the systems that the study starts from. Units throughout: G = 1.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "kernels/nbody/columns.hpp"

namespace tauto::kernels::nbody {

/// What was asked of the N-body kernels cannot be done; what() says what was found and what to do.
struct error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using vector3 = std::array<double, 3>;

/// Columns of the state. The vectors have three columns each. What one particle's step changes is
/// contiguous: from `time` on, and up to `snap` (exclusive) for the 4th order.
enum field : std::size_t {
    time_of = 0,
    step_of = 1,
    position = 2,
    velocity = 5,
    acceleration = 8,
    jerk = 11,
    snap = 14,
    crackle = 17,
    mass_of = 20,
    fields = 21,
};

class particles {
  public:
    /// `count` particles of mass 0 at rest at the origin. Throws error if count is 0.
    explicit particles(std::size_t count);

    std::size_t size() const noexcept { return state_.length(); }
    columns& state() noexcept { return state_; }
    const columns& state() const noexcept { return state_; }

    std::span<double> mass() noexcept { return state_[mass_of]; }
    std::span<const double> mass() const noexcept { return state_[mass_of]; }
    vector3 vector(field of, std::size_t i) const noexcept {
        return {state_[of][i], state_[of + 1][i], state_[of + 2][i]};
    }
    void set(field of, std::size_t i, const vector3& value) noexcept {
        for (std::size_t c = 0; c < 3; ++c) state_[of + c][i] = value[c];
    }

  private:
    columns state_;
};

/// Throws error for a mass, position or velocity that is not finite, or a negative mass; names the particle.
void require_finite(const particles& given);

/// Moves the centre of mass to the origin and to rest.
void centre(particles& given);

/// A Plummer sphere of `count` equal masses in Heggie units (total mass 1, energy -1/4 as count grows, virial
/// radius 1), centred. The same particles for the same seed, on every machine. Throws error if count is 0.
/// Method: S. J. Aarseth, M. Henon, R. Wielen, Astron. Astrophys. 37 (1974) 183, appendix.
particles plummer(std::size_t count, std::uint64_t seed);

/// Two bodies of mass 1/2 with semi-major axis 1 (period 2 pi) at apocentre, centred.
/// Throws error unless 0 <= eccentricity < 1.
particles kepler_binary(double eccentricity);

}  // namespace tauto::kernels::nbody
