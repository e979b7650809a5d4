#pragma once
// The emulator's own process: its signals, its parent, the CPUs it keeps to.

#include <sys/types.h>

#include <vector>

#include "emulate_command.hpp"
#include "emulate_request.hpp"

namespace tauto::emulate {

// Thrown to leave with a status; whatever is open is closed on the way.
struct leave {
    int status;
};

bool asks_to_leave(int signal);

// While it lives, signals are read from a file and interrupt nothing.
class process {
  public:
    // Throws leave when the parent is gone already.
    process();
    ~process();
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    const inheritance& original() const { return original_; }
    bool parent_gone() const;
    // A file that polls readable when a signal has come in.
    int signals() const { return signals_; }
    // The next signal that has come in, or 0.
    int next_signal() const;
    // Moves off the slowed CPUs, where any other is allowed.
    void avoid(const std::vector<slow_cpu>& slowed) const;

  private:
    pid_t parent_;
    inheritance original_{};
    int signals_ = -1;
};

}  // namespace tauto::emulate
