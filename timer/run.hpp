#pragma once
// Runs what a request asks for, and accounts for it.

#include <sys/types.h>

#include <set>
#include <string>

#include "timer/answer.hpp"
#include "timer/clock.hpp"
#include "timer/counters.hpp"
#include "timer/inbox.hpp"
#include "timer/output.hpp"
#include "timer/program.hpp"
#include "timer/request.hpp"

namespace tauto::timer {

// What is asked to stop may take this long to end before it is killed.
constexpr nanoseconds grace = 500'000'000;

class run_executor {
  public:
    // `from`: where a cancel may come from. `signals`: see guard.hpp. Throws std::system_error.
    run_executor(inbox& from, int signals);

    [[nodiscard]] answer run(const request& asked);
    // Whether a signal has told us to end.
    [[nodiscard]] bool told_to_end() const { return told_to_end_; }
    // Waits until there is something to read from the lab, or a signal tells us to end.
    void wait_for_input();

  private:
    struct child;

    void run_repeatedly(const request& asked, answer& said);
    // False if it did not start.
    bool run_once(const request& asked, const program& what, const streams& to, output_file* output,
                  answer& said);
    void watch(child& running, output_file* output);
    void stop(child& running, const char* why);
    void end_the_rest(const child& ended, const request& asked, answer& said);
    // Waits until `moment`, or until the lab, a signal or a child calls; returns when that was seen.
    nanoseconds wait_until(nanoseconds moment);
    void read_signals();
    bool asked_to_stop();

    inbox& inbox_;
    int signals_;
    output_file errors_;
    counters counters_{hardware_events()};
    bool told_to_end_ = false;
    bool cancelled_ = false;  // the request
};

}  // namespace tauto::timer
