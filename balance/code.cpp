#include "balance/code.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace tauto::balance {

namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr nanoseconds read_again_after = 1'000 * timer::millisecond;  // for libraries that are loaded later
// With the number of a process: code of its own, as of a compiler that runs in it.
constexpr std::uint64_t no_file = std::uint64_t{1} << 63;

std::uint64_t identity(std::uint64_t device, std::uint64_t inode) {
    return (device * 0x9e3779b97f4a7c15U ^ inode) & ~no_file;
}

// The number at the front, which is taken off, with the sign behind it.
std::uint64_t take(std::string_view& text, int base = 16) {
    std::uint64_t found = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), found, base).ptr;
    text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
    return found;
}

}  // namespace

// "55d0-55d9 r-xp 00002000 08:01 1234  /usr/bin/solver"
std::vector<code::part> code::parts(std::string_view maps) {
    std::vector<part> found;
    while (!maps.empty()) {
        const std::size_t end = std::min(maps.find('\n'), maps.size());
        std::string_view line = maps.substr(0, end);
        maps.remove_prefix(std::min(end + 1, maps.size()));
        part one{};
        one.begin = take(line);
        one.end = take(line);
        if (line.size() < 5 || line[2] != 'x') continue;
        line.remove_prefix(5);
        one.offset = take(line);
        const std::uint64_t major = take(line);
        const std::uint64_t minor = take(line);
        const std::uint64_t inode = take(line, 10);
        if (inode == 0) continue;
        one.file = identity(major << 20 | minor, inode);
        found.push_back(one);
    }
    return found;
}

code_place code::of(pid_t process, std::uint64_t address) {
    layout& own = known_[process];
    const auto find = [&] {
        const auto behind = std::ranges::upper_bound(own.parts, address, {}, &part::begin);
        return behind != own.parts.begin() && address < std::prev(behind)->end ? std::prev(behind)
                                                                               : own.parts.end();
    };
    auto found = find();
    if (found == own.parts.end() && timer::now() - own.read > read_again_after) {
        own.read = timer::now();
        const std::string folder = "/proc/" + std::to_string(process);
        struct stat executed {};
        own.program = stat((folder + "/exe").c_str(), &executed) == 0
                          ? identity(executed.st_dev, executed.st_ino)
                          : no_file | static_cast<std::uint64_t>(process);
        std::ifstream maps(folder + "/maps");
        own.parts = parts(std::string(std::istreambuf_iterator<char>(maps), {}));
        found = find();
    }
    if (found == own.parts.end())
        return {own.program, no_file | static_cast<std::uint64_t>(process), address / line_bytes};
    return {own.program, found->file, (address - found->begin + found->offset) / line_bytes};
}

}  // namespace tauto::balance
