#include "timer/answer.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "timer/surroundings.hpp"

namespace tauto::timer {

namespace {

using nlohmann::json;

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

template <class Value>
json or_null(const std::optional<Value>& value) {
    return value ? json(*value) : json();
}

json text_or_null(const char* text) {
    return text != nullptr ? json(text) : json();
}

std::string hexadecimal(std::uint64_t hash) {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
    return digits.data();
}

std::string line_of(const json& object) {
    return object.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace

void usage::add(const rusage& more) {
    constexpr std::int64_t kibibyte = 1024;
    user_seconds += seconds_of(more.ru_utime);
    system_seconds += seconds_of(more.ru_stime);
    max_rss_bytes = std::max<std::int64_t>(max_rss_bytes, more.ru_maxrss * kibibyte);
    minor_faults += more.ru_minflt;
    major_faults += more.ru_majflt;
    voluntary_switches += more.ru_nvcsw;
    involuntary_switches += more.ru_nivcsw;
}

std::string to_line(const answer& said) {
    json counters = json::object();
    for (const auto& [name, value] : said.counters) counters[name] = or_null(value);
    json line = {{"number", said.number},
                 {"runs", said.elapsed.size()},
                 {"elapsed", said.elapsed},
                 {"exit_codes", said.exit_codes},
                 {"user_seconds", said.used.user_seconds},
                 {"system_seconds", said.used.system_seconds},
                 {"max_rss_bytes", said.used.max_rss_bytes},
                 {"minor_faults", said.used.minor_faults},
                 {"major_faults", said.used.major_faults},
                 {"voluntary_switches", said.used.voluntary_switches},
                 {"involuntary_switches", said.used.involuntary_switches},
                 {"stopped_for", text_or_null(said.stopped_for)},
                 {"start_error", said.start_error != 0 ? json(said.start_error) : json()},
                 {"start_error_of", text_or_null(said.start_error_of)},
                 {"reads_terminal", said.reads_terminal},
                 {"left_running", said.left_running},
                 {"held_by", "process group"},
                 {"stderr", said.errors},
                 {"load_before", or_null(said.load_before)},
                 {"others_cpu_seconds", or_null(said.others_cpu_seconds)},
                 {"steal_seconds", or_null(said.steal_seconds)},
                 {"bridge", bridge_name},
                 {"bridge_seconds", said.bridge_seconds},
                 {"counters", counters},
                 {"counters_scope", text_or_null(said.counters_scope)},
                 {"counters_reason", said.counters_reason.empty() ? json() : json(said.counters_reason)},
                 {"stdout", nullptr},
                 {"stdout_bytes", nullptr},
                 {"stdout_hash", nullptr},
                 {"outputs_differ", said.output ? json(said.outputs_differ) : json()}};
    if (said.output) {
        line["stdout"] = said.output->end;
        line["stdout_bytes"] = said.output->bytes;
        line["stdout_hash"] = hexadecimal(said.output->hash);
    }
    return line_of(line);
}

std::string to_error_line(const std::string& text) {
    return line_of({{"error", text}});
}

}  // namespace tauto::timer
