#include "runners/nbody/row.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/fnv1a.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

struct active_class {
    std::vector<double> seconds;
    std::vector<double> predicted;
    std::vector<double> active;
    double total = 0.0;
    double shared = 0.0;
    std::map<std::string, std::int64_t> schemes;
    std::map<std::string, std::int64_t> widths;
};

// By power of two of the active count.
json classes_json(const std::vector<block_sample>& blocks) {
    std::map<std::size_t, active_class> classes;
    for (const auto& block : blocks) {
        auto& one = classes[std::bit_floor(block.active)];
        one.seconds.push_back(block.seconds);
        one.active.push_back(as_double(block.active));
        if (block.predicted_seconds > 0.0) one.predicted.push_back(block.predicted_seconds);
        one.total += block.seconds;
        one.shared += block.shared_seconds;
        ++one.schemes[block.scheme];
        ++one.widths[std::to_string(block.width)];
    }
    json list = json::array();
    for (const auto& [from, one] : classes)
        list.push_back(
            {{"active_from", from},
             {"active_below", 2 * from},
             {"blocks", one.seconds.size()},
             {"median_active", median(one.active)},
             {"median_seconds", median(one.seconds)},
             {"total_seconds", one.total},
             {"predicted_median_seconds", one.predicted.empty() ? json{} : json(median(one.predicted))},
             {"shared_share", one.shared / one.total},
             {"schemes", one.schemes},
             {"widths", one.widths}});
    return list;
}

json curve_json(const length_curve& curve) {
    json points = json::array();
    for (std::size_t k = 0; k < curve.words().size(); ++k)
        points.push_back(json::array({curve.words()[k], curve.seconds()[k]}));
    return points;
}

// The pace of the first members for each width that is looked at.
json paces_json(const cost_model& model) {
    json points = json::array();
    for (const int width : widths_for(model.members, model.paces))
        points.push_back(json::array({width, model.pace_of(width)}));
    return points;
}

// The model's constants, so that other machines can be predicted with them.
json model_json(const cost_model& model) {
    return {{"members", model.members},
            {"pair_seconds", model.pair},
            {"target_force_seconds", model.target_force},
            {"source_seconds", model.source},
            {"target_seconds", model.target},
            {"put_seconds", model.put},
            {"scan_seconds", model.scan},
            {"block_seconds", model.block},
            {"changed_words", model.changed_words},
            {"force_words", model.force_words},
            {"paces", paces_json(model)},
            {"gather", curve_json(model.gather)},
            {"gather_one", curve_json(model.gather_one)},
            {"reduce", curve_json(model.reduce)}};
}

struct totals {
    double shared_seconds = 0.0;
    double particle_steps = 0.0;
};

totals totals_of(const std::vector<block_sample>& blocks) {
    totals sum;
    for (const auto& block : blocks) {
        sum.shared_seconds += block.shared_seconds;
        sum.particle_steps += as_double(block.active);
    }
    return sum;
}

double change(const kernels::nbody::vector3& before, const kernels::nbody::vector3& after) {
    double squared = 0.0;
    for (std::size_t c = 0; c < 3; ++c) squared += (after[c] - before[c]) * (after[c] - before[c]);
    return std::sqrt(squared);
}

}  // namespace

double energy_tolerance(const nbody_request& asked) {
    const int order = asked.hermite.order;
    const double usual = kernels::nbody::usual_accuracy(order);
    const double eta = asked.hermite.accuracy > 0.0 ? asked.hermite.accuracy : usual;
    return 1e-4 * std::max(1.0, std::pow(eta / usual, order));
}

bool passed(const nbody_request& asked, const nbody_result& seen) {
    return kernels::nbody::energy_error(seen.before, seen.last.after) <= energy_tolerance(asked) &&
           seen.different_runs == 0;
}

finished_row nbody_row(const description& runtime, const nbody_request& asked, const nbody_result& seen) {
    const auto& blocks = seen.last.blocks;
    const totals sum = totals_of(blocks);
    const auto particles = as_double(asked.particles);
    json row = row_of(runtime, asked, seen.timed);
    row.update({{"scheme", asked.schedule},
                {"particles", asked.particles},
                {"order", asked.hermite.order},
                {"softening", asked.hermite.softening},
                {"eta", asked.hermite.accuracy},
                {"largest_step", asked.hermite.largest_step},
                {"seed", asked.seed},
                {"snapshot", asked.snapshot ? json(*asked.snapshot) : json{}},
                {"instructions", name_of(asked.hermite.instructions)},
                {"end_time", blocks.empty() ? json{} : json(blocks.back().time)},
                {"blocks", blocks.size()},
                {"particle_steps", sum.particle_steps},
                {"mean_active", sum.particle_steps / as_double(blocks.size())},
                {"pairs_per_second", sum.particle_steps * particles / seen.last.seconds},
                {"start_seconds", seen.last.start_seconds},
                {"shared_share", sum.shared_seconds / seen.last.seconds},
                {"predicted", !blocks.empty() && blocks.back().predicted_seconds > 0.0},
                {"classes", classes_json(blocks)},
                {"model", seen.last.model ? model_json(*seen.last.model) : json{}},
                {"width", threads_of(seen.workers).size()},
                {"dropped", false}});
    row["check"] = {
        {"passed", passed(asked, seen)},
        {"energy_error", kernels::nbody::energy_error(seen.before, seen.last.after)},
        {"tolerance", energy_tolerance(asked)},
        {"energy", seen.last.after.energy()},
        {"momentum_change", change(seen.before.momentum, seen.last.after.momentum)},
        {"angular_momentum_change", change(seen.before.angular_momentum, seen.last.after.angular_momentum)},
        {"different_runs", seen.different_runs},
        {"state_fnv1a", fnv1a_text(seen.last.state_hash)}};
    return std::make_shared<json>(std::move(row));
}

}  // namespace tauto::runner
