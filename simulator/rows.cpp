#include "rows.hpp"

#include <algorithm>
#include <istream>
#include <ostream>
#include <set>

#include "balance.hpp"
#include "collective.hpp"
#include "loop.hpp"
#include "nbody.hpp"
#include "tasks.hpp"
#include "threads.hpp"

namespace tauto::sim {

namespace {

constexpr const char* schema = "tautochrone.runner/1";
constexpr int deepest_json = 100;  // a machine is four deep; what is written again is walked by recursion

fields fields_of(const json& request) {
    fields in(request, "a request");
    std::string study;
    in.read("study", study);
    return in;
}

double seconds_of(nanoseconds time) {
    return static_cast<double>(time) * 1e-9;
}

json times_json(const ledger& accounts) {
    return {{"working_seconds", seconds_of(accounts.total(activity::working))},
            {"waiting_seconds", seconds_of(accounts.total(activity::waiting))},
            {"idle_seconds", seconds_of(accounts.total(activity::idle))}};
}

json timeline_json(const ledger& accounts) {
    json list = json::array();
    for (const slice& one : accounts.slices())
        list.push_back(json::array({one.member, activity_names[static_cast<std::size_t>(one.what)], one.begin,
                                    one.end, one.milliwatts}));
    return list;
}

// Time and energy of each member or core, and of the whole machine; they were checked to add up.
json accounts_json(const ledger& accounts) {
    json members = json::array();
    for (std::size_t i = 0; i < accounts.members(); ++i) {
        const auto id = static_cast<actor_id>(i);
        members.push_back({{"working_nanoseconds", accounts.time(id, activity::working)},
                           {"waiting_nanoseconds", accounts.time(id, activity::waiting)},
                           {"idle_nanoseconds", accounts.time(id, activity::idle)},
                           {"picojoules", accounts.picojoules(id)}});
    }
    return {{"end_nanoseconds", accounts.end()},
            {"picojoules", accounts.total_picojoules()},
            {"rest_picojoules", accounts.base_picojoules()},
            {"members", members}};
}

json cores_json(const machine& on, const std::vector<hardware_thread>& threads) {
    std::vector<std::set<int>> cores(on.kinds.size());
    for (const hardware_thread& one : threads) cores[one.kind].insert(one.core);
    json counted = json::object();
    for (std::size_t k = 0; k < cores.size(); ++k) {
        if (!cores[k].empty()) counted[on.kinds[k].name] = cores[k].size();
    }
    return counted;
}

// Ascending.
json cpus_json(const machine& on, const std::vector<hardware_thread>& threads) {
    std::set<int> numbers;
    for (const hardware_thread& one : threads) numbers.insert(cpu_number(on, one));
    return numbers;
}

json head(const machine& on, const char* study) {
    return {{"schema", schema}, {"source", "simulated"}, {"study", study}, {"machine", on.name}};
}

json simulate_loop_row(const machine& on, const json& request) {
    loop_request asked;
    bool accounts = false;
    fields in = fields_of(request);
    in.read("size", asked.size);
    in.read("runtime", asked.runtime);
    in.read("library", asked.library);
    in.read("schedule", asked.schedule);
    in.read("chunk", asked.chunk);
    in.read("placement", asked.placement);
    in.read("kernel", asked.kernel);
    in.read("wait", asked.wait);
    in.read("repetitions", asked.repetitions);
    in.read("timeline", asked.timeline);
    in.read("accounts", accounts);
    in.refuse_others();
    const loop_result found = simulate_loop(on, asked);
    json row = head(on, "loop");
    const bool chunked = loop_schedule_has_chunk(asked.runtime, asked.schedule);
    row.update({{"runtime", asked.runtime},
                {"schedule", asked.schedule},
                {"chunk", chunked ? json(asked.chunk) : json()},
                {"placement", asked.placement},
                {"kernel", asked.kernel},
                {"cpus", cpus_json(on, found.threads)},
                {"size", asked.size},
                {"threads", found.members},
                {"width", found.width},
                {"cores", cores_json(on, found.threads)},
                {"seconds", seconds_of(found.iteration)},
                {"loop_seconds", seconds_of(found.loop)},
                {"fork_join_seconds", seconds_of(found.fork_join)},
                {"memory_bytes", found.memory_bytes},
                {"miss_ratio", found.last_level_bytes > 0 ? json(found.miss_ratio()) : json()},
                {"waiting_share", found.waiting_share},
                {"steals", found.steals},
                {"energy", {{"status", "modelled"}, {"joules", found.joules}}},
                {"rows", found.rows},
                {"times", times_json(found.accounts)},
                {"events", found.events}});
    if (asked.timeline) row["timeline"] = timeline_json(found.accounts);
    if (accounts) row["accounts"] = accounts_json(found.accounts);
    return row;
}

json simulate_tasks_row(const machine& on, const json& request) {
    tasks_request asked;
    bool accounts = false;
    fields in = fields_of(request);
    in.read("tasks", asked.tasks);
    in.read("bytes", asked.bytes);
    in.read("threads", asked.threads);
    in.read("runtime", asked.runtime);
    in.read("schedule", asked.schedule);
    in.read("seconds", asked.seconds);
    in.read("timeline", asked.timeline);
    in.read("accounts", accounts);
    in.refuse_others();
    const tasks_result found = simulate_tasks(on, asked);
    json row = head(on, "mapreduce");
    row.update({{"runtime", asked.runtime},
                {"tasks", asked.tasks},
                {"bytes", asked.bytes},
                {"threads", asked.threads},
                {"cores", cores_json(on, found.where)},
                {"seconds", seconds_of(found.repetition)},
                {"alone_seconds", seconds_of(found.alone)},
                {"task_seconds", found.task_seconds},
                {"waiting_share", found.waiting_share},
                {"cpu_load", found.load},
                {"mean_hertz", found.mean_hertz},
                {"sleeps", found.sleeps},
                {"repetitions", found.repetitions},
                {"energy", {{"status", "modelled"}, {"joules", found.joules}}},
                {"times", times_json(found.accounts)},
                {"events", found.events}});
    if (asked.timeline) row["timeline"] = timeline_json(found.accounts);
    if (accounts) row["accounts"] = accounts_json(found.accounts);
    return row;
}

json simulate_threads_row(const machine& on, const json& request) {
    threads_request asked;
    json threads = json::array();
    bool accounts = false;
    fields in = fields_of(request);
    in.read("threads", threads);
    in.read("until_seconds", asked.until_seconds);
    in.read("timeline", asked.timeline);
    in.read("accounts", accounts);
    in.refuse_others();
    for (const json& one : threads) {
        thread_request wish;
        fields each(one, "a thread");
        each.read("name", wish.name);
        each.read("seconds", wish.seconds);
        each.read("pace", wish.pace);
        each.read("core", wish.core);
        each.read("woken_by", wish.woken_by);
        each.read("irregular", wish.irregular);
        each.refuse_others();
        asked.threads.push_back(wish);
    }
    const threads_result found = simulate_threads(on, asked);
    json each = json::array();
    for (const nanoseconds end : found.finished_each) each.push_back(seconds_of(end));
    json row = head(on, "power");
    row.update({{"threads", asked.threads.size()},
                {"seconds", seconds_of(found.finished)},
                {"thread_seconds", each},
                {"end_seconds", seconds_of(found.end)},
                {"energy",
                 {{"status", "modelled"},
                  {"joules", found.package_joules_to_finish},
                  {"common_joules", found.package_joules},
                  {"platform_common_joules", found.platform_joules}}},
                {"mean_hertz", found.mean_hertz},
                {"migrations", found.migrations},
                {"times", times_json(found.accounts)},
                {"events", found.events}});
    if (asked.timeline) row["timeline"] = timeline_json(found.accounts);
    if (accounts) row["accounts"] = accounts_json(found.accounts);
    return row;
}

json simulate_collective_row(const machine& on, const json& request) {
    collective_request asked;
    fields in = fields_of(request);
    in.read("operation", asked.operation);
    in.read("library", asked.library);
    in.read("ranks", asked.ranks);
    in.read("words", asked.words);
    in.refuse_others();
    const collective_result found = simulate_collective(on, asked);
    json row = head(on, "collective");
    row.update({{"operation", asked.operation},
                {"library", asked.library},
                {"ranks", asked.ranks},
                {"words", asked.words},
                {"seconds", found.seconds},
                {"algorithm", found.algorithm},
                {"messages", found.messages},
                {"bytes_moved", found.bytes_moved}});
    return row;
}

json simulate_nbody_row(const machine& on, const json& request) {
    nbody_request asked;
    fields in = fields_of(request);
    in.read("particles", asked.particles);
    in.read("active", asked.active);
    in.read("ranks", asked.ranks);
    in.read("scheme", asked.scheme);
    in.read("engine", asked.engine);
    in.refuse_others();
    const nbody_result found = simulate_nbody(on, asked);
    json row = head(on, "nbody");
    row.update({{"particles", asked.particles},
                {"active", asked.active},
                {"ranks", asked.scheme == "serial" ? 1 : asked.ranks},
                {"scheme", asked.scheme},
                {"engine", asked.engine},
                {"seconds", found.seconds},
                {"serial_seconds", found.serial_seconds},
                {"force_seconds", found.force_seconds},
                {"predict_seconds", found.predict_seconds},
                {"correct_seconds", found.correct_seconds},
                {"exchange_seconds", found.exchange_seconds},
                {"exchange_latency_seconds", found.exchange_latency_seconds},
                {"fork_join_seconds", found.fork_join_seconds}});
    return row;
}

json simulate_balance_row(const machine& on, const json& request) {
    balance_request asked;
    asked.move_seconds = static_cast<double>(on.move + on.migration_cost) * 1e-9;
    bool accounts = false;
    fields in = fields_of(request);
    in.read("region_seconds", asked.region_seconds);
    in.read("threads", asked.threads);
    in.read("placement", asked.placement);
    in.read("policy", asked.policy);
    in.read("noisy_cores", asked.noisy_cores);
    in.read("regions", asked.regions);
    in.read("look_seconds", asked.look_seconds);
    in.read("pull_seconds", asked.pull_seconds);
    in.read("move_seconds", asked.move_seconds);
    in.read("timeline", asked.timeline);
    in.read("accounts", accounts);
    in.refuse_others();
    const balance_result found = simulate_balance(on, asked);
    json row = head(on, "balance");
    row.update({{"policy", asked.policy},
                {"placement", asked.placement},
                {"region_seconds", asked.region_seconds},
                {"threads", asked.threads > 0 ? asked.threads : static_cast<int>(found.where.size())},
                {"cores", cores_json(on, found.where)},
                {"seconds", seconds_of(found.region)},
                {"bound_seconds", found.bound * 1e-9},
                {"moves", found.moves},
                {"waiting_share", found.waiting_share},
                {"energy", {{"status", "modelled"}, {"joules", found.joules}}},
                {"times", times_json(found.accounts)}});
    if (asked.timeline) row["timeline"] = timeline_json(found.accounts);
    if (accounts) row["accounts"] = accounts_json(found.accounts);
    return row;
}

}  // namespace

json simulate(const machine& on, const json& request) {
    if (!request.is_object()) throw input_error("a request must be a JSON object");
    const std::string study = request.contains("study") && request.at("study").is_string()
                                  ? request.at("study").get<std::string>()
                                  : std::string();
    if (study == "loop") return simulate_loop_row(on, request);
    if (study == "mapreduce") return simulate_tasks_row(on, request);
    if (study == "power") return simulate_threads_row(on, request);
    if (study == "collective") return simulate_collective_row(on, request);
    if (study == "nbody") return simulate_nbody_row(on, request);
    if (study == "balance") return simulate_balance_row(on, request);
    throw input_error("study '" + study +
                      "' is unknown; choose from loop, mapreduce, power, collective, nbody, balance");
}

json read_json(const std::string& text, const std::string& what) {
    const auto not_too_deep = [&](int depth, json::parse_event_t, const json&) {
        if (depth > deepest_json) throw input_error(what + " is nested too deeply; send plain requests");
        return true;
    };
    json read = json::parse(text, not_too_deep, false);
    if (read.is_discarded()) throw input_error(what + " is not JSON");
    return read;
}

void answer(std::istream& requests, std::ostream& rows, std::optional<machine> on) {
    std::string line;
    for (int number = 1; std::getline(requests, line); ++number) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        const json request = read_json(line, "line " + std::to_string(number));
        if (request.is_object() && request.contains("machine")) {
            on = read_machine(request.at("machine"));
            continue;
        }
        if (!on) throw input_error("no machine was named; give one with --machine");
        rows << simulate(*on, request).dump() << std::endl;
    }
}

}  // namespace tauto::sim
