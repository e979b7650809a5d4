#pragma once
// The text files in which Linux describes a machine, below any root.

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tauto/signed.hpp>

namespace tauto::detail {

// Files below a root; every path is absolute as the kernel writes it. What is missing or unreadable is
// absent.
class file_tree {
  public:
    explicit file_tree(std::filesystem::path root) : root_(std::move(root)) {}

    // The running system itself, which may also be asked by other means than files.
    [[nodiscard]] bool live() const { return root_ == "/"; }
    [[nodiscard]] const std::filesystem::path& root() const { return root_; }
    [[nodiscard]] std::filesystem::path locate(std::string_view path) const;

    [[nodiscard]] bool exists(std::string_view path) const;
    [[nodiscard]] bool readable(std::string_view path) const;
    // Without white space at the ends.
    [[nodiscard]] std::optional<std::string> text(std::string_view path) const;
    [[nodiscard]] std::optional<std::int64_t> integer(std::string_view path) const;
    [[nodiscard]] std::optional<std::vector<int>> cpu_list(std::string_view path) const;
    // Names in a folder, sorted.
    [[nodiscard]] std::vector<std::string> names(std::string_view folder) const;

  private:
    std::filesystem::path root_;
};

// Bytes of the first CPU's data cache of that level.
std::optional<std::int64_t> cache_bytes(const file_tree& files, int level);

std::string_view trimmed(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
// The whole text is one decimal number.
std::optional<std::int64_t> to_integer(std::string_view text);
// The value of the first "key : value" line, as /proc has them, with one of these keys; the earlier key wins.
std::optional<std::string> value_of_line(std::string_view text, std::initializer_list<std::string_view> keys);
// The kernel's list format, "0-3,8"; empty text is an empty list. Sorted, no duplicates.
std::optional<std::vector<int>> to_cpu_list(std::string_view text);
std::vector<int> intersection(const std::vector<int>& a, const std::vector<int>& b);
bool contains(const std::vector<int>& sorted, int cpu);

}  // namespace tauto::detail
