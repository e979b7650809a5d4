#include "launch/command.hpp"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace tauto::launch {

namespace {

[[noreturn]] void live_as_guard(int pipe, const std::function<void(pid_t group)>& order) {
    setsid();
    prctl(PR_SET_NAME, "tauto-guard");
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    if (pipe > 0) close_range(0, static_cast<unsigned>(pipe) - 1, 0);
    close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
    pid_t group = 0;
    for (pid_t message = 0;;) {
        const ssize_t got = read(pipe, &message, sizeof message);
        if (got == static_cast<ssize_t>(sizeof message))
            group = message;
        else if (got == 0)
            break;
        else if (errno != EINTR)
            break;
    }
    order(group);
    _exit(0);
}

struct plan {
    std::vector<char*> arguments;
    inheritance original;
    int terminal;
    int failure_pipe;
    pid_t parent;
    without_us then;
};

// Between fork and exec of a process with threads: system calls only.
[[noreturn]] void become_command(const plan& to) {
    setpgid(0, 0);
    if (to.then == without_us::ends) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != to.parent) _exit(127);
    }
    if (to.terminal >= 0) tcsetpgrp(to.terminal, getpid());  // SIGTTOU is still blocked
    sched_setaffinity(0, sizeof to.original.cpus, &to.original.cpus);
    sigprocmask(SIG_SETMASK, &to.original.signals, nullptr);
    execvp(to.arguments[0], to.arguments.data());
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = write(to.failure_pipe, &reason, sizeof reason);
    _exit(127);
}

bool executable(const std::string& path) {
    struct stat facts {};
    return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && access(path.c_str(), X_OK) == 0;
}

int foreground_terminal() {
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal >= 0 && tcgetpgrp(terminal) == getpgrp()) return terminal;
    if (terminal >= 0) close(terminal);
    return -1;
}

}  // namespace

void guard::kill_group(pid_t group) {
    if (group > 0) kill(-group, SIGKILL);
}

guard::guard(const std::function<void(pid_t group)>& order) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw error(std::string("cannot open a pipe: ") + strerror(errno));
    process_ = fork();
    if (process_ < 0) throw error(std::string("cannot start a process: ") + strerror(errno));
    if (process_ == 0) live_as_guard(ends[0], order);
    close(ends[0]);
    pipe_ = ends[1];
}

guard::~guard() {
    protect(0);
    close(pipe_);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void guard::protect(pid_t group) {
    while (write(pipe_, &group, sizeof group) < 0 && errno == EINTR) {
    }
}

std::optional<std::string> find_program(const std::string& name) {
    if (name.find('/') != std::string::npos) return executable(name) ? std::optional(name) : std::nullopt;
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/bin:/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
        if (executable(candidate)) return candidate;
    }
    return std::nullopt;
}

command::command(const std::vector<std::string>& arguments, const inheritance& original, without_us then)
    : then_(then) {
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0) throw error(std::string("cannot open a pipe: ") + strerror(errno));
    terminal_ = foreground_terminal();
    plan to{{}, original, terminal_, failure[1], getpid(), then};
    for (const std::string& argument : arguments) to.arguments.push_back(const_cast<char*>(argument.c_str()));
    to.arguments.push_back(nullptr);
    process_ = fork();
    if (process_ == 0) become_command(to);
    close(failure[1]);
    int reason = process_ < 0 ? errno : 0;
    while (process_ > 0 && read(failure[0], &reason, sizeof reason) < 0 && errno == EINTR) {
    }
    close(failure[0]);
    if (reason == 0) return;
    if (process_ > 0) waitpid(process_, nullptr, 0);
    leave_foreground();
    throw cannot_execute("cannot run '" + arguments[0] + "': " + strerror(reason) +
                         "; check that it is a program for this machine");
}

command::~command() {
    if (!ended_ && then_ == without_us::ends) {
        signal_group(SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    leave_foreground();
    if (terminal_ >= 0) close(terminal_);
}

void command::signal_group(int signal) const {
    kill(-process_, signal);
}

command::news command::poll() {
    int status = 0;
    if (waitpid(process_, &status, WNOHANG | WUNTRACED) != process_) return news::none;
    if (WIFSTOPPED(status)) return news::stopped;
    ended_ = true;
    exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return news::ended;
}

void command::leave_foreground() const {
    if (terminal_ >= 0) tcsetpgrp(terminal_, getpgrp());
}

void command::take_foreground() const {
    if (terminal_ >= 0 && tcgetpgrp(terminal_) == getpgrp()) tcsetpgrp(terminal_, process_);
}

}  // namespace tauto::launch
