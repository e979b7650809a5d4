#include "emulator/watch.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace tauto::emulate {

namespace {

constexpr double most_scaling = 0.25;  // a larger change of the cost is ignored
constexpr double pace = 0.5;           // of the way to the new overhead at each check
constexpr std::int64_t fewest_turns = 2'000;

}  // namespace

factor_watch::factor_watch(const calibration& start) : start_(start), overhead_(start.overhead_nanoseconds) {}

double factor_watch::check(const thief_tally& tally, bool others_were_busy) {
    const auto turns = static_cast<double>(tally.turns - seen_.turns);
    if (turns <= 0.0) return overhead_;
    const auto processor = static_cast<double>(tally.processor - seen_.processor);
    double overhead = overhead_;
    if (others_were_busy && tally.turns - seen_.turns >= fewest_turns && start_.kernel_nanoseconds > 0.0) {
        const double kernel = (processor - static_cast<double>(tally.spun - seen_.spun)) / turns;
        const double scaling =
            std::clamp(kernel / start_.kernel_nanoseconds, 1.0 - most_scaling, 1.0 + most_scaling);
        overhead = start_.overhead_nanoseconds * scaling;
    }
    wall_ += static_cast<double>(tally.wall - seen_.wall);
    free_ += static_cast<double>(tally.gaps - seen_.gaps) - turns * overhead;
    processor_ += processor;
    interruptions_ += tally.interruptions - seen_.interruptions;
    interrupted_ += static_cast<double>(tally.interrupted - seen_.interrupted);
    seen_ = tally;
    overhead_ += pace * (overhead - overhead_);
    return overhead_;
}

long long idle_ticks(int cpu) {
    std::ifstream stat("/proc/stat");
    const std::string wanted = "cpu" + std::to_string(cpu);
    for (std::string line; std::getline(stat, line);) {
        std::istringstream fields(line);
        std::string name;
        long long user = 0, nice = 0, system = 0, idle = 0, iowait = 0;
        if (fields >> name >> user >> nice >> system >> idle >> iowait && name == wanted)
            return idle + iowait;
    }
    return -1;
}

}  // namespace tauto::emulate
