// tauto-emulate: makes CPUs slow for everyone else while a command runs.

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <tauto/error.hpp>
#include <thread>

#include "emulate_command.hpp"
#include "emulate_request.hpp"
#include "emulate_slowdown.hpp"

namespace {

using namespace tauto::emulate;

constexpr int exit_bad_input = 2;
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;
constexpr nanoseconds check_every = 1'000'000'000;

struct options {
    std::string slow;
    double period_microseconds = 0.0;
    bool json = false;
    bool hold = false;
    bool check = false;
    std::string report_path;
    std::vector<std::string> command;
};

// Leaves at once with a status; whatever is open is closed on the way.
struct leave {
    int status;
};

void complain(const std::string& kind, const std::string& sentence) {
    std::fprintf(stderr, "tauto-emulate: %s: %s\n", kind.c_str(), sentence.c_str());
}

// ---- the process: its signals, its parent, its place

// A signal of our own tells of the parent's end, since PR_SET_PDEATHSIG also fires when only the parent's
// thread that started us ends; then getppid() is as before and we stay.
int parent_gone_signal() {
    return SIGRTMIN + 3;
}

class process {
  public:
    process() : parent_(getppid()) {
        sigset_t caught;
        sigemptyset(&caught);
        for (const int signal :
             {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGTTOU, SIGPIPE, parent_gone_signal()})
            sigaddset(&caught, signal);
        sigprocmask(SIG_BLOCK, &caught, &original_.signals);
        sched_getaffinity(0, sizeof original_.cpus, &original_.cpus);
        signals_ = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
        if (signals_ < 0) throw tauto::error(std::string("cannot receive signals: ") + strerror(errno));
        prctl(PR_SET_PDEATHSIG, parent_gone_signal());
        if (parent_gone()) throw leave{128 + SIGKILL};
    }
    ~process() { close(signals_); }
    process(const process&) = delete;
    process& operator=(const process&) = delete;

    const inheritance& original() const { return original_; }
    bool parent_gone() const { return getppid() != parent_; }
    int signals() const { return signals_; }

    // The next signal that has come in, or 0.
    int next_signal() const {
        signalfd_siginfo facts{};
        return read(signals_, &facts, sizeof facts) == static_cast<ssize_t>(sizeof facts)
                   ? static_cast<int>(facts.ssi_signo)
                   : 0;
    }

    // Off the slowed CPUs, where any other is allowed.
    void avoid(const std::vector<slow_cpu>& slowed) const {
        cpu_set_t rest = original_.cpus;
        for (const slow_cpu& entry : slowed)
            if (entry.factor > 1.0) CPU_CLR(static_cast<unsigned>(entry.cpu), &rest);
        if (CPU_COUNT(&rest) > 0) sched_setaffinity(0, sizeof rest, &rest);
    }

