#pragma once
// How fast CPUs are while a program runs on them: a clock falls when its core gets hot, a virtual machine is
// moved to another host.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "timer/clock.hpp"

namespace tauto::balance {

using timer::nanoseconds;

// A CPU whose samples differ by more, twice in a row, has become faster or slower.
constexpr double changed_pace = 1.25;

// Blocks of a chain of dependent multiplications, without memory, in the CPU time or the wall time that they
// took.
struct probed {
    double blocks = 0;
    double processor = 0;  // ns
    double wall = 0;       // ns

    // Blocks in a ns of CPU time.
    double pace() const { return blocks / std::max(processor, 1.0); }
    void add(const probed& more) {
        blocks += more.blocks;
        processor += more.processor;
        wall += more.wall;
    }
};

// Whether each of these probes of a CPU shows what all of them do: as much work a second, and a second of CPU
// time. They do not where another program was on the CPU for some of the time.
inline bool all_agree(std::span<const probed> parts, double within) {
    const auto near = [within](double a, double b) { return std::max(a, b) < within * std::min(a, b); };
    probed all;
    for (const probed& one : parts) all.add(one);
    return std::ranges::all_of(parts, [&](const probed& one) {
        return near(one.pace(), all.pace()) && near(one.blocks / one.wall, all.blocks / all.wall);
    });
}

// Goes to this CPU and computes there for so long, by the clock or by its own CPU time. False where it may
// not be there.
enum class for_so_long { wall, processor };
bool probe_one(int cpu, nanoseconds length, for_so_long by, probed& into);

// A thread that probes one CPU after the other. It uses a thousandth of one CPU, and is in a program's way
// for half a millisecond at a time.
class paces {
  public:
    struct sample {
        std::size_t index = 0;  // in the list of CPUs
        double pace = 0;
    };

    explicit paces(std::vector<int> cpus);
    ~paces();
    paces(const paces&) = delete;
    paces& operator=(const paces&) = delete;

    // Those since the last call.
    std::vector<sample> take();

    // All are probed now, as soon as may be: somebody waits where all CPUs seemed to be equal.
    void hurry();

    // CPU time of all samples.
    nanoseconds spent();

  private:
    void run();

    std::vector<int> cpus_;
    std::mutex mutex_;
    std::condition_variable wakes_;
    bool over_ = false;            // under the mutex, as what follows
    std::size_t hurried_ = 0;      // CPUs that are still to be probed at once
    std::vector<sample> samples_;  // that were not taken
    double spent_ = 0;             // ns
    std::thread thread_;           // last: it uses all others
};

}  // namespace tauto::balance
