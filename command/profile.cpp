#include "command/profile.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

#include "command/python_text.hpp"

namespace tauto::command {

namespace {

// The variables are said in the order in which they were written.
using json = nlohmann::ordered_json;

constexpr std::string_view schema = "tautochrone.profile/1";
constexpr std::size_t most_bytes = std::size_t{16} << 20U;
constexpr int pipe_milliseconds = 5000;
constexpr int deepest_json = 500;  // Python reads and writes no more than twice this

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

bool is_balance(const json& value) {
    return value.is_null() || value.is_boolean();
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
    field{"balance", is_balance, "true or false"},
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

// The bytes of a file, or of a pipe that somebody writes to. Throws the words of the error.
std::string bytes_of(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) throw std::string(strerror(errno));
    std::string bytes;
    std::string error;
    struct stat found {};
    if (fstat(file, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISFIFO(found.st_mode) &&
        !S_ISDIR(found.st_mode))
        error = "it is a device, not a file";
    std::array<char, 16384> part{};
    while (error.empty()) {
        const ssize_t got = read(file, part.data(), part.size());
        if (got == 0) break;
        if (got > 0) bytes.append(part.data(), static_cast<std::size_t>(got));
        if (bytes.size() > most_bytes) error = "it is larger than 16 MiB";
        if (got < 0 && errno == EAGAIN) {
            pollfd waited{.fd = file, .events = POLLIN, .revents = 0};
            if (poll(&waited, 1, pipe_milliseconds) == 0) error = "nothing came through the pipe";
        } else if (got < 0 && errno != EINTR) {
            error = strerror(errno);
        }
    }
    close(file);
    if (!error.empty()) throw error;
    return bytes;
}

// The place behind the name in braces that begins at `begin`; `begin` itself where none does.
std::size_t behind_name(std::string_view word, std::size_t begin) {
    if (begin >= word.size() || word[begin] != '{') return begin;
    const std::size_t end = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin + 1);
    return end == word.npos || end == begin + 1 || word[end] != '}' ? begin : end + 1;
}

// No shell and no program takes these letters for more than text; a word of them alone may be an option.
bool is_plain(std::string_view value, bool begins_the_word) {
    if (begins_the_word && value.starts_with('-')) return false;
    return std::ranges::all_of(value, [](char one) {
        return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
               std::string_view("_.,:+-=/%@").find(one) != std::string_view::npos;
    });
}

// Whether `word` is `tuned` with plain values in the places of its names in braces.
bool only_fills(std::string_view tuned, std::string_view word) {
    std::size_t begin = 0;
    while (begin < tuned.size() && behind_name(tuned, begin) == begin) ++begin;
    if (begin == tuned.size()) return tuned == word;
    if (!word.starts_with(tuned.substr(0, begin))) return false;
    const std::string_view rest = tuned.substr(behind_name(tuned, begin));
    for (std::size_t end = begin; end <= word.size(); ++end) {
        if (!is_plain(word.substr(begin, end - begin), begin == 0)) return false;
        if (only_fills(rest, word.substr(end))) return true;
    }
    return false;
}

bool only_fills(const profile& asked) {
    return std::ranges::equal(asked.tuned_command, asked.command,
                              [](const std::string& tuned, const std::string& word) {
                                  return tuned == word || only_fills(std::string_view(tuned), word);
                              });
}

// What glibc takes away from programs with more rights than their user (sysdeps/generic/unsecvars.h), what
// sudo takes away from everybody (env_delete and env_bad of its plugins/sudoers/env.c), and what names code,
// or a place to look for code, of other runtimes: of interpreters, Java, OpenMP, MPI and profilers.
constexpr std::array loading = std::to_array<std::string_view>(
    {"*PATH",     "*PRELOAD*",   "*PLUGIN*",  "*LIBRARIES",  "*OPTIONS",   "*OPTS",      "*OPT",
     "LD_*",      "DYLD_*",      "_RLD*",     "GETCONF_DIR", "MALLOC_*",   "GLIBC_*",    "HOSTALIASES",
     "NLS*",      "LOCALDOMAIN", "RESOLV_*",  "RES_*",       "TMP*",       "TZDIR",      "HOME",
     "XDG_*",     "IFS",         "ENV",       "BASH*",       "PS4",        "GLOBIGNORE", "SHELL*",
     "PROMPT*",   "ZDOTDIR",     "*NULLCMD",  "TERM*",       "PERL*",      "PYTHON*",    "RUBY*",
     "GEM_*",     "BUNDLE*",     "NODE_*",    "NPM_*",       "LUA*",       "JAVA_*",     "_JAVA*",
     "JDK_*",     "R_*",         "JULIA_*",   "GUILE_*",     "TCL*",       "PHP*",       "DOTNET_*",
     "CORECLR_*", "COMPlus_*",   "OMP_TOOL*", "OMPI_*",      "PMIX_*",     "PRTE_*",     "HYDRA_*",
     "I_MPI_*",   "VK_*",        "OCL_*",     "CUDA_INJ*",   "INTEL_LIB*", "INTEL_JIT*", "GCC_*",
     "GIT_*",     "SSH_*",       "EDITOR",    "VISUAL",      "*PAGER",     "LESS*",      "BROWSER"});

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

// What tauto tune itself tries of them: numbers, which load nothing.
bool is_harmless(std::string_view name, std::string_view value) {
    const std::size_t equals = value.find('=');
    const std::string_view before = value.substr(0, equals);
    const std::string_view after = equals == value.npos ? "" : value.substr(equals + 1);
    if (name == "MALLOC_ARENA_MAX") return is_number(value);
    if (name == "GLIBC_TUNABLES") return before == "glibc.malloc.hugetlb" && is_number(after);
    if (name == "JAVA_TOOL_OPTIONS") return before == "-XX:ActiveProcessorCount" && is_number(after);
    return false;
}

bool loads_code(std::string_view name, std::string_view value) {
    if (value.starts_with("()")) return true;  // a function, to old shells
    return !is_harmless(name, value) && std::ranges::any_of(loading, [name](std::string_view one) {
        const bool anything_before = one.starts_with('*');
        const bool anything_behind = one.ends_with('*');
        if (anything_before) one.remove_prefix(1);
        if (anything_behind) one.remove_suffix(1);
        if (anything_before && anything_behind) return name.find(one) != name.npos;
        return anything_before ? name.ends_with(one) : anything_behind ? name.starts_with(one) : name == one;
    });
}

// The bytes of the character at the front of `text` that a terminal shows as one; 0 where it is none: a
// control character, a byte that is not UTF-8, or a mark that turns the direction of what follows.
std::size_t shown_bytes(std::string_view text) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
    const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
    if (length == 0 || byte(0) > 0xf4 || text.size() < length) return 0;
    std::uint32_t code = byte(0) & (0x7fU >> length);
    for (std::size_t at = 1; at < length; ++at) {
        if ((byte(at) & 0xc0U) != 0x80) return 0;
        code = code << 6U | (byte(at) & 0x3fU);
    }
    const bool overlong = code < (length == 4 ? 0x10000U : length == 3 ? 0x800U : 0x80U);
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    const bool controls = code < 0xa0 || code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
                          (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) ||
                          code == 0xfeff || code > 0x10ffff;
    return overlong || surrogate || controls ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string shown;
    while (!text.empty()) {
        const std::size_t length = shown_bytes(text);
        const auto code = static_cast<unsigned char>(text[0]);
        if (length > 0)
            shown += text.substr(0, length);
        else
            shown += {'\\', 'x', digits[code / 16U], digits[code % 16U]};
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return shown;
}

std::string joined(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) {
        const bool one_word =
            !word.empty() && word.find_first_of(" \t\n\"'\\;|&<>()$`*?#") == std::string::npos;
        line += (&word == words.data() ? "" : " ") + (one_word ? word : quoted(word));
    }
    return line;
}

std::vector<std::string> distrusted(const profile& asked) {
    std::vector<std::string> reasons;
    if (asked.command != asked.tuned_command && !only_fills(asked))
        reasons.push_back("it would run " + joined(asked.command) + " in place of " +
                          joined(asked.tuned_command) + ", which is more than values for names in braces");
    for (const auto& [name, value] : asked.environment)
        if (loads_code(name, value))
            reasons.push_back("it sets " + name + "=" + value +
                              ", and such variables make programs load or run something else");
    return reasons;
}

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
    asked.balanced = member("balance") == true;
    asked.command = words_of(read.at("command"));
    asked.tuned_command = words_of(read.at("tuned_command"));
    return asked;
}

profile read_profile(const std::string& name) {
    const std::string path = profile_path(name);
    std::string text;
    try {
        text = bytes_of(path);
    } catch (const std::string& why) {
        throw input_error("the profile " + path + " cannot be read: " + why +
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
