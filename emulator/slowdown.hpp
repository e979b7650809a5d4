#pragma once
// One slowed CPU: its thief, its calibration, and the measured slowdown.

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "emulator/request.hpp"
#include "emulator/thief.hpp"
#include "emulator/watch.hpp"

namespace tauto::emulate {

// Two emulators on one CPU would falsify each other's factor, so each CPU has one owner at a time. The claim
// is an abstract socket, which the kernel releases however the owner ends.
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
    // Claims the CPU. Throws tauto::error if another emulator has it.
    explicit slowdown(slow_cpu asked);

    bool wants_thief() const { return asked_.factor > 1.0; }
    // Uses the result of the calibration. Throws tauto::error if the factor was not reached, and without
    // permission for SCHED_FIFO.
    void prepare(const calibration& found, nanoseconds asked_period);

    const slow_cpu& asked() const { return asked_; }
    // Throws tauto::error if another emulator now has the CPU.
    void on(const time_window* window = nullptr);
    void off();
    // Releases the CPU for other emulators until on() is called again.
    void release() { claim_.reset(); }
    // Looks what others get, and corrects the thief; several times a second.
    void check();

    nlohmann::json report() const;
    // A warning if the CPU was not as slow as requested.
    std::optional<std::string> warning() const;

  private:
    struct duty {
        std::optional<time_window> window;
        nanoseconds on;
        nanoseconds off;
    };

    void claim();
    void look();
    std::optional<double> factor_while_running() const;

    slow_cpu asked_;
    std::unique_ptr<cpu_claim> claim_;
    std::unique_ptr<thief> thief_;  // none for factor 1
    calibration calibration_;
    std::optional<factor_watch> watch_;
    std::vector<duty> duties_;
};

// Empty if this process may have SCHED_FIFO threads on `cpu`; else the reason and the remedy.
std::optional<std::string> why_no_thief(int cpu);

}  // namespace tauto::emulate
