#pragma once
// What the motion leaves unchanged; how far a run has come from it is the measure of its error.

#include "kernels/instruction_set.hpp"
#include "kernels/nbody/particles.hpp"

namespace tauto::kernels::nbody {

struct invariants {
    double kinetic;
    double potential;
    vector3 momentum;
    vector3 angular_momentum;

    double energy() const noexcept { return kinetic + potential; }
};

/// Of the particles where they are now, all at one time. The sums of n terms are compensated. O(n^2).
invariants invariants_of(const particles& bodies, double softening,
                         instruction_set set = best_instruction_set());

class hermite;
/// Of a run at `time`, to which particles between two steps are predicted.
invariants invariants_at(hermite& system, double time);

/// |E - E0| / |E0|; |E - E0| where E0 is 0.
double energy_error(const invariants& before, const invariants& after) noexcept;

}  // namespace tauto::kernels::nbody
