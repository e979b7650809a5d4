#pragma once
// The profile of a tuned program: what `tauto tune` has found for it, and `tauto run` applies.

#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tauto::command {

/// Something a user can put right: what was asked and found, and what to do about it.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

using cpu_numbers = std::set<std::uint64_t>;

/// What a profile asks for.
struct profile {
    std::vector<std::pair<std::string, std::string>> environment;  // in the order of the file
    cpu_numbers cpus;                                              // empty: those that are allowed already
    std::int64_t nice = 0;                                         // a step, as of nice(1)
    bool balanced = false;                                         // by tauto balance, while it runs
    std::vector<std::string> command;                              // with the words that were found
    std::vector<std::string> tuned_command;                        // as it was given to the tuner
};

/// The file of a profile: `name` itself, or profile.json in it where that is a folder.
[[nodiscard]] std::string profile_path(const std::string& name);

/// The profile that `text` holds. Throws input_error, which names `path`, where it is none.
[[nodiscard]] profile parse_profile(std::string_view text, const std::string& path);

/// The profile of a file, or of a folder that tauto tune has written. Throws input_error.
[[nodiscard]] profile read_profile(const std::string& name);

/// The command to start: where it is the one that was tuned, its names in braces have the profile's values.
/// Throws input_error where words of another command would have to change; `name` is what the profile is
/// called there.
[[nodiscard]] std::vector<std::string> command_of(const profile& asked,
                                                  const std::vector<std::string>& command,
                                                  const std::string& name);

/// Why a profile that somebody else may have written is not applied, a line each: it changes more of the
/// command than plain values of names in braces, or has variables that make programs load or run code.
[[nodiscard]] std::vector<std::string> distrusted(const profile& asked);

/// Words as a person can read them on a terminal: what is no printable text is escaped.
[[nodiscard]] std::string printable(std::string_view text);

/// The words of a command as one line; words that a shell would split are quoted.
[[nodiscard]] std::string joined(const std::vector<std::string>& words);

}  // namespace tauto::command
