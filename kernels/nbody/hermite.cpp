#include "kernels/nbody/hermite.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

namespace tauto::kernels::nbody {

namespace {

// Behind the last force column: what a kernel may write in whole registers.
constexpr std::size_t slack = 8;

hermite_options completed(hermite_options options) {
    require_valid(options);
    if (options.accuracy == 0.0) options.accuracy = usual_accuracy(options.order);
    return options;
}

void require_above_zero(const char* what, double value) {
    if (!(value > 0.0) || !std::isfinite(value))
        throw error(std::string{what} + " is " + std::to_string(value) + "; it must be a number above 0");
}

bool is_power_of_two(double value) {
    int exponent = 0;
    return std::frexp(value, &exponent) == 0.5;
}

double length(const vector3& v) {
    return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

}  // namespace

void require_valid(const hermite_options& options) {
    if (options.order != 4 && options.order != 6)
        throw error("order " + std::to_string(options.order) + " was asked for; there are 4 and 6");
    if (!(options.softening >= 0.0) || !std::isfinite(options.softening))
        throw error("the softening is " + std::to_string(options.softening) + "; it must be 0 or more");
    if (options.accuracy != 0.0) require_above_zero("the accuracy parameter eta", options.accuracy);
    require_above_zero("the accuracy parameter of the first step", options.start_accuracy);
    require_above_zero("the largest step", options.largest_step);
    if (!is_power_of_two(options.largest_step))
        throw error("the largest step is " + std::to_string(options.largest_step) +
                    "; it must be a power of two, such as 0.125");
}

hermite::hermite(particles bodies, const hermite_options& options, double start)
    : bodies_{std::move(bodies)},
      options_{completed(options)},
      kernels_{lanes::of(options_.instructions)},
      sources_{options_.order == 4 ? 7U : 10U, bodies_.size()},
      start_{start} {
    require_finite(bodies_);
    if (!std::isfinite(start)) throw error("the starting time is not finite; give a number");
    std::ranges::copy(bodies_.mass(), sources_[0].begin());
    std::ranges::fill(bodies_.state()[time_of], 0.0);
}

double hermite::next_time() const {
    const auto& state = bodies_.state();
    const double next = kernels_.next_time(state[time_of].data(), state[step_of].data(), size());
    for (std::size_t i = 0; i < size() && !(next < INFINITY); ++i)
        if (!std::isfinite(state[step_of][i])) refuse_forces(state[time_of][i]);
    // A step that is too short to be added ends no later than the last block.
    if (next > time_) return next;
    const auto steps = state[step_of];
    const auto shortest = static_cast<std::size_t>(std::ranges::min_element(steps) - steps.begin());
    throw error("the step of particle " + std::to_string(shortest) + " became too short to advance time " +
                std::to_string(start_ + time_) + "; set a softening above 0 or a larger eta");
}

std::span<const std::size_t> hermite::due(double time, std::vector<std::size_t>& list) const {
    if (list.size() < size() + due_slack) list.resize(size() + due_slack);
    const auto& state = bodies_.state();
    const std::size_t count =
        kernels_.due(state[time_of].data(), state[step_of].data(), size(), time, list.data());
    return {list.data(), count};
}

void hermite::predict_sources(double time, std::size_t first, std::size_t last) noexcept {
    const auto predict = options_.order == 4 ? kernels_.predict4 : kernels_.predict6;
    predict(bodies_.state().data(), time, first, last, sources_.data(1));
}

void hermite::put(double time, std::span<const std::size_t> which, std::span<const double> values) noexcept {
    auto& state = bodies_.state();
    for (std::size_t column = 0; column < changed_columns(); ++column) {
        const double* const from = values.data() + column * which.size();
        double* const to = state[step_of + column].data();
        for (std::size_t k = 0; k < which.size(); ++k) to[which[k]] = from[k];
    }
    double* const times = state[time_of].data();
    for (const std::size_t i : which) times[i] = time;
}

// Aarseth 2003, section 2.3: before there is a history, |a| / |jerk| is the only time scale at hand.
void hermite::choose_first_steps() {
    auto& state = bodies_.state();
    for (std::size_t i = 0; i < size(); ++i) {
        const double a = length(bodies_.vector(acceleration, i));
        const double j = length(bodies_.vector(jerk, i));
        if (!std::isfinite(a) || !std::isfinite(j)) refuse_forces(state[time_of][i]);
        // 0/0 and 1/0: nothing acts on it, or it is at rest.
        double step = options_.start_accuracy * a / j;
        if (!(step < options_.largest_step)) step = options_.largest_step;
        if (!(step > 0.0)) step = options_.largest_step * 0x1p-20;
        step = std::exp2(std::floor(std::log2(step)));
        state[step_of][i] = step;
    }
}

void hermite::refuse_forces(double time) const {
    std::string text = "a force is not finite at time " + std::to_string(start_ + time);
    // The state may be some steps old for particles that are not due; those that coincide are found all the
    // same when they started so.
    for (std::size_t i = 0; i < size(); ++i)
        for (std::size_t j = i + 1; j < size(); ++j)
            if (bodies_.vector(position, i) == bodies_.vector(position, j)) {
                text += ": particles " + std::to_string(i) + " and " + std::to_string(j) + " coincide";
                throw error(text + "; move one of them or set a softening above 0");
            }
    throw error(text + "; set a softening above 0 or a smaller eta");
}

target_block::target_block(const hermite& system)
    : system_{&system},
      packed_{1 + system.changed_columns(), system.size()},
      predicted_{system.order() == 4 ? 6U : 9U, system.size()},
      forces_(system.force_columns() * system.size() + slack) {}

void target_block::take(double time, std::span<const std::size_t> which) {
    which_ = which;
    const auto& state = system_->bodies().state();
    for (std::size_t column = 0; column < packed_.count(); ++column) {
        const double* const from = state[column].data();
        double* const to = packed_[column].data();
        for (std::size_t k = 0; k < which.size(); ++k) to[k] = from[which[k]];
    }
    const auto& kernels = system_->kernels_;
    const auto predict = system_->order() == 4 ? kernels.predict4 : kernels.predict6;
    predict(packed_.data(), time, 0, which.size(), predicted_.data());
}

void target_block::sum_forces(std::size_t first, std::size_t last) noexcept {
    std::array<double*, 9> sums{};
    for (std::size_t c = 0; c < system_->force_columns(); ++c) sums[c] = forces_.data() + c * size();
    const auto sum = system_->order() == 4 ? system_->kernels_.jerk : system_->kernels_.snap;
    const double softening = system_->options().softening;
    sum({.source = system_->sources().data(),
         .first = first,
         .last = last,
         .target = predicted_.data(),
         .self = which_.data(),
         .count = size(),
         .softening_squared = softening * softening,
         .sum = sums.data()});
}

void target_block::correct(double time) {
    std::array<const double*, 9> forces{};
    for (std::size_t c = 0; c < system_->force_columns(); ++c) forces[c] = forces_.data() + c * size();
    const auto correct = system_->order() == 4 ? system_->kernels_.correct4 : system_->kernels_.correct6;
    const auto& options = system_->options();
    const double finite =
        correct(packed_.data(), forces.data(), time, {options.accuracy, options.largest_step}, size());
    if (!(finite == 0.0)) system_->refuse_forces(time);
}

void target_block::accept_forces() noexcept {
    for (std::size_t c = 0; c < system_->force_columns(); ++c)
        std::copy_n(forces_.data() + c * size(), size(), packed_[acceleration + c].data());
}

void target_block::put(double time, hermite& to) const noexcept {
    auto& state = to.bodies().state();
    for (std::size_t column = step_of; column < packed_.count(); ++column) {
        const double* const from = packed_[column].data();
        double* const into = state[column].data();
        for (std::size_t k = 0; k < which_.size(); ++k) into[which_[k]] = from[k];
    }
    double* const times = state[time_of].data();
    for (const std::size_t i : which_) times[i] = time;
}

void serial_integrator::start() {
    std::vector<std::size_t> everyone(system_.size());
    std::iota(everyone.begin(), everyone.end(), std::size_t{0});
    const double time = system_.time();
    // The snap needs the accelerations of the sources, so they are summed first.
    for (int pass = system_.order() == 4 ? 1 : 0; pass < 2; ++pass) {
        system_.predict_sources(time, 0, system_.size());
        targets_.take(time, everyone);
        targets_.sum_forces(0, system_.size());
        targets_.accept_forces();
        targets_.put(time, system_);
    }
    system_.choose_first_steps();
}

double serial_integrator::step() {
    const double time = system_.next_time();
    const auto active = system_.due(time, due_);
    system_.predict_sources(time, 0, system_.size());
    targets_.take(time, active);
    targets_.sum_forces(0, system_.size());
    targets_.correct(time);
    targets_.put(time, system_);
    system_.end_block(time);
    return time;
}

}  // namespace tauto::kernels::nbody
