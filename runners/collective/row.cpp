#include "runners/collective/row.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

constexpr double nanosecond = 1e-9;

json point_json(collective_point& point) {
    auto& times = point.nanoseconds;
    return {{"operation", name_of(point.operation)},
            {"words", point.words},
            {"seconds", nanosecond * quantile(times, 0.5)},
            {"least_seconds", nanosecond * quantile(times, 0.0)},
            {"lower_quartile_seconds", nanosecond * quantile(times, 0.25)},
            {"upper_quartile_seconds", nanosecond * quantile(times, 0.75)},
            {"p95_seconds", nanosecond * quantile(times, 0.95)},
            {"repetitions", times.size()},
            {"late", point.late}};
}

json workers_json(const std::vector<int>& rank_cpus) {
    json list = json::array();
    for (std::size_t rank = 0; rank < rank_cpus.size(); ++rank)
        list.push_back({{"thread", rank}, {"cpu", rank_cpus[rank]}});
    return list;
}

}  // namespace

double quantile(std::vector<std::int64_t>& values, double share) {
    std::ranges::sort(values);
    const double place = share * as_double(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double part = place - as_double(below);
    return (1.0 - part) * as_double(values[below]) + part * as_double(values[above]);
}

finished_row collective_row(const description& runtime, const collective_request& asked,
                            collective_result& seen) {
    json points = json::array();
    double logarithms = 0.0;
    timing timed;
    for (auto& point : seen.points) {
        points.push_back(point_json(point));
        logarithms += std::log(points.back()["seconds"].get<double>());
        timed.iterations += std::ssize(point.nanoseconds);
        for (const auto one : point.nanoseconds) timed.timed_seconds += nanosecond * as_double(one);
    }
    timed.batch_seconds = {std::exp(logarithms / as_double(seen.points.size()))};
    json row = row_of(runtime, asked, timed);
    for (const char* name :
         {"chunk", "mean_seconds", "batch_seconds", "batch_iterations", "warmup_iterations"})
        row.erase(name);
    row.update({{"engine", asked.schedule},
                {"sweeps", asked.sweeps},
                {"seed", seen.seed},
                {"clock_seconds", seen.clock_seconds},
                {"points", points},
                {"workers", workers_json(seen.rank_cpus)},
                {"check",
                 {{"passed", seen.wrong_repetitions == 0}, {"wrong_repetitions", seen.wrong_repetitions}}}});
    return std::make_shared<json>(std::move(row));
}

}  // namespace tauto::runner
