#include "balance/answer.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace tauto::balance {

namespace {

std::string percent(double part) {
    return std::to_string(std::lround(100 * part));
}

// "21 % less time than Linux alone (18 to 24 %, 9 pairs of windows)"; where work is estimated: "by CPU time
// 27 % more work than with Linux alone (22 to 32 %, 9 pairs of windows)".
std::string gain(const paired_ratio& ratio, bool estimated) {
    const std::string pairs =
        std::to_string(ratio.rounds) + (ratio.rounds == 1 ? " pair of windows" : " pairs of windows");
    if (!std::isfinite(ratio.low) || !std::isfinite(ratio.high))
        return "what that brought is not known: " + pairs + " with Linux alone cannot tell";
    const double seen = estimated ? 1 / ratio.ratio : ratio.ratio;
    const auto [low, high] =
        estimated ? std::pair(1 / ratio.high, 1 / ratio.low) : std::pair(ratio.low, ratio.high);
    const bool less = seen <= 1;
    const auto part = [&](double value) { return percent(less ? 1 - value : value - 1); };
    return (estimated ? "by CPU time " : "") + part(seen) + " % " + (less ? "less" : "more") +
           (estimated ? " work than with" : " time than") + " Linux alone (" + part(less ? high : low) +
           " to " + part(less ? low : high) + " %, " + pairs + ")" +
           (estimated ? ", which need not be progress" : "");
}

nlohmann::json number(double value) {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
}

nlohmann::json seconds_of_each_way(const account& what) {
    return {{"left_alone", what.seconds_of[0]},
            {"moved", what.seconds_of[1]},
            {"loops_shared_out_by_speed", what.seconds_of[2]},
            {"on_the_fastest_alone", what.seconds_of[3]}};
}

// What was done for most of the time that was not left alone: ", mostly ..."
std::string most_done(const account& what) {
    const auto most = std::max_element(what.seconds_of.begin() + 1, what.seconds_of.end());
    if (*most == 0) return "";
    if (2 * what.handed_over > what.moves) return ", mostly onto the CPUs of threads that had ended";
    return std::string(", mostly ") + in_words(static_cast<way>(most - what.seconds_of.begin()));
}

}  // namespace

void answer::fill(const controller& from) {
    what = from.report();
    ratio = from.what_it_did().ratio();
    estimated = from.what_it_did().is_estimated();
    kept = from.what_it_did().ever_kept();
    spun = from.what_it_did().spun_alone();
    reason = from.what_it_did().reason();
}

std::string in_words(const answer& found) {
    std::string text;
    if (found.what.moves > 0)
        text = std::to_string(found.what.threads_moved) + " of " + std::to_string(found.what.threads_seen) +
               " threads of " + found.name + " moved " + std::to_string(found.what.moves) + " times" +
               most_done(found.what);
    if (found.in_a_row > 0)
        text += (text.empty() ? "in " : "; in ") + std::to_string(found.in_a_row) +
                " short regions a thread of a CPU ran several parts, one after the other";
    if (found.spun > 0)
        text += (text.empty() ? "" : "; ") + ("spinning was " + percent(found.spun)) +
                " % of their CPU time with Linux alone";
    if (found.ratio.rounds > 0) text += (text.empty() ? "" : "; ") + gain(found.ratio, found.estimated);
    if (!found.reason.empty()) text += (text.empty() ? "" : "; ") + ("left alone: " + found.reason);
    if (!found.reason.empty() && found.what.code_was_hidden)
        text +=
            "; threads that spin while they wait were not looked for, because perf_event_open is refused: "
            "sudo sysctl kernel.perf_event_paranoid=2 allows it";
    if (!found.waits.empty()) {
        text += "; set:";
        for (const std::string& one : found.waits) text += " " + one;
    }
    text += found.not_preloaded.empty() ? "; preloaded libtauto-waits.so"
                                        : "; nothing preloaded: " + found.not_preloaded;
    return text;
}

std::string to_json(const answer& found) {
    nlohmann::json cpus = nlohmann::json::array();
    for (const auto& [at_end, at_start] : found.cpus)
        cpus.push_back({{"cpu", at_end.cpu},
                        {"work_per_cpu_second", at_end.pace},
                        {"share", at_end.share},
                        {"work_per_cpu_second_at_start", at_start.pace},
                        {"share_at_start", at_start.share}});
    nlohmann::json line = {
        {"schema", "tautochrone.balance/1"},
        {"command", found.name},
        {"threads", found.what.threads_seen},
        {"threads_moved", found.what.threads_moved},
        {"moves", found.what.moves},
        {"handed_over", found.what.handed_over},
        {"looks", found.what.looks},
        {"seconds", found.what.seconds},
        {"seconds_of_each_way", seconds_of_each_way(found.what)},
        {"controller_cpu_seconds", found.what.processor_seconds},
        {"longest_move_seconds", timer::to_seconds(found.longest_move)},
        {"average_move_seconds", timer::to_seconds(found.average_move)},
        {"watched_by", found.what.saw_switches ? "switches" : "files"},
        {"helped", found.kept},
        {"time_over_linux_alone", number(found.ratio.ratio)},
        {"interval", {number(found.ratio.low), number(found.ratio.high)}},
        {"pairs_of_windows", found.ratio.rounds},
        {"estimated", found.estimated},
        {"waited_unseen", found.spun},
        {"regions_in_a_row", found.in_a_row},
        {"left_alone_because", found.reason.empty() ? nlohmann::json() : nlohmann::json(found.reason)},
        {"variables_set", found.waits},
        {"preloaded", found.not_preloaded.empty()},
        {"not_preloaded_because",
         found.not_preloaded.empty() ? nlohmann::json() : nlohmann::json(found.not_preloaded)},
        {"cpus", cpus},
        {"exit_status", found.exit_status}};
    return line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace tauto::balance