  private:
    pid_t parent_;
    inheritance original_{};
    int signals_ = -1;
};

bool asks_to_leave(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// ---- all slowed CPUs together

class emulation {
  public:
    emulation(const std::vector<slow_cpu>& asked, nanoseconds period) : period_(period) {
        for (const slow_cpu& entry : asked) slowdowns_.emplace_back(entry);
    }

    // All CPUs at once, each by a thread of its own; `watch` ends it early through a signal.
    void calibrate(const process& watch) {
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
        wait_for(done, slowdowns_.size(), watch);
        for (std::thread& thread : threads) thread.join();
        close(done);
        calibration_seconds_ = static_cast<double>(monotonic_now() - began) * 1e-9;
        for (const std::string& failure : failures)
            if (!failure.empty()) throw tauto::error(failure);
    }

    std::deque<slowdown>& cpus() { return slowdowns_; }
    void on() {
        for (slowdown& one : slowdowns_)
            if (one.asked().windows.empty()) one.on();
    }
    void off() {
        for (slowdown& one : slowdowns_) one.off();
    }
    void check() {
        for (slowdown& one : slowdowns_) one.check();
    }

    nlohmann::json report() const {
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

  private:
    static void wait_for(int done, std::size_t wanted, const process& watch) {
        for (std::uint64_t finished = 0; finished < wanted;) {
            pollfd events[] = {{done, POLLIN, 0}, {watch.signals(), POLLIN, 0}};
            poll(events, 2, -1);
            while (const int signal = watch.next_signal())
                // The threads that calibrate end with the process; there is nothing else to put back yet.
                if (asks_to_leave(signal) || watch.parent_gone())
                    _exit(128 + (asks_to_leave(signal) ? signal : SIGKILL));
            if (events[0].revents == 0) continue;
            std::uint64_t more = 0;
            if (read(done, &more, sizeof more) > 0) finished += more;
        }
    }

    nanoseconds period_;
    std::deque<slowdown> slowdowns_;
    double calibration_seconds_ = 0.0;
};

// ---- the switching plan

struct event {
    nanoseconds at;
    slowdown* cpu;
    const time_window* window;  // to begin; null: to end
};

std::deque<event> plan_windows(emulation& all, nanoseconds epoch) {
    const auto at = [epoch](double seconds) { return epoch + static_cast<nanoseconds>(seconds * 1e9); };
    std::deque<event> events;
    for (slowdown& one : all.cpus())
        for (const time_window& window : one.asked().windows) {
            events.push_back({at(window.on_seconds), &one, &window});
            events.push_back({at(window.off_seconds), &one, nullptr});
        }
    // Ends before beginnings at the same moment.
    std::sort(events.begin(), events.end(), [](const event& a, const event& b) {
        return a.at != b.at ? a.at < b.at : a.window == nullptr && b.window != nullptr;
    });
    return events;
}

void switch_due(std::deque<event>& events) {
    for (; !events.empty() && events.front().at <= monotonic_now(); events.pop_front())
        events.front().window ? events.front().cpu->on(events.front().window) : events.front().cpu->off();
}

// Waits for input on either file, at most until `deadline`.
void wait_until(nanoseconds deadline, pollfd* files, nfds_t count) {
    const nanoseconds left = std::max<nanoseconds>(0, deadline - monotonic_now());
    const timespec timeout{static_cast<time_t>(left / 1'000'000'000),
                           static_cast<long>(left % 1'000'000'000)};
    ppoll(files, count, &timeout, nullptr);
}

// ---- with a command

class session {
  public:
    session(const options& wish, const process& self, emulation& all, guard& keeper)
        : self_(self), all_(all), keeper_(keeper) {
        all_.on();
        started_ = monotonic_now();
        command_.emplace(wish.command, self_.original());
        keeper_.protect(command_->group());
        events_ = plan_windows(all_, started_);
    }

    int run() {
        nanoseconds next_check = monotonic_now() + check_every;
        while (!take_signals()) {
            switch_due(events_);
            if (monotonic_now() >= next_check) {
                all_.check();
                next_check += check_every;
            }
            pollfd files[] = {{self_.signals(), POLLIN, 0}};
            wait_until(events_.empty() ? next_check : std::min(next_check, events_.front().at), files, 1);
        }
        all_.off();
        return command_->exit_status();
    }

    nanoseconds started() const { return started_; }

  private:
    // True when the command has ended.
    bool take_signals() {
        while (const int signal = self_.next_signal()) {
            if (asks_to_leave(signal)) command_->signal_group(signal);
            if (self_.parent_gone()) throw leave{128 + SIGKILL};  // the command dies on the way out
            if (signal != SIGCHLD) continue;
            const command::news news = command_->poll();
            if (news == command::news::ended) return true;
            if (news == command::news::stopped) stop_too();
        }
        return false;
    }

    // Ctrl-Z stopped the command: stop like it, thieves and all, and go on when the shell says so.
    void stop_too() {
        command_->leave_foreground();
        raise(SIGSTOP);
        command_->take_foreground();
        command_->signal_group(SIGCONT);
    }

    const process& self_;
    emulation& all_;
    guard& keeper_;
    nanoseconds started_ = 0;
    std::optional<command> command_;
    std::deque<event> events_;
};

void hand_in(const options& wish, const nlohmann::json& report) {
    for (const auto& warning : report["warnings"]) complain("warning", warning.get<std::string>());
    if (wish.json) std::fprintf(stderr, "%s\n", report.dump().c_str());
    if (wish.report_path.empty()) return;
    std::ofstream file(wish.report_path);
    if (!(file << report.dump() << std::endl))
        complain("warning", "cannot write the report to '" + wish.report_path + "': " + strerror(errno));
}

int run_with_command(const options& wish, const process& self, emulation& all, guard& keeper) {
    session running(wish, self, all, keeper);
    const int status = running.run();
    keeper.protect(0);
    nlohmann::json report = all.report();
    report["command_started_monotonic_seconds"] = static_cast<double>(running.started()) * 1e-9;
    report["exit_status"] = status;
    hand_in(wish, report);
    return status;
}

// ---- held by another program

void say(nlohmann::json line, const char* state) {
    line["state"] = state;
    std::cout << line.dump() << std::endl;
}

// One word from the holder; every word is answered by a line once it is in force.
void obey(const std::string& word, emulation& all) {
    if (word == "pause") {
        all.off();
        say(all.report(), "paused");
    } else if (word == "resume") {
        all.off();
        all.on();
        say(all.report(), "slow");
    } else if (word == "report") {
        all.check();
        say(all.report(), "report");
    } else if (!word.empty()) {
        say({{"error", "unknown word '" + word + "'; say pause, resume or report"}}, "error");
    }
}

int hold(const options& wish, const process& self, emulation& all) {
    all.on();
    say(all.report(), "ready");
    std::string words;
    int status = 0;
    nanoseconds next_check = monotonic_now() + check_every;
    for (bool open = true; open;) {
        pollfd files[] = {{self.signals(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        wait_until(next_check, files, 2);
        if (monotonic_now() >= next_check) {
            all.check();
            next_check = monotonic_now() + check_every;
        }
        while (const int signal = self.next_signal()) {
            if (self.parent_gone()) throw leave{128 + SIGKILL};
            if (asks_to_leave(signal)) {
                status = 128 + signal;
                open = false;
            }
        }
        if (files[1].revents == 0) continue;
        char buffer[256];
        const ssize_t got = read(STDIN_FILENO, buffer, sizeof buffer);
        if (got <= 0) open = false;
        if (got > 0) words.append(buffer, static_cast<std::size_t>(got));
        for (std::size_t end; (end = words.find('\n')) != std::string::npos; words.erase(0, end + 1))
            obey(words.substr(0, end), all);
    }
    all.off();
    say(all.report(), "ended");
    hand_in(wish, all.report());
    return status;
}

// ---- the command line

options read_options(int count, char** values) {
    options wish;
    const auto mark =
        std::find_if(values, values + count, [](const char* v) { return std::string_view(v) == "--"; });
    if (mark != values + count) wish.command.assign(mark + 1, values + count);
    CLI::App app{"Makes CPUs slow for everyone else while a command runs.", "tauto-emulate"};
    app.footer(
        "The command and its arguments stand behind --, for example: tauto-emulate --slow 1:4 -- ./solver "
        "case.in");
    app.add_option("--slow", wish.slow,
                   "CPUs and how many times slower each becomes (1 to 32), for example 1:4,3:2; "
                   "1:4@3-6: only from second 3 to 6 after the start of the command");
    app.add_option("--period-us", wish.period_microseconds,
                   "Shortest turn of a thief in microseconds (default: the shortest from 50 to 100 that "
                   "meets the factor)");
    app.add_flag("--json", wish.json, "Report as one JSON line on standard error at the end");
    app.add_option("--report", wish.report_path, "Report into this file at the end");
    app.add_flag("--hold", wish.hold,
                 "No command: slow until standard input closes; takes the words pause, resume, "
                 "report, one a line, and answers each with a JSON line");
    app.add_flag("--check", wish.check, "Only say as JSON whether CPUs can be slowed here");
    try {
        app.parse(static_cast<int>(mark - values), values);
    } catch (const CLI::Success& request) {
        throw leave{app.exit(request)};
    } catch (const CLI::ExtrasError& failure) {
        throw tauto::error(std::string(failure.what()) + "; put -- before the command");
    } catch (const CLI::ParseError& failure) {
        throw tauto::error(std::string(failure.what()) + "; see tauto-emulate --help");
    }
    return wish;
}

nanoseconds check_period(const options& wish) {
    const double period = wish.period_microseconds;
    if (period == 0.0) return 0;
    if (!(period >= 20.0 && period <= 10'000.0))
        throw tauto::error("--period-us " + std::to_string(period) +
                           " is out of range; choose from 20 to 10000");
    return static_cast<nanoseconds>(period * 1e3);
}

void check_mode(const options& wish) {
    if (wish.slow.empty())
        throw tauto::error("no CPU was named; say which with --slow CPU:FACTOR, for example --slow 1:4");
    if (wish.hold && !wish.command.empty())
        throw tauto::error("--hold takes no command; leave one of them out");
    if (!wish.hold && wish.command.empty())
        throw tauto::error(
            "no command was given; put it behind --, for example: tauto-emulate --slow 1:4 -- ./solver");
}

int say_whether_available(const process& self) {
    int cpu = 0;
    while (!CPU_ISSET(static_cast<unsigned>(cpu), &self.original().cpus)) ++cpu;
    const auto reason = why_no_thief(cpu);
    const nlohmann::json line = {{"schema", "tautochrone.emulation/1"},
                                 {"available", !reason},
                                 {"reason", reason ? nlohmann::json(*reason) : nlohmann::json()}};
    std::cout << line.dump() << std::endl;
    return reason ? exit_bad_input : 0;
}

int run(const options& wish) {
    process self;
    if (wish.check) return say_whether_available(self);
    check_mode(wish);
    const nanoseconds period = check_period(wish);
    const std::vector<slow_cpu> asked = parse_slow(wish.slow);
    check_cpus(asked, self.original().cpus, static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
    const char* outer = std::getenv("TAUTO_EMULATED");
    setenv("TAUTO_EMULATED", emulated_variable(asked, outer ? outer : "").c_str(), 1);
    if (!wish.hold && !find_program(wish.command[0])) {
        complain("error",
                 "command '" + wish.command[0] + "' was not found; check the name, or give its whole path");
        return exit_not_found;
    }
    if (wish.hold)
        for (const slow_cpu& entry : asked)
            if (!entry.windows.empty())
                throw tauto::error("--hold knows no start, so no time windows; use pause and resume");
    self.avoid(asked);
    guard keeper;
    emulation all(asked, period);
    all.calibrate(self);
    return wish.hold ? hold(wish, self, all) : run_with_command(wish, self, all, keeper);
}

}  // namespace

int main(int count, char** values) {
    try {
        return run(read_options(count, values));
    } catch (const leave& request) {
        return request.status;
    } catch (const cannot_execute& failure) {
        complain("error", failure.what());
        return exit_not_executable;
    } catch (const std::exception& failure) {
        complain("error", failure.what());
        return exit_bad_input;
    }
}
