#include "timer/guard.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "timer/offspring.hpp"

namespace tauto::timer {

namespace {

constexpr int killed_by = 128;

sigset_t signals_to_read() {
    sigset_t read;
    sigemptyset(&read);
    for (const int number : {SIGCHLD, SIGTERM, SIGHUP}) sigaddset(&read, number);
    return read;
}

// A program gets default dispositions by exec only if nothing is ignored here. What is not read stays
// pending: Ctrl-C is the lab's to handle, and a pipe without a reader is an error of write(2).
void take_over_signals() {
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigset_t blocked = signals_to_read();
    for (const int number : {SIGINT, SIGQUIT, SIGPIPE, SIGTTIN, SIGTTOU, SIGTSTP})
        sigaddset(&blocked, number);
    sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

// What was open here is not handed on to programs, and the three standard streams are open.
void take_over_files() {
    while (true) {
        const int file = open("/dev/null", O_RDWR);
        if (file < 0 || file > STDERR_FILENO) {
            close(file);
            break;
        }
    }
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

void end_what_is_left(pid_t group) {
    while (waitpid(-1, nullptr, WNOHANG) >= 0 && kill_offspring(group)) waitpid(-1, nullptr, 0);
}

[[noreturn]] void live_as_guard(pid_t worker) {
    prctl(PR_SET_NAME, "tauto-guard");
    const sigset_t awaited = signals_to_read();
    for (;;) {
        const int number = sigwaitinfo(&awaited, nullptr);
        if (number == SIGTERM || number == SIGHUP) kill(worker, SIGTERM);
        int status = 0;
        if (waitpid(worker, &status, WNOHANG) == worker && (WIFEXITED(status) || WIFSIGNALED(status))) {
            end_what_is_left(0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : killed_by + WTERMSIG(status));
        }
    }
}

}  // namespace

int open_signals() {
    const sigset_t read = signals_to_read();
    const int file = signalfd(-1, &read, SFD_CLOEXEC | SFD_NONBLOCK);
    if (file < 0) throw std::system_error(errno, std::generic_category(), "signals");
    return file;
}

void become_guarded() {
    take_over_files();
    take_over_signals();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t guard = getpid();
    const pid_t worker = fork();
    if (worker < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (worker > 0) live_as_guard(worker);
    prctl(PR_SET_CHILD_SUBREAPER, 1);  // is not inherited
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != guard) _exit(killed_by + SIGKILL);
}

}  // namespace tauto::timer
