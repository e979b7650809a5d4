#include "runners/shared/row.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"
#include "runtime/own_file.hpp"

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

}  // namespace

void print_description(const description& runtime) {
    json schedules = json::array();
    json chunked = json::array();
    for (const auto& schedule : runtime.schedules) {
        schedules.push_back(schedule.name);
        if (schedule.has_chunk) chunked.push_back(schedule.name);
    }
    print_row({{"schema", "tautochrone.runner/1"},
               {"runtime", runtime.runtime},
               {"library", text_or_null(runtime.library)},
               {"version", text_or_null(runtime.library_version)},
               {"schedules", schedules},
               {"schedules_with_chunk", chunked},
               {"default_chunk", chunked.empty() ? json{} : json(runtime.default_chunk)},
               {"wait_policies", runtime.wait_policies}});
}

void print_row(const json& row) {
    std::cout << row.dump() << std::endl;
}

void set_field(json& row, const char* key,
               const std::variant<bool, std::int64_t, double, std::string, std::vector<double>>& value) {
    std::visit([&](const auto& field) { row[key] = field; }, value);
}

json row_of(const description& runtime, const options& asked, const timing& timed) {
    return {{"schema", "tautochrone.runner/1"},
            {"runtime", runtime.runtime},
            {"library", text_or_null(runtime.library)},
            {"library_version", text_or_null(runtime.library_version)},
            {"schedule", asked.schedule},
            {"chunk", value_or_null(asked.chunk)},
            {"threads", asked.threads},
            {"cpus", asked.cpus},
            {"wait", asked.wait},
            {"seconds", median(timed.batch_seconds)},
            {"mean_seconds", timed.timed_seconds / as_double(timed.iterations)},
            {"batch_seconds", condensed(timed.batch_seconds, most_batches)},
            {"batch_iterations", timed.batch_iterations},
            {"iterations", timed.iterations},
            {"warmup_iterations", timed.warmup_iterations},
            {"timed_seconds", timed.timed_seconds}};
}

json usage_json(const options& asked, const timing& timed, const process_usage& usage) {
    const auto iterations = as_double(timed.iterations);
    return {{"cpu_load", usage.cpu_seconds / (timed.timed_seconds * as_double(asked.cpus.size()))},
            {"voluntary_switches", as_double(usage.voluntary_switches) / iterations},
            {"involuntary_switches", as_double(usage.involuntary_switches) / iterations}};
}

void write_file(std::string_view what, const std::string& file, std::string_view content) {
    int error = tauto::detail::write_own_file(file, content);
    if (error == 0) return;
    throw input_error(
        "cannot write " + std::string{what} + " to '" + file +
        "': " + tauto::detail::words_of_own_file(error, std::generic_category().message(error).c_str()) +
        "; check the folder, permissions and free space");
}

}  // namespace tauto::runner
