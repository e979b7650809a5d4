#pragma once
// Our own process: its signals, its parent and its CPUs.

#include <sys/types.h>

#include "launch/command.hpp"

namespace tauto::launch {

constexpr int exit_bad_input = 2;
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

// Thrown to end with a status; destructors close everything.
struct leave {
    int status;
};

bool asks_to_leave(int signal);

// While it exists, signals are read from a file and interrupt nothing.
class process {
  public:
    // Throws leave if the parent has already ended.
    process();
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    const inheritance& original() const { return original_; }
    bool parent_gone() const;
    // Whether it was stopped (Ctrl-Z, a debugger) and has not been continued.
    bool parent_stopped() const;
    // A file that polls readable when a signal has arrived.
    int signals() const { return signals_; }
    // The next signal that has arrived, or 0.
    int next_signal() const;
    // Moves to other CPUs than these, if any are allowed.
    void avoid(const std::vector<int>& cpus) const;

  private:
    pid_t parent_;
    inheritance original_{};
    int signals_ = -1;
};

}  // namespace tauto::launch
