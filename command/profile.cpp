#include "command/profile.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tauto::command {

namespace {

// The variables are said in the order in which they were written.
using json = nlohmann::ordered_json;

constexpr std::string_view schema = "tautochrone.profile/1";
constexpr int deepest_json = 500;  // Python reads and writes no more than twice this
// Private characters that stand for the bytes 0x80 to 0xff while the text is read: U+10FF80 to U+10FFFF.
constexpr std::string_view byte_mark_low = "\xf4\x8f\xbe";   // then 0x80 to 0xbf: the bytes themselves
constexpr std::string_view byte_mark_high = "\xf4\x8f\xbf";  // then 0x80 to 0xbf: the bytes 0xc0 to 0xff

// Python writes a byte that is not UTF-8, as names of files may have, as a lone surrogate: \udc80 to \udcff.
// The JSON library refuses those, so each becomes the two escapes of a private character.
std::string with_bytes_marked(std::string_view text) {
    constexpr std::size_t escape_length = 6;
    std::string marked;
    marked.reserve(text.size());
    bool after_high_surrogate = false;
    while (!text.empty()) {
        const bool is_escape = text.starts_with("\\u") && text.size() >= escape_length;
        std::string word{text.substr(0, is_escape ? escape_length : text[0] == '\\' ? 2 : 1)};
        text.remove_prefix(word.size());
        if (!is_escape) {
            after_high_surrogate = false;
            marked += word;
            continue;
        }
        std::ranges::transform(word, word.begin(), [](char one) {
            return one >= 'A' && one <= 'F' ? static_cast<char>(one - 'A' + 'a') : one;
        });
        const bool is_byte = word.starts_with("\\udc") && word[4] >= '8' && !after_high_surrogate;
        after_high_surrogate = word.starts_with("\\ud") && word[3] >= '8' && word[3] <= 'b';
        marked += is_byte ? "\\udbff\\udf" + word.substr(4) : word;
    }
    return marked;
}

std::string with_bytes_back(std::string_view text) {
    std::string back;
    while (!text.empty()) {
        const bool low = text.starts_with(byte_mark_low);
        if (low || text.starts_with(byte_mark_high)) {
            back += static_cast<char>(static_cast<unsigned char>(text[3]) + (low ? 0U : 0x40U));
            text.remove_prefix(byte_mark_low.size() + 1);
        } else {
            back += text[0];
            text.remove_prefix(1);
        }
    }
    return back;
}

std::string quoted(const std::string& text) {
    constexpr std::string_view digits = "0123456789abcdef";
    const char quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
    std::string said{quote};
    for (const char one : text) {
        const auto code = static_cast<unsigned char>(one);
        if (one == quote || one == '\\')
            said += {'\\', one};
        else if (one == '\n' || one == '\r' || one == '\t')
            said += {'\\', one == '\n' ? 'n' : one == '\r' ? 'r' : 't'};
        else if (code < 0x20 || code == 0x7f)
            said += {'\\', 'x', digits[code / 16U], digits[code % 16U]};
        else
            said += one;
    }
    return said + quote;
}

// A value as Python writes it: profiles are written and mended there.
std::string as_python(const json& value) {
    if (value.is_null()) return "None";
    if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
    if (value.is_string()) return quoted(with_bytes_back(value.get_ref<const std::string&>()));
    if (!value.is_structured()) return value.dump();
    std::string said;
    for (const auto& one : value.items()) {
        if (!said.empty()) said += ", ";
        if (value.is_object()) said += quoted(with_bytes_back(one.key())) + ": ";
        said += as_python(one.value());
    }
    return value.is_object() ? "{" + said + "}" : "[" + said + "]";
}

bool is_word(const json& value) {
    // What is handed to a program ends at its first NUL.
    return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

bool is_words(const json& value) {
    return value.is_array() && std::ranges::all_of(value, is_word);
}

bool is_variables(const json& value) {
    if (!value.is_object()) return false;
    for (const auto& one : value.items())
        if (one.key().empty() || one.key().find_first_of(std::string_view("=\0", 2)) != std::string::npos ||
            !is_word(one.value()))
            return false;
    return true;
}

bool is_cpus(const json& value) {
    // A whole number that is not negative is read as an unsigned one, but for -0.
    return value.is_null() || (value.is_array() && std::ranges::all_of(value, [](const json& one) {
                                   return one.is_number_unsigned() ||
                                          (one.is_number_integer() && one.get<std::int64_t>() == 0);
                               }));
}

bool is_nice(const json& value) {
    return value.is_null() || value.is_number_integer();
}

struct field {
    const char* name;
    bool (*is_right)(const json& value);
    const char* what;
};

constexpr std::array fields{
    field{"command", is_words, "a list of words"},
    field{"tuned_command", is_words, "a list of words"},
    field{"environment", is_variables, "an object of variables with their values as text"},
    field{"cpus", is_cpus, "a list of CPU numbers"},
    field{"nice", is_nice, "a whole number"},
};

json parse(std::string_view text, const std::string& path) {
    const auto not_too_deep = [](int depth, json::parse_event_t, const json&) {
        if (depth > deepest_json) throw input_error("too deep");
        return true;
    };
    try {
        return json::parse(with_bytes_marked(text), not_too_deep);
    } catch (const std::exception&) {  // not JSON, not UTF-8, or a number that fits no type
        throw input_error(path + " is not a profile: it is not JSON. tauto tune writes one");
    }
}

std::vector<std::string> words_of(const json& list) {
    std::vector<std::string> words;
    for (const json& word : list) words.push_back(with_bytes_back(word.get_ref<const std::string&>()));
    return words;
}

// A step that no priority can take is as good as any other one; sums with it must not overflow.
std::int64_t nice_of(const json& value) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 2;
    if (value.is_null()) return 0;
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
        return most;
    return std::clamp(value.get<std::int64_t>(), -most, most);
}

std::string joined(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (&word == words.data() ? "" : " ") + word;
    return line;
}

// The bytes of a file, a pipe or a device. Throws the number of the error.
std::string bytes_of(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) throw errno;
    std::string bytes;
    std::array<char, 16384> part{};
    ssize_t got = 0;
    while ((got = read(file, part.data(), part.size())) > 0 || (got < 0 && errno == EINTR))
        if (got > 0) bytes.append(part.data(), static_cast<std::size_t>(got));
    const int number = errno;
    close(file);
    if (got < 0) throw number;
    return bytes;
}

}  // namespace

