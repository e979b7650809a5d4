#include "runners/shared/command_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runners/shared/cpus.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"

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

std::string schedules_of(const description& runtime) {
    return listed(runtime.schedules, [](const auto& schedule) { return schedule.name; });
}

}  // namespace

void require_from_one(const char* option, const std::optional<std::int64_t>& value) {
    if (value && *value < 1)
        throw input_error(std::string{option} + " is " + std::to_string(*value) + "; it must be 1 or more");
}

void require_at_most(const char* option, std::int64_t value, std::int64_t most) {
    if (value > most)
        throw input_error(std::string{option} + " is " + std::to_string(value) + "; it must be " +
                          std::to_string(most) + " or less");
}

command_line::command_line(const std::string& purpose, const std::string& pieces, std::string_view executable,
                           const description& runtime, options& chosen)
    : runtime_{runtime},
      chosen_{chosen},
      parser_{purpose + ", run by " + runtime.runtime + ".", std::string{executable}} {
    add("--describe", chosen_.describe, "Print what this runtime is and has as JSON, and exit");
    add("--threads", threads_, "Workers (default: one for each CPU)");
    if (runtime.has_ranks)
        add("--threads-per-rank", chosen_.threads_per_rank,
            "Of the workers, those that are threads of one process");
    add("--cpus", cpus_, "CPUs to pin the workers to, such as 0,1 (default: all allowed)");
    add("--schedule", chosen_.schedule, "One of " + schedules_of(runtime));
    add("--chunk", chosen_.chunk, pieces + " that a worker takes at a time");
    add("--wait", chosen_.wait, "How idle workers wait");
    add("--warmup-seconds", chosen_.warmup_seconds, "Untimed start");
    add("--min-seconds", chosen_.min_seconds, "Least length of the timed part");
    add("--duration", duration_, "Length of the timed part, in place of --min-seconds");
    add("--max-iterations", chosen_.max_iterations, "Stop timing after this many iterations");
}

bool command_line::parse(int argc, char** argv) {
    try {
        parser_.parse(argc, argv);
    } catch (const help_was_printed& help) {
        std::exit(help.status);
    } catch (const tauto::error& error) {
        throw input_error(error.what());
    }
    if (chosen_.describe) return false;
    if (duration_) {
        require_positive("--duration", *duration_);
        chosen_.min_seconds = *duration_;
    }
    return true;
}

void command_line::check() {
    choose_schedule();
    if (std::ranges::find(runtime_.wait_policies, chosen_.wait) == runtime_.wait_policies.end())
        throw input_error(runtime_.runtime + " has no wait policy '" + chosen_.wait + "'; it has " +
                          listed(runtime_.wait_policies, [](const auto& policy) { return policy; }));
    require_positive("--min-seconds", chosen_.min_seconds);
    if (!(chosen_.warmup_seconds >= 0.0) || !std::isfinite(chosen_.warmup_seconds))
        throw input_error("--warmup-seconds must be a number, 0 or more");
    require_from_one("--max-iterations", chosen_.max_iterations);
    choose_workers();
}

void command_line::choose_schedule() {
    if (chosen_.schedule.empty()) chosen_.schedule = runtime_.schedules.front().name;
    const auto found = std::ranges::find(runtime_.schedules, chosen_.schedule, &description::schedule::name);
    if (found == runtime_.schedules.end())
        throw input_error(runtime_.runtime + " has no schedule '" + chosen_.schedule + "'; it has " +
                          schedules_of(runtime_));
    require_from_one("--chunk", chosen_.chunk);
    if (chosen_.chunk && !found->has_chunk)
        throw input_error("schedule '" + chosen_.schedule + "' of " + runtime_.runtime + " takes no --chunk");
    if (found->has_chunk && !chosen_.chunk) chosen_.chunk = runtime_.default_chunk;
}

int command_line::usual_threads() const {
    if (runtime_.ranks > 0) return runtime_.ranks * chosen_.threads_per_rank;
    const int cpus = std::min(int_size(chosen_.cpus), runtime_.most_threads);
    const int each = std::max(1, chosen_.threads_per_rank);
    return std::max(each, cpus / each * each);
}

void command_line::require_whole_ranks() const {
    const int each = chosen_.threads_per_rank;
    require_from_one("--threads-per-rank", each);
    if (chosen_.threads % each != 0)
        throw input_error("--threads is " + std::to_string(chosen_.threads) + " and --threads-per-rank is " +
                          std::to_string(each) + "; the first must be a multiple of the second");
    if (runtime_.ranks > 0 && chosen_.threads != runtime_.ranks * each)
        throw input_error("the launcher started " + std::to_string(runtime_.ranks) + " ranks of " +
                          std::to_string(each) + " threads and --threads is " +
                          std::to_string(chosen_.threads) + "; leave --threads out, or give " +
                          std::to_string(runtime_.ranks * each));
}

void command_line::choose_workers() {
    const std::vector<int> allowed = cpus_at_start();
    chosen_.cpus = cpus_ ? parse_cpus(*cpus_) : allowed;
    for (const int cpu : chosen_.cpus)
        if (std::ranges::find(allowed, cpu) == allowed.end())
            throw input_error("CPU " + std::to_string(cpu) +
                              " does not exist or is not allowed; this process may use " +
                              cpus_text(allowed));
    chosen_.threads = threads_.value_or(usual_threads());
    if (runtime_.has_ranks) require_whole_ranks();
    if (chosen_.threads < 1 || chosen_.threads > runtime_.most_threads)
        throw input_error("--threads is " + std::to_string(chosen_.threads) + "; " + runtime_.runtime +
                          " takes from 1 to " + std::to_string(runtime_.most_threads));
    if (usize(chosen_.threads) < chosen_.cpus.size()) chosen_.cpus.resize(usize(chosen_.threads));
}

}  // namespace tauto::runner
