#include "emulator/hold.hpp"

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <optional>
#include <string>
#include <tauto/error.hpp>

namespace tauto::emulate {

namespace {

void say(nlohmann::json line, const char* state) {
    line["state"] = state;
    std::cout << line.dump() << std::endl;
}

void resume(emulation& all) {
    all.off();
    try {
        all.on();
        say(all.report(), "slow");
    } catch (const error& taken) {
        all.off();
        all.release();
        say({{"error", taken.what()}}, "error");
    }
}

void obey(const std::string& word, emulation& all) {
    if (word == "pause") {
        all.off();
        all.release();  // several emulators may be held for one CPU if all but one are paused
        say(all.report(), "paused");
    } else if (word == "resume") {
        resume(all);
    } else if (word == "report") {
        all.check();
        say(all.report(), "report");
    } else if (!word.empty()) {
        say({{"error", "unknown word '" + word + "'; say pause, resume or report"}}, "error");
    }
}

// Executes the complete input lines; false at the end of the input.
bool read_words(std::string& words, emulation& all) {
    char buffer[256];
    const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
    if (got <= 0) return false;
    words.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end; (end = words.find('\n')) != std::string::npos; words.erase(0, end + 1))
        obey(words.substr(0, end), all);
    return true;
}

std::optional<int> signal_to_leave(const launch::process& self) {
    while (const int signal = self.next_signal()) {
        if (self.parent_gone()) throw launch::leave{128 + SIGKILL};
        if (launch::asks_to_leave(signal)) return signal;
    }
    return std::nullopt;
}

}  // namespace

int hold(const launch::process& self, emulation& all) {
    all.on();
    say(all.report(), "ready");
    std::string words;
    std::optional<int> signal;
    nanoseconds next_check = monotonic_now() + check_every;
    for (bool open = true; open && !signal;) {
        pollfd files[] = {{self.signals(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        wait_until(next_check, files, 2);
        if (monotonic_now() >= next_check) {
            if (self.parent_stopped())
                all.off();
            else
                all.check();
            next_check = monotonic_now() + check_every;
        }
        signal = signal_to_leave(self);
        if (files[1].revents != 0) open = read_words(words, all);
    }
    all.off();
    say(all.report(), "ended");
    return signal ? 128 + *signal : 0;
}

}  // namespace tauto::emulate
