#pragma once

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <version>

namespace tauto {

/// The number that the whole text is, as std::from_chars reads it.
inline std::optional<double> to_number(std::string_view text) {
    double value = 0.0;
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 200000  // has it for integers alone
    // No blanks, no sign before a positive number, no hexadecimal digits.
    if (text.starts_with('+') || text.find_first_not_of("+-.0123456789eEinfatyINFATY") != text.npos)
        return {};
    const std::string copy{text};
    char* end = nullptr;
    value = std::strtod(copy.c_str(), &end);
    const bool too_large = std::isinf(value) && text.find_first_of("0123456789") != text.npos;
    if (copy.empty() || end != copy.c_str() + copy.size() || too_large) return {};
#else
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) return {};
#endif
    return value;
}

}  // namespace tauto
