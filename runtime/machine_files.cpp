#include "machine_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <system_error>

namespace tauto::detail {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\0";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return parts;
        text.remove_prefix(at + 1);
    }
}

std::optional<std::int64_t> to_integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::string> value_of_line(std::string_view text,
                                         std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
        for (const std::string_view line : split(text, '\n')) {
            const std::size_t colon = line.find(':');
            if (colon == std::string_view::npos || trimmed(line.substr(0, colon)) != key) continue;
            const std::string_view value = trimmed(line.substr(colon + 1));
            if (!value.empty()) return std::string(value);
        }
    }
    return std::nullopt;
}

std::optional<std::vector<int>> to_cpu_list(std::string_view text) {
    // More than any kernel supports: a typing error must not fill the memory.
    constexpr std::int64_t most = 65535;
    std::vector<int> cpus;
    text = trimmed(text);
    if (text.empty()) return cpus;
    for (const std::string_view item : split(text, ',')) {
        const std::size_t dash = item.find('-');
        const auto first = to_integer(item.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : to_integer(item.substr(dash + 1));
        if (!first || !last || *first < 0 || *last < *first || *last > most) return std::nullopt;
        for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    }
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    return cpus;
}

std::vector<int> intersection(const std::vector<int>& a, const std::vector<int>& b) {
    std::vector<int> both;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
    return both;
}

bool contains(const std::vector<int>& sorted, int cpu) {
    return std::binary_search(sorted.begin(), sorted.end(), cpu);
}

std::filesystem::path file_tree::locate(std::string_view path) const {
    return root_ / std::filesystem::path(path).relative_path();
}

bool file_tree::exists(std::string_view path) const {
    std::error_code ignored;
    return std::filesystem::exists(locate(path), ignored);
}

bool file_tree::readable(std::string_view path) const {
    return access(locate(path).c_str(), R_OK) == 0;
}

std::optional<std::string> file_tree::text(std::string_view path) const {
    // No stream: setting up its locale takes 0.1 ms of the time in which a process makes its first team.
    const int file = open(locate(path).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    std::string all;
    ssize_t got = 0;
    do {
        char part[4096];
        got = read(file, part, sizeof part);
        if (got > 0) all.append(part, static_cast<std::size_t>(got));
    } while (got > 0 || (got < 0 && errno == EINTR));
    close(file);
    if (got < 0) return std::nullopt;
    return std::string(trimmed(all));
}

std::optional<std::int64_t> file_tree::integer(std::string_view path) const {
    const auto found = text(path);
    return found ? to_integer(*found) : std::nullopt;
}

std::optional<std::vector<int>> file_tree::cpu_list(std::string_view path) const {
    const auto found = text(path);
    return found ? to_cpu_list(*found) : std::nullopt;
}

std::vector<std::string> file_tree::names(std::string_view folder) const {
    std::vector<std::string> found;
    std::error_code failure;
    for (std::filesystem::directory_iterator entry(locate(folder), failure), end; !failure && entry != end;
         entry.increment(failure)) {
        found.push_back(entry->path().filename().string());
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::optional<std::int64_t> cache_bytes(const file_tree& files, int level) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache";
    for (const std::string& name : files.names(folder)) {
        const std::string cache = folder + "/" + name;
        if (files.integer(cache + "/level") != level || files.text(cache + "/type") == "Instruction")
            continue;
        const auto size = files.text(cache + "/size");
        if (!size || !size->ends_with('K')) continue;  // as the kernel writes it
        const auto kibibytes = to_integer(std::string_view(*size).substr(0, size->size() - 1));
        if (kibibytes && *kibibytes > 0 && *kibibytes < std::int64_t{1} << 40) return *kibibytes << 10;
    }
    return {};
}

}  // namespace tauto::detail
