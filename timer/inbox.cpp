#include "timer/inbox.hpp"

#include <errno.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace tauto::timer {

namespace {

constexpr std::string_view cancel_word = "cancel";

std::string_view without_spaces(std::string_view line) {
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
        line.remove_suffix(1);
    return line;
}

}  // namespace

void inbox::take() {
    std::array<char, 16 << 10> bytes;
    const ssize_t got = read(descriptor_, bytes.data(), bytes.size());
    if (got > 0)
        text_.append(bytes.data(), static_cast<std::size_t>(got));
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
        ended_ = true;
}

bool inbox::cancelled() {
    bool found = false;
    for (;;) {
        const std::size_t end = text_.find('\n', looked_at_);
        if (end == text_.npos) return found;
        if (without_spaces(std::string_view(text_).substr(looked_at_, end - looked_at_)) == cancel_word) {
            found = true;
            text_.erase(looked_at_, end + 1 - looked_at_);
        } else {
            looked_at_ = end + 1;
        }
    }
}

std::optional<std::string> inbox::next() {
    for (;;) {
        const std::size_t end = text_.find('\n');
        if (end == text_.npos) return std::nullopt;
        std::string line{without_spaces(std::string_view(text_).substr(0, end))};
        text_.erase(0, end + 1);
        looked_at_ = looked_at_ > end ? looked_at_ - end - 1 : 0;
        if (!line.empty() && line != cancel_word) return line;
    }
}

}  // namespace tauto::timer
