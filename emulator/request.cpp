#include "emulator/request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <tauto/error.hpp>

#include "kernels/read_number.hpp"

namespace tauto::emulate {

namespace {

constexpr const char* usage =
    "write CPU:FACTOR, for example 1:4, and @START-END in seconds behind it for a part of the run";

std::optional<int> to_cpu(std::string_view text) {
    int value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t end; (end = text.find(separator)) != std::string_view::npos;) {
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
}

std::string number_text(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

double parse_factor(std::string_view text, const std::string& entry) {
    const std::optional<double> factor = to_number(text);
    if (!factor || !std::isfinite(*factor))
        throw error("'" + entry + "' has the factor '" + std::string(text) + "', which is not a number; " +
                    usage);
    if (*factor < 1.0)
        throw error("'" + entry + "' asks for factor " + number_text(*factor) +
                    ", but a CPU can only be made slower; ask for a factor from 1 to " +
                    number_text(largest_factor));
    if (*factor > largest_factor)
        throw error("'" + entry + "' asks for factor " + number_text(*factor) + ", the limit is " +
                    number_text(largest_factor) +
                    "; ask for less, or leave the CPU out of the program's CPUs");
    return *factor;
}

time_window parse_window(std::string_view text, const std::string& entry) {
    const auto ends = split(text, '-');
    const auto on = to_number(ends.front());
    const auto off = to_number(ends.back());
    if (ends.size() != 2 || !on || !off || !std::isfinite(*on) || !std::isfinite(*off) || *on < 0.0 ||
        *off <= *on)
        throw error("'" + entry + "' has the time window '" + std::string(text) +
                    "'; write START-END in seconds after the start of the command, for example 3-6");
    return {*on, *off};
}

slow_cpu parse_entry(std::string_view text) {
    const std::string entry(text);
    const auto parts = split(text, '@');
    const auto pair = split(parts.front(), ':');
    const auto cpu = to_cpu(pair.front());
    if (pair.size() != 2 || !cpu || *cpu < 0) throw error("cannot read '" + entry + "'; " + usage);
    slow_cpu asked{*cpu, parse_factor(pair[1], entry), {}};
    for (std::size_t i = 1; i < parts.size(); ++i) asked.windows.push_back(parse_window(parts[i], entry));
    std::sort(asked.windows.begin(), asked.windows.end(),
              [](const time_window& a, const time_window& b) { return a.on_seconds < b.on_seconds; });
    for (std::size_t i = 1; i < asked.windows.size(); ++i)
        if (asked.windows[i].on_seconds < asked.windows[i - 1].off_seconds)
            throw error("'" + entry + "' has time windows that overlap; write them one after the other");
    return asked;
}

}  // namespace

std::vector<slow_cpu> parse_slow(const std::string& text) {
    std::vector<slow_cpu> asked;
    for (const std::string_view part : split(text, ',')) {
        slow_cpu entry = parse_entry(part);
        for (const slow_cpu& earlier : asked)
            if (earlier.cpu == entry.cpu)
                throw error("CPU " + std::to_string(entry.cpu) + " is listed twice in '" + text +
                            "'; list each CPU once (several time windows: 1:4@1-2@5-6)");
        asked.push_back(std::move(entry));
    }
    return asked;
}

std::string cpu_list(const cpu_set_t& cpus) {
    std::ostringstream text;
    const char* separator = "";
    for (int first = 0; first < CPU_SETSIZE; ++first) {
        if (!CPU_ISSET(static_cast<unsigned>(first), &cpus)) continue;
        int last = first;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(static_cast<unsigned>(last + 1), &cpus)) ++last;
        text << separator << first;
        if (last > first) text << "-" << last;
        separator = ",";
        first = last;
    }
    return text.str();
}

void check_cpus(const std::vector<slow_cpu>& asked, const cpu_set_t& allowed, int configured_cpus) {
    for (const slow_cpu& entry : asked) {
        const std::string name = "CPU " + std::to_string(entry.cpu);
        if (entry.cpu >= configured_cpus || entry.cpu >= CPU_SETSIZE)
            throw error(name + " does not exist; this machine has " + std::to_string(configured_cpus) +
                        " CPUs, choose from " + cpu_list(allowed));
        if (!CPU_ISSET(static_cast<unsigned>(entry.cpu), &allowed))
            throw error(name + " is not allowed for this process; choose from " + cpu_list(allowed) +
                        ", or widen the affinity mask or cpuset");
    }
}

std::string emulated_variable(const std::vector<slow_cpu>& asked, const std::string& outer) {
    std::string text = outer;
    for (const slow_cpu& entry : asked) {
        const std::string key = std::to_string(entry.cpu) + ":";
        if (("," + outer).find("," + key) != std::string::npos)
            throw error("CPU " + std::to_string(entry.cpu) + " is slowed already (TAUTO_EMULATED=" + outer +
                        "); leave it out here, or ask for the whole factor in the outer command");
        text += (text.empty() ? "" : ",") + key + number_text(entry.factor);
    }
    return text;
}

}  // namespace tauto::emulate
