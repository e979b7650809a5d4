#include "command/python_text.hpp"

#include <algorithm>
#include <cstddef>

namespace tauto::command {

namespace {

// Private characters that stand for the bytes 0x80 to 0xff while the text is read: U+10FF80 to U+10FFFF.
constexpr std::string_view byte_mark_low = "\xf4\x8f\xbe";   // then 0x80 to 0xbf: the bytes themselves
constexpr std::string_view byte_mark_high = "\xf4\x8f\xbf";  // then 0x80 to 0xbf: the bytes 0xc0 to 0xff

}  // namespace

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

}  // namespace tauto::command
