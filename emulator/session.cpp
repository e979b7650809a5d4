#include "emulator/session.hpp"

#include <signal.h>

#include <algorithm>

namespace tauto::emulate {

session::session(const std::vector<std::string>& arguments, const launch::process& self, emulation& all,
                 launch::guard& keeper)
    : self_(self), all_(all), keeper_(keeper) {
    all_.on();
    started_ = monotonic_now();
    command_.emplace(arguments, self_.original(), launch::without_us::ends);
    keeper_.protect(command_->group());
    events_ = plan_windows();
}

std::deque<session::event> session::plan_windows() {
    const auto at = [this](double seconds) { return started_ + static_cast<nanoseconds>(seconds * 1e9); };
    std::deque<event> events;
    for (slowdown& one : all_.cpus())
        for (const time_window& window : one.asked().windows) {
            events.push_back({at(window.on_seconds), &one, &window});
            events.push_back({at(window.off_seconds), &one, nullptr});
        }
    // At the same time, ends come before beginnings.
    std::sort(events.begin(), events.end(), [](const event& a, const event& b) {
        return a.at != b.at ? a.at < b.at : a.window == nullptr && b.window != nullptr;
    });
    return events;
}

void session::switch_due() {
    for (; !events_.empty() && events_.front().at <= monotonic_now(); events_.pop_front()) {
        const event& due = events_.front();
        due.window ? due.cpu->on(due.window) : due.cpu->off();
    }
}

int session::run() {
    nanoseconds next_check = monotonic_now() + check_every;
    while (!command_ended()) {
        switch_due();
        if (monotonic_now() >= next_check) {
            all_.check();
            next_check = monotonic_now() + check_every;
        }
        pollfd files[] = {{self_.signals(), POLLIN, 0}};
        wait_until(events_.empty() ? next_check : std::min(next_check, events_.front().at), files, 1);
    }
    all_.off();
    keeper_.protect(0);
    return command_->exit_status();
}

// Passes signals on. True if one of them reported the command's end.
bool session::command_ended() {
    while (const int signal = self_.next_signal()) {
        if (launch::asks_to_leave(signal)) command_->signal_group(signal);
        if (self_.parent_gone()) throw launch::leave{128 + SIGKILL};
        if (signal != SIGCHLD) continue;
        const launch::command::news news = command_->poll();
        if (news == launch::command::news::ended) return true;
        if (news == launch::command::news::stopped) stop_too();
    }
    return false;
}

// Ctrl-Z stopped the command: the emulator stops too, with its thieves, and continues when the shell
// continues it.
void session::stop_too() {
    command_->leave_foreground();
    raise(SIGSTOP);
    command_->take_foreground();
    command_->signal_group(SIGCONT);
}

}  // namespace tauto::emulate
