#include "timer/request.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "command/python_text.hpp"

namespace tauto::timer {

namespace {

using nlohmann::json;

constexpr std::int64_t most_cpus = 1 << 16;

[[noreturn]] void refuse(const std::string& name, const char* expected, const json& found) {
    throw protocol_error("the field " + name + " must be " + expected + ", and is " + found.dump());
}

std::string text_of(const std::string& name, const json& found) {
    if (!found.is_string()) refuse(name, "text", found);
    const std::string text = command::with_bytes_back(found.get_ref<const std::string&>());
    if (text.find('\0') != text.npos) refuse(name, "text without a zero byte", found);
    return text;
}

std::vector<std::string> texts_of(const std::string& name, const json& found) {
    if (!found.is_array()) refuse(name, "a list of texts", found);
    std::vector<std::string> texts;
    for (const json& one : found) texts.push_back(text_of(name, one));
    return texts;
}

std::int64_t integer_of(const std::string& name, const json& found, std::int64_t least, std::int64_t most) {
    const bool fits = found.is_number_integer() &&
                      (!found.is_number_unsigned() ||
                       found.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    if (!fits || found.get<std::int64_t>() < least || found.get<std::int64_t>() > most)
        refuse(name, ("a whole number from " + std::to_string(least) + " to " + std::to_string(most)).c_str(),
               found);
    return found.get<std::int64_t>();
}

nanoseconds seconds_of(const std::string& name, const json& found) {
    if (!found.is_number() || !(found.get<double>() >= 0.0)) refuse(name, "a number of seconds", found);
    return to_nanoseconds(found.get<double>());
}

std::vector<unsigned> cpus_of(const json& found) {
    if (!found.is_array() || found.empty()) refuse("cpus", "a list of CPUs, or null", found);
    std::vector<unsigned> cpus;
    for (const json& one : found)
        cpus.push_back(static_cast<unsigned>(integer_of("cpus", one, 0, most_cpus)));
    return cpus;
}

void read_variables(request& asked, const json& found) {
    if (!found.is_object()) refuse("set", "an object of variables", found);
    for (const auto& [marked, value] : found.items()) {
        const std::string name = text_of("set", marked);
        if (name.empty() || name.find('=') != name.npos) refuse("set", "an object of variables", found);
        asked.variables.emplace_back(name, std::nullopt);
        if (!value.is_null()) asked.variables.back().second = text_of(name, value);
    }
}

void read_output(request& asked, const json& found) {
    const std::string text = text_of("output", found);
    if (text == "null") return;
    asked.output = text == "keep" ? output_to::memory : output_to::file;
    asked.output_file = text;
}

// False for a field that nobody knows.
bool read_field(request& asked, const std::string& name, const json& found) {
    constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
    if (name == "number")
        asked.number = integer_of(name, found, -any, any);
    else if (name == "command")
        asked.command = texts_of(name, found);
    else if (name == "repeat")
        asked.most_runs = integer_of(name, found, 1, any);
    else if (name == "window_seconds")
        asked.window = seconds_of(name, found);
    else if (name == "after_failure" && found.is_boolean())
        asked.after_failure = found.get<bool>();
    else if (name == "set")
        read_variables(asked, found);
    else if (name == "folder")
        asked.folder = text_of(name, found);
    else if (name == "cpus")
        asked.cpus = cpus_of(found);
    else if (name == "nice")
        asked.nice = static_cast<int>(integer_of(name, found, -40, 40));
    else if (name == "input")
        asked.input = text_of(name, found);
    else if (name == "output")
        read_output(asked, found);
    else if (name == "time_limit")
        asked.time_limit = seconds_of(name, found);
    else if (name == "alive_after")
        asked.alive_after = seconds_of(name, found);
    else if (name == "remove")
        asked.remove = texts_of(name, found);
    else
        return false;
    return true;
}

json parsed(std::string_view line) {
    try {
        return json::parse(command::with_bytes_marked(line));
    } catch (const json::exception& error) {
        throw protocol_error(std::string("a request is no JSON: ") + error.what());
    }
}

}  // namespace

request parse_request(std::string_view line) {
    const json found = parsed(line);
    if (!found.is_object()) throw protocol_error("a request is no object of JSON: " + found.dump());
    request asked;
    // A window alone is filled with as many runs as it takes.
    if (found.contains("window_seconds") && !found["window_seconds"].is_null())
        asked.most_runs = std::numeric_limits<std::int64_t>::max();
    for (const auto& [name, value] : found.items())
        if (!value.is_null() && !read_field(asked, name, value))
            throw protocol_error("a request has the field " + name + " with " + value.dump() +
                                 ", which this tauto-timer does not know");
    if (asked.command.empty()) throw protocol_error("a request has no command");
    return asked;
}

}  // namespace tauto::timer
