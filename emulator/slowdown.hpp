#pragma once
// One CPU that is slowed: its thief, its calibration, and the account of what really happened.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulate_request.hpp"
#include "emulate_thief.hpp"
#include "emulate_watch.hpp"

namespace tauto::emulate {

// Two emulators on one CPU would spoil each other's factor, so each CPU has one owner at a time. The claim is
// an abstract socket: the kernel takes it back however the owner ends.
class cpu_claim {
  public:
    explicit cpu_claim(int cpu);  // waits up to 5 s, then throws tauto::error
    ~cpu_claim();
    cpu_claim(const cpu_claim&) = delete;
    cpu_claim& operator=(const cpu_claim&) = delete;

  private:
    int socket_ = -1;
};

class slowdown {
  public:
    // Claims the CPU. Throws tauto::error when another emulator has it.
    explicit slowdown(slow_cpu asked);

    bool wants_thief() const { return asked_.factor > 1.0; }
    // Takes over what calibration found. Throws tauto::error when that is not what was asked, and without the
    // right to SCHED_FIFO.
    void prepare(const calibration& found, nanoseconds asked_period);

    const slow_cpu& asked() const { return asked_; }
    // Throws tauto::error when another emulator has the CPU by now.
    void on(const time_window* window = nullptr);
    void off();
    // Lets other emulators have the CPU until on() is called again.
    void release() { claim_.reset(); }
    // Compares books and wishes, and sets the thief right; about once a second.
    void check();

    nlohmann::json report() const;
    // Nothing, or a sentence when the CPU was not as slow as asked.
    std::optional<std::string> warning() const;

  private:
    struct duty {
        std::optional<time_window> window;
        nanoseconds on;
        nanoseconds off;
    };

    void claim();
    bool others_were_busy();
    std::optional<double> factor_while_running() const;

    slow_cpu asked_;
    std::unique_ptr<cpu_claim> claim_;
    std::unique_ptr<thief> thief_;  // none for factor 1
    calibration calibration_;
    std::optional<factor_watch> watch_;
    std::vector<duty> duties_;
    long long idle_ticks_ = -1;
    nanoseconds checked_ = 0;
};

// Nothing when this process may have SCHED_FIFO threads on `cpu`; else why not and what to do.
std::optional<std::string> why_no_thief(int cpu);

}  // namespace tauto::emulate
