// B19: pair interactions a second on one core, double precision, and how right the forces are.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "benchmarks/programs/program.hpp"
#include "kernels/nbody/hermite.hpp"

namespace {

using namespace tauto::bench;
using namespace tauto::kernels::nbody;

struct wanted {
    std::size_t particles = 1024;
    std::size_t active = 53;
    int order = 4;
    double softening = 4.0 / 1024.0;
    std::string instructions = "best";
};

tauto::instruction_set set_named(const std::string& name) {
    if (name == "best") return tauto::best_instruction_set();
    for (const auto set : tauto::available_instruction_sets())
        if (name_of(set) == name) return set;
    throw input_error("this machine has no instruction set '" + name + "'; use best");
}

// Cycles a second: a multiplication that waits for the one before takes three on every x86 of this century.
// (Additions will not do: some processors carry out those of constants while they rename registers.) 0 where
// that is not known.
double clock_hertz() {
#if defined(__x86_64__)
    constexpr int multiplications = 1 << 18;
    double best = 0.0;
    for (int round = 0; round < 9; ++round) {
        const double begin = seconds_now();
        unsigned long product = 3;
        for (int i = 0; i < multiplications; i += 8)
            asm volatile(
                "imul %0,%0\nimul %0,%0\nimul %0,%0\nimul %0,%0\n"
                "imul %0,%0\nimul %0,%0\nimul %0,%0\nimul %0,%0"
                : "+r"(product));
        best = std::max(best, 3.0 * multiplications / (seconds_now() - begin));
    }
    return best;
#else
    return 0.0;
#endif
}

// Largest |a - a_exact| / |a_exact| over the targets, the sum in long double.
double force_error(const hermite& system, const std::vector<std::size_t>& targets,
                   std::span<const double> forces) {
    const auto& state = system.bodies().state();
    const long double softening = system.options().softening;
    long double worst = 0.0L;
    for (std::size_t k = 0; k < targets.size(); ++k) {
        std::array<long double, 3> sum{};
        for (std::size_t j = 0; j < system.size(); ++j) {
            if (j == targets[k]) continue;
            std::array<long double, 3> d{};
            long double squared = softening * softening;
            for (std::size_t c = 0; c < 3; ++c) {
                d[c] = static_cast<long double>(state[position + c][j]) - state[position + c][targets[k]];
                squared += d[c] * d[c];
            }
            const long double weight = state[mass_of][j] / (squared * std::sqrt(squared));
            for (std::size_t c = 0; c < 3; ++c) sum[c] += weight * d[c];
        }
        long double off = 0.0L, length = 0.0L;
        for (std::size_t c = 0; c < 3; ++c) {
            const long double difference = forces[c * targets.size() + k] - sum[c];
            off += difference * difference;
            length += sum[c] * sum[c];
        }
        worst = std::max(worst, std::sqrt(off / length));
    }
    return static_cast<double>(worst);
}

json run(const options& asked, const wanted& given) {
    if (given.active < 1 || given.active > given.particles)
        throw input_error("--active must be from 1 to the number of particles");
    tauto::runner::pin_to(std::span<const int>(asked.cpus).first(1));
    hermite system{
        plummer(given.particles, 1),
        {.order = given.order, .softening = given.softening, .instructions = set_named(given.instructions)}};
    // Spread over all particles, as the active ones of a block are.
    std::vector<std::size_t> targets(given.active);
    for (std::size_t k = 0; k < targets.size(); ++k) targets[k] = k * given.particles / given.active;
    target_block block{system};
    system.predict_sources(0.0, 0, system.size());
    block.take(0.0, targets);
    json row = timed(batch_seconds(asked, 20, [&] { block.sum_forces(0, system.size()); }));
    const double pairs = static_cast<double>(given.active) * static_cast<double>(given.particles);
    const double hertz = clock_hertz();
    row["library"] = "tautochrone";
    row["instructions"] = name_of(system.options().instructions);
    row["particles"] = given.particles;
    row["active"] = given.active;
    row["order"] = given.order;
    row["pairs_per_second"] = pairs / row["seconds"].get<double>();
    row["clock_hertz"] = hertz > 0.0 ? json(hertz) : json{};
    row["cycles_per_pair"] = hertz > 0.0 ? json(row["seconds"].get<double>() * hertz / pairs) : json{};
    row["relative_force_error"] = force_error(system, targets, block.forces());
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    wanted given;
    return run_program(
        argc, argv, "tauto-bench-gravity-rate",
        "Pair interactions a second of the gravity kernel on one core.",
        [&](arguments& app) {
            app.number("--particles", given.particles, "Sources");
            app.number("--active", given.active, "Targets");
            app.number("--order", given.order, "4: acceleration and jerk; 6: snap too");
            app.number("--softening", given.softening, "Softening length");
            app.word("--instructions", given.instructions, "generic, avx2, avx512 or best");
        },
        [&](const options& asked) { return run(asked, given); });
}
