#include "runners/shared/job.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runners/shared/signed.hpp"

namespace tauto::runner {

double imbalance_of(const std::vector<busy_worker>& workers) {
    double most = 0.0;
    double sum = 0.0;
    for (const auto& worker : workers) {
        most = std::max(most, worker.busy_seconds);
        sum += worker.busy_seconds;
    }
    return sum > 0.0 ? most * as_double(workers.size()) / sum : 1.0;
}

json job::detail(double) const {
    return json::object();
}

finished_row job_row(const description& runtime, const options& asked, const timing& timed,
                     const process_usage& usage, const std::vector<busy_worker>& workers, const job& work,
                     const job_answer& answer) {
    const auto repetitions = as_double(timed.iterations);
    json each = json::array();
    double busy_seconds = 0.0;
    for (const auto& worker : workers) {
        each.push_back({{"thread", worker.thread},
                        {"cpu", worker.cpu},
                        {"does", worker.does},
                        {"busy_seconds", worker.busy_seconds / repetitions}});
        busy_seconds += worker.busy_seconds / repetitions;
    }
    json row = row_of(runtime, asked, timed);
    row.update({{"busy_seconds", busy_seconds}, {"imbalance", imbalance_of(workers)}});
    row.update(usage_json(asked, timed, usage));
    row.update({{"width", workers.size()}, {"workers", each}});
    row.update(work.detail(repetitions));
    row["check"] = {{"passed", answer.passed}, {"answer", answer.answer}};
    return std::make_shared<json>(std::move(row));
}

}  // namespace tauto::runner
