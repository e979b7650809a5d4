#include "emulate_emulation.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <tauto/error.hpp>
#include <thread>

namespace tauto::emulate {

namespace {

// The threads that calibrate end with the process, and there is nothing else to put back yet.
void leave_if_asked(const process& self) {
    while (const int signal = self.next_signal()) {
        if (asks_to_leave(signal)) _exit(128 + signal);
        if (self.parent_gone()) _exit(128 + SIGKILL);
    }
}

void wait_for(int done, std::size_t wanted, const process& self) {
    for (std::uint64_t finished = 0; finished < wanted;) {
        pollfd events[] = {{done, POLLIN, 0}, {self.signals(), POLLIN, 0}};
        poll(events, 2, -1);
        leave_if_asked(self);
        std::uint64_t more = 0;
        if (events[0].revents != 0 && read(done, &more, sizeof more) > 0) finished += more;
    }
}

}  // namespace

emulation::emulation(const std::vector<slow_cpu>& asked, nanoseconds period) : period_(period) {
    for (const slow_cpu& entry : asked) slowdowns_.emplace_back(entry);
}

void emulation::calibrate(const process& self) {
    const nanoseconds began = monotonic_now();
    const int done = eventfd(0, EFD_CLOEXEC);
    std::vector<std::string> failures(slowdowns_.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < slowdowns_.size(); ++i) {
        threads.emplace_back([this, i, done, &failures] {
            try {
                slowdowns_[i].calibrate(period_);
            } catch (const std::exception& failure) {
                failures[i] = failure.what();
            }
            const std::uint64_t one = 1;
            [[maybe_unused]] const ssize_t written = write(done, &one, sizeof one);
        });
    }
    wait_for(done, slowdowns_.size(), self);
    for (std::thread& thread : threads) thread.join();
    close(done);
    calibration_seconds_ = static_cast<double>(monotonic_now() - began) * 1e-9;
    for (const std::string& failure : failures)
        if (!failure.empty()) throw error(failure);
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
