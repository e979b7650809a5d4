#pragma once
// Figures and names as people and programs read them, whatever the locale.

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tauto::detail {

// Like printf's %.*f.
[[nodiscard]] inline std::string fixed(double value, int decimals) {
    std::array<char, 400> room{};
    const auto end =
        std::to_chars(room.data(), room.data() + room.size(), value, std::chars_format::fixed, decimals);
    return end.ec == std::errc{} ? std::string(room.data(), end.ptr) : "?";
}

// Three significant digits, from 100 on four: two times that differ by 1 % are then told apart.
[[nodiscard]] inline std::string digits(double value) {
    return fixed(value, value < 0.9995 ? 3 : value < 9.995 ? 2 : 1);
}

[[nodiscard]] inline std::string time_text(double seconds) {
    if (seconds == 0) return "0 s";
    if (seconds < 999.95e-9) return digits(seconds * 1e9) + " ns";
    if (seconds < 999.95e-6) return digits(seconds * 1e6) + " µs";
    if (seconds < 999.95e-3) return digits(seconds * 1e3) + " ms";
    return digits(seconds) + " s";
}

[[nodiscard]] inline std::string amount_text(double amount) {
    if (amount < 999.95) return digits(amount);
    if (amount < 999.95e3) return digits(amount / 1e3) + " k";
    if (amount < 999.95e6) return digits(amount / 1e6) + " M";
    return digits(amount / 1e9) + " G";
}

// 0.0123 as "1.2 %".
[[nodiscard]] inline std::string percent_text(double part) {
    const double percent = part * 100;
    return fixed(percent, percent < 0.0995 ? 3 : percent < 0.995 ? 2 : percent < 9.95 ? 1 : 0) + " %";
}

// 0.99 as "99 %", 0.999 as "99.9 %".
[[nodiscard]] inline std::string confidence_text(double confidence) {
    std::string text = fixed(confidence * 100, 3);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " %";
}

// "1.08 to 1.11", or "2.00" where both ends read so; with as many decimals as tell the ends from 1.
[[nodiscard]] inline std::string between(double low, double high) {
    for (int decimals = 2;; ++decimals) {
        const std::string from = fixed(low, decimals);
        const std::string to = fixed(high, decimals);
        const std::string one = fixed(1, decimals);
        if (decimals == 4 || (from != one && to != one)) return from == to ? from : from + " to " + to;
    }
}

// "1 round", "2 rounds".
[[nodiscard]] inline std::string counted(long long number, std::string_view noun) {
    return std::to_string(number) + ' ' + std::string(noun) + (number == 1 ? "" : "s");
}

// "a", "a and b", "a, b and c".
[[nodiscard]] inline std::string listed(const std::vector<std::string>& parts) {
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) text += i + 1 == parts.size() ? " and " : ", ";
        text += parts[i];
    }
    return text;
}

// The shortest text that is read back as the same number; null where there is none.
[[nodiscard]] inline std::string json_number(double value) {
    if (!std::isfinite(value)) return "null";
    std::array<char, 32> room{};
    const auto end = std::to_chars(room.data(), room.data() + room.size(), value);
    return {room.data(), end.ptr};
}

[[nodiscard]] inline std::string json_string(std::string_view text) {
    constexpr std::string_view hex = "0123456789abcdef";
    std::string quoted = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (code < 0x20) {
            quoted += "\\u00";
            quoted += hex[code >> 4];
            quoted += hex[code & 15];
            continue;
        }
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

[[nodiscard]] inline std::string csv_number(double value) {
    return std::isfinite(value) ? json_number(value) : "";
}

[[nodiscard]] inline std::string csv_string(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

// A table whose first column is text and whose others are figures, for a terminal or as Markdown.
class text_table {
  public:
    // Every row has as many cells as the first.
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

    [[nodiscard]] std::string plain() const {
        std::vector<std::size_t> widest(rows_.front().size());
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) widest[i] = std::max(widest[i], width(row[i]));
        }
        std::string text;
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                const std::string padding(widest[i] - width(row[i]), ' ');
                text += i == 0 ? row[i] + padding : "  " + padding + row[i];
            }
            text += '\n';
        }
        return text;
    }

    [[nodiscard]] std::string markdown() const {
        std::string text;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (const std::string& cell : rows_[i]) text += "| " + escaped(cell) + ' ';
            text += "|\n";
            if (i > 0) continue;
            for (std::size_t column = 0; column < rows_[i].size(); ++column)
                text += column == 0 ? "|---" : "|--:";
            text += "|\n";
        }
        return text;
    }

  private:
    // In characters, of which UTF-8 has several bytes.
    [[nodiscard]] static std::size_t width(std::string_view cell) noexcept {
        std::size_t characters = 0;
        for (const char c : cell) characters += (static_cast<unsigned char>(c) & 0xc0U) != 0x80U ? 1 : 0;
        return characters;
    }
    [[nodiscard]] static std::string escaped(std::string_view cell) {
        std::string text;
        for (const char c : cell) {
            if (c == '|') text += '\\';
            text += c == '\n' ? ' ' : c;
        }
        return text;
    }

    std::vector<std::vector<std::string>> rows_;
};

}  // namespace tauto::detail
