#pragma once
// What was refused, and in which words.

#include <functional>
#include <string>

namespace tauto::testing {

/// What the Error said that `action` threw; empty if it threw none.
template <class Error>
std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

inline bool mentions(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace tauto::testing
