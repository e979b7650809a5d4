#pragma once
// What `tauto` shows without the laboratory: help of every command, completion, version.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tauto::command {

/// The text that these words ask for; nothing where they ask for something else.
[[nodiscard]] std::optional<std::string_view> shown(const std::vector<std::string>& words);

/// The help of tauto itself, in as many columns as the terminal has.
[[nodiscard]] std::string_view main_help();

}  // namespace tauto::command