std::string profile_path(const std::string& name) {
    struct stat found {};
    if (stat(name.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return name;
    return name + (name.ends_with('/') ? "" : "/") + "profile.json";
}

profile parse_profile(std::string_view text, const std::string& path) {
    const json read = parse(text, path);
    const auto member = [&](const char* name) {
        return read.is_object() ? read.value(name, json()) : json();
    };
    if (const json found = member("schema"); found != schema)
        throw input_error(path + " has the schema " + as_python(found) + ", expected '" +
                          std::string(schema) + "'. Tune the program again");
    for (const field& one : fields)
        if (!one.is_right(member(one.name)))
            throw input_error(path + ": " + one.name + " is not " + one.what +
                              ". Write it so, or tune the program again");
    profile asked;
    for (const auto& one : read.at("environment").items())
        asked.environment.emplace_back(with_bytes_back(one.key()),
                                       with_bytes_back(one.value().get_ref<const std::string&>()));
    for (const json& cpu : member("cpus")) asked.cpus.insert(cpu.get<std::uint64_t>());
    asked.nice = nice_of(member("nice"));
    asked.command = words_of(read.at("command"));
    asked.tuned_command = words_of(read.at("tuned_command"));
    return asked;
}

profile read_profile(const std::string& name) {
    const std::string path = profile_path(name);
    std::string text;
    try {
        text = bytes_of(path);
    } catch (const int number) {
        throw input_error("the profile " + path + " cannot be read: " + strerror(number) +
                          ". tauto tune writes one into its folder");
    }
    return parse_profile(text, path);
}

std::vector<std::string> command_of(const profile& asked, const std::vector<std::string>& command,
                                    const std::string& name) {
    if (asked.tuned_command == asked.command) return command;
    if (command == asked.tuned_command) return asked.command;
    throw input_error("the profile " + name + " changes words of the command (" + joined(asked.command) +
                      "), and " + joined(command) + " is not the command that was tuned (" +
                      joined(asked.tuned_command) + "). Give it that command, or tune this one");
}

}  // namespace tauto::command
