#pragma once
// The file in which a program that starts a command reports.

#include <string.h>

#include <string>
#include <string_view>

#include "runtime/own_file.hpp"

namespace tauto::launch {

// Makes `content` all that the report has. Returns why it could not be written; empty if it was.
[[nodiscard]] inline std::string write_report(const std::string& path, std::string_view content) {
    const int number = detail::write_own_file(path, content);
    if (number == 0) return "";
    return "cannot write the report to '" + path +
           "': " + detail::words_of_own_file(number, strerror(number));
}

}  // namespace tauto::launch
