#pragma once
// The inner kernels of the N-body study as raw functions, one table for each instruction set. Callers use
// gravity.hpp and hermite.hpp; this header is shared by the translation units behind them.

#include <cstddef>

// Nothing else is included: see CMakeLists.txt for the reason.

namespace tauto {
enum class instruction_set;
}

namespace tauto::kernels::nbody::lanes {

/// What the sources j in [first, last) do to `count` targets. Columns are arrays of doubles; every source
/// column can be read for 8 doubles beyond `last`. The order of summation of one target depends on first,
/// last and the instruction set alone.
struct pairs {
    const double* const* source;  ///< mass, then the columns of the kernel: position, velocity, acceleration
    std::size_t first;
    std::size_t last;
    const double* const* target;  ///< the same columns without mass
    const std::size_t* self;      ///< index of each target among the sources, to be left out
    std::size_t count;
    double softening_squared;
    double* const* sum;  ///< acceleration, jerk, snap; or the potential
};

/// How long the next step is.
struct step_rule {
    double accuracy;
    double largest;  ///< a power of two
};

// Columns of the state, in the order of kernels/nbody/particles.hpp.
struct table {
    void (*jerk)(const pairs& given);
    void (*snap)(const pairs& given);
    void (*potential)(const pairs& given);
    /// state at `time` for particles in [first, last); whole registers are written.
    void (*predict4)(const double* const* state, double time, std::size_t first, std::size_t last,
                     double* const* predicted);
    void (*predict6)(const double* const* state, double time, std::size_t first, std::size_t last,
                     double* const* predicted);
    /// state, of `count` particles with one step each that ends at `time`, becomes that at `time`; whole
    /// registers are read and written. Returns 0, or NaN if a force was not finite.
    double (*correct4)(double* const* state, const double* const* force, double time, const step_rule& rule,
                       std::size_t count);
    double (*correct6)(double* const* state, const double* const* force, double time, const step_rule& rule,
                       std::size_t count);
    /// Least time + step of `count` > 0 particles.
    double (*next_time)(const double* time, const double* step, std::size_t count);
    /// Writes the indices with time + step == next, ascending; returns how many. Up to 8 behind them are
    /// overwritten.
    std::size_t (*due)(const double* time, const double* step, std::size_t count, double next,
                       std::size_t* indices);
    /// y = x^(-1/2), for tests.
    void (*inverse_root)(const double* x, double* y, std::size_t count);
};

extern const table generic;
extern const table avx2;
extern const table avx512;

const table& of(instruction_set set) noexcept;

}  // namespace tauto::kernels::nbody::lanes
