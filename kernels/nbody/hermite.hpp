#pragma once
// Hermite integration with block individual timesteps, as the parts that a scheme puts together: which
// particles are due, the prediction of the sources, the forces of some sources on some targets, the
// correction. Nothing here knows who else computes; runners/nbody_scheme.hpp does.
//
// Methods: 4th order J. Makino, S. J. Aarseth, Publ. Astron. Soc. Japan 44 (1992) 141; 6th order K. Nitadori,
// J. Makino, New Astronomy 13 (2008) 498; block steps S. L. W. McMillan, in The Use of Supercomputers in
// Stellar Dynamics, Springer 1986, p. 156.

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/instruction_set.hpp"
#include "kernels/nbody/lanes.hpp"
#include "kernels/nbody/particles.hpp"

namespace tauto::kernels::nbody {

/// eta where none is given.
constexpr double usual_accuracy(int order) {
    return order == 4 ? 0.1 : 0.5;
}

struct hermite_options {
    int order = 4;  ///< 4 or 6
    /// eta: the step is eta (A(1) / A(order - 2))^(1 / (order - 3)), A(k)^2 = |a^(k-1)| |a^(k+1)| +
    /// |a^(k)|^2. For the 4th order that is the root of Aarseth's parameter. 0: the usual one.
    double accuracy = 0.0;
    /// The first step is this times |a| / |jerk|.
    double start_accuracy = 0.01;
    double largest_step = 0.125;  ///< a power of two
    double softening = 0.0;       ///< d^2 = r^2 + softening^2
    instruction_set instructions = best_instruction_set();
};

/// Throws error for an order other than 4 and 6, a negative softening, and so on; says what to ask instead.
void require_valid(const hermite_options& options);

/// Entries of a list of particles behind the last one.
inline constexpr std::size_t due_slack = 8;

/// All particles and the prediction of them as sources. Its const functions may be called by several threads,
/// and so may those that name disjoint particles.
class hermite {
  public:
    /// `start` is the time of all particles. All other times are counted from it, so that any may be a start:
    /// steps are powers of two that divide the time. Throws error for options or particles that cannot be
    /// used.
    hermite(particles bodies, const hermite_options& options, double start = 0.0);

    std::size_t size() const noexcept { return bodies_.size(); }
    int order() const noexcept { return options_.order; }
    const hermite_options& options() const noexcept { return options_; }
    const particles& bodies() const noexcept { return bodies_; }
    particles& bodies() noexcept { return bodies_; }
    double start() const noexcept { return start_; }
    /// When the last block ended.
    double time() const noexcept { return time_; }

    /// The time that the next block ends. Throws error if no step is left that would change it. O(N), as is
    /// due(): block_times remembers.
    double next_time() const;
    /// The particles whose steps end at `time`, ascending, written to `list`, which is due_slack longer than
    /// all particles then: kernels read indices in whole registers.
    std::span<const std::size_t> due(double time, std::vector<std::size_t>& list) const;

    /// Predicts the sources [first, last) and, where their number is not a multiple of 8, up to 7 behind
    /// them.
    void predict_sources(double time, std::size_t first, std::size_t last) noexcept;

    /// Of one particle: acceleration and jerk, for the 6th order snap too.
    std::size_t force_columns() const noexcept { return options_.order == 4 ? 6 : 9; }
    /// Columns of the state that a step changes: this many, from step_of on.
    std::size_t changed_columns() const noexcept { return options_.order == 4 ? 13 : 19; }
    /// Writes changed columns back to the particles `which`, whose time becomes `time`. `values` holds the
    /// columns one after the other.
    void put(double time, std::span<const std::size_t> which, std::span<const double> values) noexcept;
    /// All targets of the block have been put.
    void end_block(double time) noexcept { time_ = time; }

    /// First steps of all particles, from their forces.
    void choose_first_steps();

    /// Predicted sources: mass, position, velocity and, for the 6th order, acceleration.
    columns& sources() noexcept { return sources_; }
    const columns& sources() const noexcept { return sources_; }

    [[noreturn]] void refuse_forces(double time) const;

  private:
    friend class target_block;

    particles bodies_;
    hermite_options options_;
    const lanes::table& kernels_;
    columns sources_;
    double start_;
    double time_ = 0.0;
};

/// Some of the particles while they are moved: their state packed together, their prediction, their forces.
/// Each thread has its own.
class target_block {
  public:
    /// For up to all particles of `system`, which must outlive it.
    explicit target_block(const hermite& system);

    /// Packs and predicts the particles `which`, a list that must stay as it is until the block is over.
    void take(double time, std::span<const std::size_t> which);
    std::size_t size() const noexcept { return which_.size(); }

    /// Sums the forces of the sources [first, last), predicted before.
    void sum_forces(std::size_t first, std::size_t last) noexcept;
    /// Those forces: force_columns() columns of size() each, one after the other. Schemes that add up parts
    /// write the totals here.
    std::span<double> forces() noexcept { return {forces_.data(), system_->force_columns() * size()}; }

    /// Corrects the packed state and chooses the next steps. Throws error if a force is not finite, which
    /// coincident particles without softening cause.
    void correct(double time);
    /// At the start: takes the forces as they are.
    void accept_forces() noexcept;

    /// Column `column` of the packed state: the columns of particles.hpp, up to the last one that changes.
    std::span<double> packed(std::size_t column) noexcept { return packed_[column].first(size()); }
    /// Writes the packed state back to `to`, which is the system.
    void put(double time, hermite& to) const noexcept;

    /// The prediction: position, velocity and, for the 6th order, acceleration.
    columns& predicted() noexcept { return predicted_; }

  private:
    const hermite* system_;
    columns packed_;
    columns predicted_;
    std::vector<double> forces_;
    std::span<const std::size_t> which_;
};

/// The whole block on the calling thread, the reference for every scheme.
class serial_integrator {
  public:
    explicit serial_integrator(hermite& system) : system_{system}, targets_{system} {}

    /// Forces and first steps of all particles.
    void start();
    /// Runs one block. Returns its time.
    double step();

  private:
    hermite& system_;
    target_block targets_;
    std::vector<std::size_t> due_;
};

}  // namespace tauto::kernels::nbody
