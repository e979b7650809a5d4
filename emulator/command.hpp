#pragma once
// The command that runs on the slowed CPUs, and the guard that ends it when the emulator dies.

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <tauto/error.hpp>
#include <vector>

namespace tauto::emulate {

// A small process that waits for the emulator's end. If the emulator ends without notice (kill -9), it kills
// the command's whole process group. PR_SET_PDEATHSIG alone would leave the command's own children running.
class guard {
  public:
    guard();  // before any thread is started
    ~guard();
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    void protect(pid_t group);

  private:
    int pipe_ = -1;
    pid_t process_ = -1;
};

// Settings that the emulator changed for itself and restores for the command.
struct inheritance {
    sigset_t signals;
    cpu_set_t cpus;
};

// The system refused to execute an existing program.
class cannot_execute : public error {
  public:
    using error::error;
};

// The whole path that execvp would use; empty if there is no such program.
std::optional<std::string> find_program(const std::string& name);

class command {
  public:
    // Starts it in its own process group, in the terminal's foreground if the emulator was there. Throws
    // cannot_execute.
    command(const std::vector<std::string>& arguments, const inheritance& original);
    ~command();
    command(const command&) = delete;
    command& operator=(const command&) = delete;

    pid_t group() const { return process_; }
    void signal_group(int signal) const;

    enum class news { none, stopped, ended };
    // Reaps without waiting.
    news poll();
    // Its exit status, or 128 + the signal that ended it.
    int exit_status() const { return exit_status_; }
    // Ctrl-Z: gives the terminal back before the emulator stops too, and continues afterwards.
    void leave_foreground() const;
    void take_foreground() const;

  private:
    pid_t process_ = -1;
    int terminal_ = -1;  // open terminal to hand over, or -1
    int exit_status_ = 0;
    bool ended_ = false;
};

}  // namespace tauto::emulate
