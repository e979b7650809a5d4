#pragma once
// Files that are written where others may write too: no link of another user's is followed.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tauto::detail {

/// Opens `path` as open(2) does, for writing and to be made, but follows only links that root or this user
/// has made. A pipe that nobody reads is not waited for. Returns -1 with errno, which is ELOOP for such a
/// link.
///
/// Each folder on the way is opened in the one before, so that none can be exchanged for a link meanwhile.
[[nodiscard]] inline int open_own_file(const std::string& path, int flags) {
    constexpr int most_links = 40;
    struct stat found {};
    if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
        const int special = open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (special >= 0) fcntl(special, F_SETFL, flags & ~(O_CREAT | O_TRUNC));
        return special;
    }
    constexpr int on_the_way = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int folder = open(path.starts_with('/') ? "/" : ".", on_the_way);
    std::string rest = path;
    for (int links = 0; folder >= 0;) {
        rest.erase(0, rest.find_first_not_of('/'));
        const std::size_t slash = rest.find('/');
        const std::string name = rest.substr(0, slash);
        int inner = -1;
        const bool is_link =
            fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode);
        if (is_link && (++links > most_links || (found.st_uid != 0 && found.st_uid != geteuid()))) {
            errno = ELOOP;
        } else if (is_link) {
            std::array<char, PATH_MAX> target{};
            const ssize_t length = readlinkat(folder, name.c_str(), target.data(), target.size());
            const std::string_view behind = slash == rest.npos ? "" : std::string_view(rest).substr(slash);
            if (length > 0) {
                rest = std::string(target.data(), static_cast<std::size_t>(length)).append(behind);
                inner = rest.starts_with('/') ? open("/", on_the_way) : dup(folder);
            }
        } else if (slash == rest.npos) {
            inner = openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0666);
        } else {
            inner = openat(folder, name.c_str(), on_the_way);
            rest.erase(0, slash);
        }
        const int error = errno;
        close(folder);
        errno = error;
        if (!is_link && slash == std::string::npos) return inner;
        folder = inner;
    }
    return -1;
}

/// Makes `content` all that the file has. Returns 0 or the error number.
[[nodiscard]] inline int write_own_file(const std::string& path, std::string_view content) {
    const int file = open_own_file(path, O_WRONLY | O_CREAT | O_TRUNC);
    if (file < 0) return errno;
    int error = 0;
    while (!content.empty() && error == 0) {
        const ssize_t written = write(file, content.data(), content.size());
        if (written >= 0)
            content.remove_prefix(static_cast<std::size_t>(written));
        else if (errno != EINTR)
            error = errno;
    }
    if (close(file) != 0 && error == 0) error = errno;
    return error;
}

/// What strerror would say, but of a link of another user's.
[[nodiscard]] inline const char* words_of_own_file(int error, const char* usual) {
    return error == ELOOP ? "a link on the way there is another user's" : usual;
}

}  // namespace tauto::detail
