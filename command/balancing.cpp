#include "command/balancing.hpp"

#include <glob.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "command/applying.hpp"

namespace tauto::command {

namespace {

constexpr std::array<std::string_view, 5> flags{"--even-pinned", "--keep-waits", "--keep-threads",
                                                "--no-preload", "--json"};
constexpr std::string_view report = "--report";

// The paths of this pattern in a folder, whatever is in its name.
std::vector<std::string> found_in(const std::string& folder, const std::string& pattern) {
    std::string escaped;
    for (const char one : folder) {
        if (std::string_view(R"(*?[\)").find(one) != std::string_view::npos) escaped += '\\';
        escaped += one;
    }
    glob_t all{};
    std::vector<std::string> found;
    if (glob((escaped + "/" + pattern).c_str(), 0, nullptr, &all) == 0)
        found.assign(all.gl_pathv, all.gl_pathv + all.gl_pathc);
    globfree(&all);
    std::erase_if(found, [](const std::string& path) { return !is_program(path); });
    return found;
}

}  // namespace

std::optional<std::vector<std::string>> balancer_words(const std::vector<std::string>& given) {
    std::vector<std::string> told;
    for (std::size_t i = 0; i < given.size(); ++i) {
        const std::string& word = given[i];
        if (word == "--") {
            if (i + 1 == given.size()) return std::nullopt;
            told.insert(told.end(), given.begin() + static_cast<std::ptrdiff_t>(i), given.end());
            return told;
        }
        if (std::ranges::find(flags, word) != flags.end()) {
            told.push_back(word);
        } else if (word == report && i + 1 < given.size() && !given[i + 1].empty() &&
                   !given[i + 1].starts_with('-')) {
            told.push_back(word + "=" + given[++i]);
        } else if (word.starts_with(std::string(report) + "=") && word.size() > report.size() + 1) {
            told.push_back(word);
        } else if (word != "-q" && word != "--quiet") {  // there is nothing that these would leave out
            return std::nullopt;
        }
    }
    return std::nullopt;
}

std::string find_balancer(const std::string& folder) {
    const std::string name = "tauto-balance";
    const char* const named = std::getenv("TAUTO_RUNNERS");
    if (named != nullptr && *named != '\0' && is_program(std::string(named) + "/" + name))
        return std::string(named) + "/" + name;
    if (folder.empty()) return "";
    if (is_program(folder + "/" + name)) return folder + "/" + name;
    const std::vector<std::string> found =
        found_in(folder, "../lib/python3*/*-packages/tautochrone/bin/" + name);
    return found.size() == 1 ? found.front() : "";
}

}  // namespace tauto::command
