#include "command/shown.hpp"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>

#include "made.hpp"

namespace tauto::command {

namespace {

constexpr std::string_view version_text = "tautochrone " TAUTO_VERSION "\n";

// As Python's shutil.get_terminal_size: COLUMNS, the terminal at standard output, else 80.
int terminal_columns() {
    int columns = 0;
    if (const char* const said = getenv("COLUMNS"); said != nullptr)
        std::from_chars(said, said + std::strlen(said), columns);
    if (columns > 0) return columns;
    winsize size{};
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : wide_columns;
}

std::optional<std::string_view> text_of(std::string_view name) {
    for (const auto& [known, text] : texts)
        if (known == name) return text;
    return std::nullopt;
}

std::optional<std::string_view> help_of(const std::string& name) {
    const int columns = terminal_columns() >= wide_columns ? wide_columns : narrow_columns;
    return text_of(name + " " + std::to_string(columns));
}

}  // namespace

std::string_view main_help() {
    return help_of("").value_or("");
}

std::optional<std::string_view> shown(const std::vector<std::string>& words) {
    if (words.empty()) return std::nullopt;
    if (words == std::vector<std::string>{"--version"}) return version_text;
    if (words.size() == 2 && words[0] == "completion" && !words[1].starts_with('-'))
        return text_of("completion " + words[1]);
    if (words.back() != "--help" && words.back() != "-h") return std::nullopt;
    std::string name;
    for (std::size_t at = 0; at + 1 < words.size(); ++at) name += (at > 0 ? " " : "") + words[at];
    return help_of(name);
}

}  // namespace tauto::command
