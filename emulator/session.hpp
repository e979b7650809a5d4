#pragma once
// One command under emulation, from its start to its end.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "emulator/emulation.hpp"
#include "launch/command.hpp"
#include "launch/process.hpp"

namespace tauto::emulate {

class session {
  public:
    // Slows the CPUs and starts the command. Throws cannot_execute.
    session(const std::vector<std::string>& arguments, const launch::process& self, emulation& all,
            launch::guard& keeper);

    // Waits for the command and returns its exit status, or 128 + the signal that ended it. Throws leave,
    // which ends the command, if our own parent has ended.
    int run();

    nanoseconds started() const { return started_; }

  private:
    // The begin of a time window, or (null) its end.
    struct event {
        nanoseconds at;
        slowdown* cpu;
        const time_window* window;
    };

    std::deque<event> plan_windows();
    void switch_due();
    bool command_ended();
    void stop_too();

    const launch::process& self_;
    emulation& all_;
    launch::guard& keeper_;
    nanoseconds started_ = 0;
    std::optional<launch::command> command_;
    std::deque<event> events_;
};

}  // namespace tauto::emulate
