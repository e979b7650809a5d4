#include "runners/common/row.hpp"

#include <fstream>

#include "kernels/instruction_set.hpp"
#include "runners/common/error.hpp"

namespace tauto::runner {

namespace {

constexpr std::size_t most_batches = 64;

json text_or_null(const std::string& text) {
    return text.empty() ? json{} : json(text);
}

template <class Value>
json value_or_null(const std::optional<Value>& value) {
    return value ? json(*value) : json{};
}

json workers_json(const std::vector<worker_rows>& workers) {
    json list = json::array();
    for (const auto& worker : workers)
        list.push_back({{"thread", worker.thread}, {"cpu", worker.cpu}, {"rows", worker.rows}});
    return list;
}

json check_json(const answer_check& check) {
    return {{"passed", check.passed},
            {"relative_residual", check.relative_residual},
            {"relative_error", check.relative_error},
            {"solution_fnv1a", check.solution_fnv1a},
            {"solution_iterations", check.iterations},
            {"tolerance", check.tolerance}};
}

}  // namespace

json describe(const description& runtime) {
    json schedules = json::array();
    json chunked = json::array();
    for (const auto& schedule : runtime.schedules) {
        schedules.push_back(schedule.name);
        if (schedule.has_chunk) chunked.push_back(schedule.name);
    }
    return {{"schema", "tautochrone.runner/1"},
            {"runtime", runtime.runtime},
            {"library", text_or_null(runtime.library)},
            {"version", text_or_null(runtime.library_version)},
            {"schedules", schedules},
            {"schedules_with_chunk", chunked},
            {"default_chunk", chunked.empty() ? json{} : json(runtime.default_chunk)},
            {"wait_policies", runtime.wait_policies}};
}

json row_of(const description& runtime, const options& asked, const timing& timed,
            const std::vector<worker_rows>& workers, const answer_check& check) {
    const auto order = static_cast<double>(asked.size);
    return {{"schema", "tautochrone.runner/1"},
            {"runtime", runtime.runtime},
            {"library", text_or_null(runtime.library)},
            {"library_version", text_or_null(runtime.library_version)},
            {"schedule", asked.schedule},
            {"chunk", value_or_null(asked.chunk)},
            {"threads", asked.threads},
            {"cpus", asked.cpus},
            {"wait", asked.wait},
            {"size", asked.size},
            {"instruction_set", name_of(best_instruction_set())},
            {"seconds", median(timed.batch_seconds)},
            {"mean_seconds", timed.timed_seconds / static_cast<double>(timed.iterations)},
            {"batch_seconds", condensed(timed.batch_seconds, most_batches)},
            {"batch_iterations", timed.batch_iterations},
            {"iterations", timed.iterations},
            {"warmup_iterations", timed.warmup_iterations},
            {"timed_seconds", timed.timed_seconds},
            {"flops_per_iteration", conjugate_gradient::flops_per_iteration(order)},
            {"bytes_per_iteration", conjugate_gradient::bytes_per_iteration(order)},
            {"workers", workers_json(workers)},
            {"width", threads_of(workers).size()},
            {"dropped", false},
            {"check", check_json(check)}};
}

void write_trace(const std::filesystem::path& file, const std::vector<loop_time>& loops) {
    std::ofstream stream{file};
    stream.precision(12);
    stream << '[';
    for (std::size_t i = 0; i < loops.size(); ++i)
        stream << (i == 0 ? "[" : ",\n[") << loops[i].end_seconds << ',' << loops[i].seconds << ']';
    stream << "]\n";
    if (!stream.flush()) throw input_error("cannot write the trace to '" + file.string() + "'");
}

}  // namespace tauto::runner
