#include "runners/common/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "runners/common/cpus.hpp"
#include "runners/common/error.hpp"
#include "runners/common/memory.hpp"

namespace tauto::runner {

namespace {

template <class Items, class Name>
std::string listed(const Items& items, Name&& name_of) {
    std::string text;
    for (const auto& item : items) text += (text.empty() ? "" : ", ") + std::string{name_of(item)};
    return text;
}

void require_positive(const char* option, double value) {
    if (!(value > 0.0) || !std::isfinite(value))
        throw input_error(std::string{option} + " must be a number above 0");
}

void require_from_one(const char* option, const std::optional<std::int64_t>& value) {
    if (value && *value < 1)
        throw input_error(std::string{option} + " is " + std::to_string(*value) + "; it must be 1 or more");
}

void choose_workers(options& chosen, const description& runtime, const std::optional<std::string>& cpus,
                    const std::optional<int>& threads) {
    const std::vector<int> allowed = cpus_at_start();
    chosen.cpus = cpus ? parse_cpus(*cpus) : allowed;
    for (const int cpu : chosen.cpus)
        if (std::ranges::find(allowed, cpu) == allowed.end())
            throw input_error("CPU " + std::to_string(cpu) +
                              " does not exist or is not allowed; this process may use " +
                              cpus_text(allowed));
    chosen.threads = threads.value_or(std::min(static_cast<int>(chosen.cpus.size()), runtime.most_threads));
    if (chosen.threads < 1 || chosen.threads > runtime.most_threads)
        throw input_error("--threads is " + std::to_string(chosen.threads) + "; " + runtime.runtime +
                          " takes from 1 to " + std::to_string(runtime.most_threads));
    if (static_cast<std::size_t>(chosen.threads) < chosen.cpus.size())
        chosen.cpus.resize(static_cast<std::size_t>(chosen.threads));
}

void choose_schedule(options& chosen, const description& runtime) {
    if (chosen.schedule.empty()) chosen.schedule = runtime.schedules.front().name;
    const auto found = std::ranges::find(runtime.schedules, chosen.schedule, &description::schedule::name);
    if (found == runtime.schedules.end())
        throw input_error(runtime.runtime + " has no schedule '" + chosen.schedule + "'; it has " +
                          listed(runtime.schedules, [](const auto& schedule) { return schedule.name; }));
    require_from_one("--chunk", chosen.chunk);
    if (chosen.chunk && !found->has_chunk)
        throw input_error("schedule '" + chosen.schedule + "' of " + runtime.runtime + " takes no --chunk");
    if (found->has_chunk && !chosen.chunk) chosen.chunk = runtime.default_chunk;
}

void check(options& chosen, const description& runtime) {
    if (chosen.size < 1)
        throw input_error("--size is " + std::to_string(chosen.size) + "; it must be 1 or more");
    choose_schedule(chosen, runtime);
    if (std::ranges::find(runtime.wait_policies, chosen.wait) == runtime.wait_policies.end())
        throw input_error(runtime.runtime + " has no wait policy '" + chosen.wait + "'; it has " +
                          listed(runtime.wait_policies, [](const auto& policy) { return policy; }));
    require_positive("--min-seconds", chosen.min_seconds);
    if (!(chosen.warmup_seconds >= 0.0) || !std::isfinite(chosen.warmup_seconds))
        throw input_error("--warmup-seconds must be a number, 0 or more");
    require_from_one("--max-iterations", chosen.max_iterations);
    require_from_one("--solution-iterations", chosen.solution_iterations);
    require_memory_for(static_cast<double>(chosen.size));
}

}  // namespace

options parse_options(int argc, char** argv, std::string_view executable, const description& runtime) {
    options chosen;
    std::optional<std::string> cpus;
    std::optional<int> threads;
    std::optional<double> duration;
    CLI::App app{
        "Conjugate gradients on a dense single-precision system, its product run by " + runtime.runtime + ".",
        std::string{executable}};
    app.add_flag("--describe", chosen.describe, "Print what this runtime is and has as JSON, and exit");
    auto* size = app.add_option("--size", chosen.size, "Unknowns: rows and columns of the matrix");
    app.add_option("--threads", threads, "Workers (default: one for each CPU)");
    app.add_option("--cpus", cpus, "CPUs to pin the workers to, such as 0,1 (default: all allowed)");
    app.add_option("--schedule", chosen.schedule,
                   "One of " + listed(runtime.schedules, [](const auto& schedule) { return schedule.name; }));
    app.add_option("--chunk", chosen.chunk, "Rows that a worker takes at a time");
    app.add_option("--wait", chosen.wait, "How idle workers wait")->capture_default_str();
    app.add_option("--warmup-seconds", chosen.warmup_seconds, "Untimed start")->capture_default_str();
    app.add_option("--min-seconds", chosen.min_seconds, "Least length of the timed part")
        ->capture_default_str();
    app.add_option("--duration", duration, "Length of the timed part, in place of --min-seconds");
    app.add_option("--max-iterations", chosen.max_iterations, "Stop timing after so many iterations");
    app.add_option("--solution-iterations", chosen.solution_iterations,
                   "Iterations of a solve (default: until the residual is below 1e-5, at most 60)");
    app.add_option("--trace-loops", chosen.trace_file,
                   "Write end time and seconds of every product to this file");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        std::exit(app.exit(help));
    } catch (const CLI::ParseError& error) {
        throw input_error(std::string{error.what()} + "; see --help");
    }
    if (chosen.describe) return chosen;
    if (size->count() == 0)
        throw input_error("--size is missing; give the number of unknowns, such as --size 2000");
    if (duration) {
        require_positive("--duration", *duration);
        chosen.min_seconds = *duration;
    }
    check(chosen, runtime);
    choose_workers(chosen, runtime, cpus, threads);
    return chosen;
}

}  // namespace tauto::runner
