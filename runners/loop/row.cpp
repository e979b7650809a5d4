#include "runners/loop/row.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "kernels/instruction_set.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

namespace {

json workers_json(const std::vector<worker_share>& workers) {
    json list = json::array();
    for (const auto& worker : workers)
        list.push_back({{"thread", worker.thread}, {"cpu", worker.cpu}, {"rows", worker.amount}});
    return list;
}

// Seconds of each worker in the body, and of the loops; what is left of the loops it waited. Null for a
// library's own product, whose workers nobody sees.
json waiting_json(const waiting_account& waiting, const std::vector<worker_share>& workers) {
    if (waiting.loops() == 0) return nullptr;
    json each = json::array();
    for (const auto& worker : workers)
        each.push_back({{"thread", worker.thread},
                        {"cpu", worker.cpu},
                        {"working_seconds", as_double(worker.ticks) * waiting.tick_seconds()}});
    json loops = json::array();
    for (const auto& loop : waiting.shown())
        loops.push_back({{"seconds", loop.seconds}, {"working_seconds", loop.working}});
    return {{"loops", waiting.loops()},
            {"seconds", waiting.seconds()},
            {"workers", each},
            {"first_loops", loops}};
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

finished_row loop_row(const description& runtime, const loop_request& asked, const timing& timed,
                      const std::vector<worker_share>& workers, const waiting_account& waiting,
                      const answer_check& check) {
    const auto order = as_double(asked.size);
    json row = row_of(runtime, asked, timed);
    row.update({{"size", asked.size},
                {"kernel", name_of(asked.computes)},
                {"waiting", waiting_json(waiting, workers)},
                {"instruction_set", name_of(best_instruction_set())},
                {"flops_per_iteration", conjugate_gradient::flops_per_iteration(order)},
                {"bytes_per_iteration", conjugate_gradient::bytes_per_iteration(order)},
                {"workers", workers_json(workers)},
                {"width", threads_of(workers).size()},
                {"dropped", false},
                {"check", check_json(check)}});
    return std::make_shared<json>(std::move(row));
}

void write_loops(const std::string& file, const std::vector<loop_time>& loops) {
    std::ostringstream text;
    text.precision(12);
    text << '[';
    for (std::size_t i = 0; i < loops.size(); ++i)
        text << (i == 0 ? "[" : ",\n[") << loops[i].end_seconds << ',' << loops[i].seconds << ']';
    text << "]\n";
    write_file("the trace", file, text.str());
}

}  // namespace tauto::runner
