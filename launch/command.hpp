#pragma once
// A command in its own process group, and the guard that ends it when the program that started it dies.

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <tauto/error.hpp>
#include <vector>

namespace tauto::launch {

// A small process that waits for our end, and then puts in order what we left if we ended without notice
// (kill -9).
class guard {
  public:
    // `order` gets the group protected last, or 0. Kills that whole group if nothing else is named:
    // PR_SET_PDEATHSIG alone would leave the command's own children running. Before any thread is started.
    explicit guard(const std::function<void(pid_t group)>& order = kill_group);
    ~guard();
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    void protect(pid_t group);

  private:
    static void kill_group(pid_t group);

    int pipe_ = -1;
    pid_t process_ = -1;
};

// Settings that we changed for ourselves and restore for the command.
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

// What becomes of the command where we are killed, or leave before it has ended.
enum class without_us { ends, goes_on };

class command {
  public:
    // Starts it in its own process group, in the terminal's foreground if we were there. Throws
    // cannot_execute.
    command(const std::vector<std::string>& arguments, const inheritance& original, without_us then);
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
    // Ctrl-Z: gives the terminal back before we stop too, and continues afterwards.
    void leave_foreground() const;
    void take_foreground() const;

  private:
    without_us then_;
    pid_t process_ = -1;
    int terminal_ = -1;  // open terminal to hand over, or -1
    int exit_status_ = 0;
    bool ended_ = false;
};

}  // namespace tauto::launch
