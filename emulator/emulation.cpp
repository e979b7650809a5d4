#include "emulator/emulation.hpp"

#include <algorithm>

#include "emulator/laboratory.hpp"

namespace tauto::emulate {

emulation::emulation(const std::vector<slow_cpu>& asked, nanoseconds period) : period_(period) {
    for (const slow_cpu& entry : asked) slowdowns_.emplace_back(entry);
}

void emulation::calibrate(const launch::process& self) {
    const nanoseconds began = monotonic_now();
    std::vector<slow_cpu> asked;
    for (const slowdown& one : slowdowns_)
        if (one.wants_thief()) asked.push_back(one.asked());
    const std::vector<calibration> found = calibrate_apart(asked, period_, self);
    auto next = found.begin();
    for (slowdown& one : slowdowns_)
        if (one.wants_thief()) one.prepare(*next++, period_);
    calibration_seconds_ = static_cast<double>(monotonic_now() - began) * 1e-9;
}

void emulation::on() {
    for (slowdown& one : slowdowns_)
        if (one.asked().windows.empty()) one.on();
}

void emulation::off() {
    for (slowdown& one : slowdowns_) one.off();
}

void emulation::release() {
    for (slowdown& one : slowdowns_) one.release();
}

void emulation::check() {
    for (slowdown& one : slowdowns_) one.check();
}

nlohmann::json emulation::report() const {
    nlohmann::json line = {{"schema", "tautochrone.emulation/1"},
                           {"calibration_seconds", calibration_seconds_},
                           {"slow", nlohmann::json::array()},
                           {"warnings", nlohmann::json::array()}};
    for (const slowdown& one : slowdowns_) {
        line["slow"].push_back(one.report());
        if (const auto warning = one.warning()) line["warnings"].push_back(*warning);
    }
    return line;
}

void wait_until(nanoseconds deadline, pollfd* files, nfds_t count) {
    const nanoseconds left = std::max<nanoseconds>(0, deadline - monotonic_now());
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    ppoll(files, count, &timeout, nullptr);
}

}  // namespace tauto::emulate
