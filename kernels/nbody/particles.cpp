#include "kernels/nbody/particles.hpp"

#include <cmath>
#include <numbers>
#include <random>
#include <string>

namespace tauto::kernels::nbody {

namespace {

std::size_t from_one(std::size_t count) {
    if (count == 0) throw error("a system of 0 particles was asked for; it needs 1 or more");
    return count;
}

// The distributions of <random> differ from library to library; the engine does not.
class uniform {
  public:
    explicit uniform(std::uint64_t seed) : engine_{seed} {}
    /// In (0, 1), 53 bits.
    double operator()() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }

  private:
    std::mt19937_64 engine_;
};

vector3 in_random_direction(double length, uniform& random) {
    const double z = 2.0 * random() - 1.0;
    const double angle = 2.0 * std::numbers::pi * random();
    const double across = std::sqrt(1.0 - z * z);
    return {length * across * std::cos(angle), length * across * std::sin(angle), length * z};
}

// Speed over escape speed: density q^2 (1 - q^2)^(7/2), whose maximum is below 0.1, by rejection.
double share_of_escape_speed(uniform& random) {
    for (;;) {
        const double q = random();
        const double height = 0.1 * random();
        if (height < q * q * std::pow(1.0 - q * q, 3.5)) return q;
    }
}

}  // namespace

particles::particles(std::size_t count) : state_{fields, from_one(count)} {}

void require_finite(const particles& given) {
    const auto refuse = [](std::size_t i, const char* what, const char* remedy) {
        throw error("particle " + std::to_string(i) + " has " + what + "; " + remedy);
    };
    for (std::size_t i = 0; i < given.size(); ++i) {
        const double mass = given.mass()[i];
        if (!std::isfinite(mass) || mass < 0.0)
            refuse(i, "a mass that is not a number of 0 or more", "correct it");
        for (const field of : {position, velocity})
            for (const double value : given.vector(of, i))
                if (!std::isfinite(value)) refuse(i, "a coordinate that is not finite", "correct it");
    }
}

void centre(particles& given) {
    for (const field of : {position, velocity})
        for (std::size_t c = 0; c < 3; ++c) {
            const auto column = given.state()[of + c];
            double moment = 0.0;
            double total = 0.0;
            for (std::size_t i = 0; i < given.size(); ++i) {
                moment += given.mass()[i] * column[i];
                total += given.mass()[i];
            }
            if (total > 0.0)
                for (double& value : column) value -= moment / total;
        }
}

particles plummer(std::size_t count, std::uint64_t seed) {
    // In Plummer's own units the potential is -(1 + r^2)^(-1/2) and the energy -3 pi / 64; this scale makes
    // it -1/4.
    constexpr double scale = 3.0 * std::numbers::pi / 16.0;
    // Leaves out the outermost thousandth of the mass, a few particles that would be very far away.
    constexpr double mass_inside = 0.999;
    particles sphere{count};
    uniform random{seed};
    for (std::size_t i = 0; i < count; ++i) {
        const double r = 1.0 / std::sqrt(std::pow(mass_inside * random(), -2.0 / 3.0) - 1.0);
        const double escape = std::sqrt(2.0) * std::pow(1.0 + r * r, -0.25);
        sphere.mass()[i] = 1.0 / static_cast<double>(count);
        sphere.set(position, i, in_random_direction(scale * r, random));
        sphere.set(velocity, i,
                   in_random_direction(escape * share_of_escape_speed(random) / std::sqrt(scale), random));
    }
    centre(sphere);
    return sphere;
}

particles kepler_binary(double eccentricity) {
    if (!(eccentricity >= 0.0 && eccentricity < 1.0))
        throw error("a binary of eccentricity " + std::to_string(eccentricity) +
                    " was asked for; it must be 0 or more and below 1");
    particles pair{2};
    // Relative orbit at apocentre: r = 1 + e, v^2 = (1 - e) / (1 + e) for total mass 1.
    const double distance = 1.0 + eccentricity;
    const double speed = std::sqrt((1.0 - eccentricity) / (1.0 + eccentricity));
    for (std::size_t i = 0; i < 2; ++i) {
        const double side = i == 0 ? 0.5 : -0.5;
        pair.mass()[i] = 0.5;
        pair.set(position, i, {side * distance, 0.0, 0.0});
        pair.set(velocity, i, {0.0, side * speed, 0.0});
    }
    return pair;
}

}  // namespace tauto::kernels::nbody
