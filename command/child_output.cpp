#include "command/child_output.hpp"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace tauto::command {

namespace {

constexpr int exit_by_signal = 128;

// Both ends of a pipe, with numbers that no standard stream has even where one of those is closed.
std::array<int, 2> high_pipe() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::runtime_error(strerror(errno));
    for (int& end : ends) {
        const int high = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        const int error = errno;
        close(end);
        if (high < 0) throw std::runtime_error(strerror(error));
        end = high;
    }
    return ends;
}

std::string all_of(int file) {
    std::string text;
    std::array<char, 4096> part{};
    while (true) {
        const ssize_t got = read(file, part.data(), part.size());
        if (got == 0 || (got < 0 && errno != EINTR)) return text;
        text.append(part.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
}

}  // namespace

ended_child output_of(const std::function<int()>& become) {
    const auto [reading, writing] = high_pipe();
    // Of a child whose end is ignored nobody learns how it ended.
    struct sigaction before {};
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &usual, &before);
    const pid_t child = fork();
    if (child == 0) {
        sigaction(SIGCHLD, &before, nullptr);
        dup2(writing, STDOUT_FILENO);
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (nothing > STDIN_FILENO) dup2(nothing, STDIN_FILENO);
        _exit(become());
    }
    const int error = errno;
    close(writing);
    ended_child ended;
    int status = 0;
    if (child > 0) {
        ended.output = all_of(reading);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    close(reading);
    sigaction(SIGCHLD, &before, nullptr);
    if (child < 0) throw std::runtime_error(strerror(error));
    ended.code = WIFSIGNALED(status) ? exit_by_signal + WTERMSIG(status) : WEXITSTATUS(status);
    return ended;
}

}  // namespace tauto::command
