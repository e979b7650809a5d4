#include "runners/mapreduce/row.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/fnv1a.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

// Tasks and seconds are sums over all accounted repetitions.
json workers_json(const mapreduce_result& seen) {
    json list = json::array();
    for (const auto& worker : seen.workers)
        list.push_back({{"thread", worker.thread},
                        {"cpu", worker.cpu},
                        {"tasks", worker.amount},
                        {"useful_seconds", as_double(worker.ticks) * seen.tick_seconds}});
    return list;
}

json sleeps_json(const std::vector<sleeping_place>& places) {
    json list = json::array();
    for (const auto& place : places)
        list.push_back({{"place", place.name}, {"threads", place.threads}, {"addresses", place.addresses}});
    return list;
}

json check_json(const mapreduce_result& seen) {
    return {{"passed", seen.wrong_repetitions == 0},
            {"wrong_repetitions", seen.wrong_repetitions},
            {"sum", fnv1a_text(seen.sum)},
            {"right_sum", fnv1a_text(seen.right_sum)}};
}

double useful_seconds_of(const mapreduce_result& seen) {
    double ticks = 0.0;
    for (const auto& worker : seen.workers) ticks += as_double(worker.ticks);
    return ticks * seen.tick_seconds / as_double(seen.accounted_repetitions);
}

json accounted_json(const mapreduce_request& asked, const mapreduce_result& seen) {
    const double useful = useful_seconds_of(seen);
    const double accounted = seen.accounted_seconds / as_double(seen.accounted_repetitions);
    json found = {{"accounted_repetitions", seen.accounted_repetitions},
                  {"useful_seconds", useful},
                  {"accounted_seconds", accounted},
                  {"waiting_share", waiting_share(useful, accounted, asked.cpus.size())}};
    const auto add = [&](const char* name, std::int64_t waiting_parts::*part) {
        const double whole = seen.accounted_seconds * as_double(asked.cpus.size());
        found[name] =
            seen.waiting ? json(as_double((*seen.waiting).*part) * seen.tick_seconds / whole) : json(nullptr);
    };
    add("starting_share", &waiting_parts::starting);
    add("between_share", &waiting_parts::between);
    add("unfed_share", &waiting_parts::unfed);
    add("ending_share", &waiting_parts::ending);
    add("returning_share", &waiting_parts::returning);
    return found;
}

}  // namespace

double ideal_seconds(const mapreduce_request& asked, double task_seconds) {
    return std::ceil(as_double(asked.tasks) / as_double(asked.cpus.size())) * task_seconds;
}

double waiting_share(double useful_seconds, double accounted_seconds, std::size_t cpus) {
    return std::max(0.0, 1.0 - useful_seconds / (accounted_seconds * as_double(cpus)));
}

finished_row mapreduce_row(const description& runtime, const mapreduce_request& asked,
                           const mapreduce_result& seen) {
    json row = row_of(runtime, asked, seen.timed);
    row.update({{"tasks", asked.tasks},
                {"bytes", asked.bytes},
                {"task_seconds", seen.task_seconds},
                {"ideal_seconds", ideal_seconds(asked, seen.task_seconds)}});
    row.update(accounted_json(asked, seen));
    row.update(usage_json(asked, seen.timed, seen.usage));
    if (seen.sleeps) row["sleeps"] = sleeps_json(*seen.sleeps);
    row.update({{"workers", workers_json(seen)},
                {"width", threads_of(seen.workers).size()},
                {"dropped", false},
                {"check", check_json(seen)}});
    return std::make_shared<json>(std::move(row));
}

}  // namespace tauto::runner
