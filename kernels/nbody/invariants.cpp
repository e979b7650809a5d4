#include "kernels/nbody/invariants.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/nbody/hermite.hpp"
#include "kernels/nbody/lanes.hpp"

namespace tauto::kernels::nbody {

namespace {

// A. Neumaier, Z. Angew. Math. Mech. 54 (1974) 39.
class compensated {
  public:
    void add(double value) noexcept {
        const double sum = sum_ + value;
        rest_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
        sum_ = sum;
    }
    double value() const noexcept { return sum_ + rest_; }

  private:
    double sum_ = 0.0;
    double rest_ = 0.0;
};

// Columns: mass, position, velocity.
invariants of_columns(const columns& bodies, double softening, instruction_set set) {
    const std::size_t count = bodies.length();
    std::vector<std::size_t> self(count);
    std::iota(self.begin(), self.end(), std::size_t{0});
    columns phi{1, count};
    lanes::of(set).potential({.source = bodies.data(),
                              .first = 0,
                              .last = count,
                              .target = bodies.data(1),
                              .self = self.data(),
                              .count = count,
                              .softening_squared = softening * softening,
                              .sum = phi.data()});
    compensated kinetic, potential;
    std::array<compensated, 3> momentum, angular;
    for (std::size_t i = 0; i < count; ++i) {
        const double m = bodies[0][i];
        const vector3 x{bodies[1][i], bodies[2][i], bodies[3][i]};
        const vector3 v{bodies[4][i], bodies[5][i], bodies[6][i]};
        kinetic.add(0.5 * m * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        potential.add(0.5 * m * phi[0][i]);
        for (std::size_t c = 0; c < 3; ++c) {
            const std::size_t next = (c + 1) % 3, after = (c + 2) % 3;
            momentum[c].add(m * v[c]);
            angular[c].add(m * (x[next] * v[after] - x[after] * v[next]));
        }
    }
    return {kinetic.value(),
            potential.value(),
            {momentum[0].value(), momentum[1].value(), momentum[2].value()},
            {angular[0].value(), angular[1].value(), angular[2].value()}};
}

}  // namespace

invariants invariants_of(const particles& bodies, double softening, instruction_set set) {
    columns now{7, bodies.size()};
    std::copy_n(bodies.mass().data(), bodies.size(), now[0].data());
    for (std::size_t c = 0; c < 6; ++c)
        std::copy_n(bodies.state()[position + c].data(), bodies.size(), now[1 + c].data());
    return of_columns(now, softening, set);
}

invariants invariants_at(hermite& system, double time) {
    system.predict_sources(time, 0, system.size());
    return of_columns(system.sources(), system.options().softening, system.options().instructions);
}

double energy_error(const invariants& before, const invariants& after) noexcept {
    const double change = std::fabs(after.energy() - before.energy());
    return before.energy() == 0.0 ? change : change / std::fabs(before.energy());
}

}  // namespace tauto::kernels::nbody
