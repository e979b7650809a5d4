#pragma once
// Command lines of programs that start a command: their own options, a lone --, and the command's words.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <tauto/error.hpp>
#include <vector>

#include "launch/process.hpp"

namespace tauto::launch {

constexpr int exit_bad_input = 2;
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

// Parses what stands before the --, and returns what stands behind it. Throws error with the remedy, or leave
// where help was asked for.
inline std::vector<std::string> parse_before_command(CLI::App& app, int count, char** values) {
    const auto mark =
        std::find_if(values, values + count, [](const char* word) { return std::string_view(word) == "--"; });
    try {
        app.parse(static_cast<int>(mark - values), values);
    } catch (const CLI::Success& request) {
        throw leave{app.exit(request)};
    } catch (const CLI::ExtrasError& failure) {
        throw error(std::string(failure.what()) + "; put -- before the command");
    } catch (const CLI::ParseError& failure) {
        throw error(std::string(failure.what()) + "; see " + app.get_name() + " --help");
    }
    if (mark == values + count) return {};
    return {mark + 1, values + count};
}

}  // namespace tauto::launch
