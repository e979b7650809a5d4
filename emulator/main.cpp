// tauto-emulate: makes CPUs slow for all programs while a command runs.

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tauto/error.hpp>

#include "emulator/emulation.hpp"
#include "emulator/hold.hpp"
#include "emulator/request.hpp"
#include "emulator/session.hpp"
#include "launch/command.hpp"
#include "launch/process.hpp"
#include "launch/report.hpp"
#include "options/option_parser.hpp"

namespace {

using namespace tauto::emulate;
using namespace tauto::launch;

struct options {
    std::string slow;
    std::optional<double> period_microseconds;
    bool json = false;
    bool hold = false;
    bool check = false;
    std::string report_path;
    std::vector<std::string> command;
};

void complain(const std::string& kind, const std::string& sentence) {
    std::fprintf(stderr, "tauto-emulate: %s: %s\n", kind.c_str(), sentence.c_str());
}

void hand_in(const options& wish, const nlohmann::json& report) {
    for (const auto& warning : report["warnings"]) complain("warning", warning.get<std::string>());
    if (wish.json) std::fprintf(stderr, "%s\n", report.dump().c_str());
    if (wish.report_path.empty()) return;
    const std::string failure = write_report(wish.report_path, report.dump() + "\n");
    if (!failure.empty()) complain("warning", failure);
}

int run_with_command(const options& wish, const process& self, emulation& all, guard& keeper) {
    session running(wish.command, self, all, keeper);
    const int status = running.run();
    nlohmann::json report = all.report();
    report["command_started_monotonic_seconds"] = static_cast<double>(running.started()) * 1e-9;
    report["exit_status"] = status;
    hand_in(wish, report);
    return status;
}

int run_held(const options& wish, const process& self, emulation& all) {
    const int status = hold(self, all);
    hand_in(wish, all.report());
    return status;
}

options read_options(int count, char** values) {
    options wish;
    tauto::option_parser parser("Makes CPUs slow for all programs while a command runs.", "tauto-emulate");
    parser.footer(
        "The command and its arguments follow --, for example: tauto-emulate --slow 1:4 -- ./solver "
        "case.in");
    parser.add("--slow", wish.slow,
               "CPUs and how many times slower each becomes (1 to 32), for example 1:4,3:2; "
               "1:4@3-6: only from second 3 to 6 after the start of the command");
    parser.add("--period-us", wish.period_microseconds,
               "Shortest turn of a thief in microseconds (default: the shortest from 50 to 100 that "
               "meets the factor)");
    parser.add("--json", wish.json, "Report as one JSON line on standard error at the end");
    parser.add("--report", wish.report_path, "Report into this file at the end");
    parser.add("--hold", wish.hold,
               "No command: slow until standard input closes; takes the words pause, resume, "
               "report, one a line, and answers each with a JSON line");
    parser.add("--check", wish.check, "Only say as JSON whether CPUs can be slowed here");
    wish.command = parser.parse_before_command(count, values);
    return wish;
}

nanoseconds check_period(const options& wish) {
    if (!wish.period_microseconds) return 0;
    const double period = *wish.period_microseconds;
    if (!(period >= 20.0 && period <= 10'000.0))
        throw tauto::error("--period-us " + std::to_string(period) +
                           " is out of range; choose from 20 to 10000");
    return static_cast<nanoseconds>(period * 1e3);
}

void check_mode(const options& wish) {
    if (wish.slow.empty())
        throw tauto::error("no CPU was named; name one with --slow CPU:FACTOR, for example --slow 1:4");
    if (wish.hold && !wish.command.empty())
        throw tauto::error("--hold takes no command; leave one of them out");
    if (!wish.hold && wish.command.empty())
        throw tauto::error(
            "no command was given; put it after --, for example: tauto-emulate --slow 1:4 -- ./solver");
}

void check_windows(const options& wish, const std::vector<slow_cpu>& asked) {
    const bool any =
        std::any_of(asked.begin(), asked.end(), [](const slow_cpu& one) { return !one.windows.empty(); });
    if (wish.hold && any)
        throw tauto::error(
            "--hold starts no command that time windows could count from; use pause and resume");
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

// Checked before the run and not after it.
void check_report(const options& wish) {
    if (wish.report_path.empty()) return;
    const std::string failure = write_report(wish.report_path, "");
    if (!failure.empty()) throw tauto::error(failure + "; name a file in a folder that can be written");
}

// The value of TAUTO_EMULATED for the command.
void set_variable(const std::vector<slow_cpu>& asked) {
    const char* outer = std::getenv("TAUTO_EMULATED");
    setenv("TAUTO_EMULATED", emulated_variable(asked, outer ? outer : "").c_str(), 1);
}

std::vector<int> slowed(const std::vector<slow_cpu>& asked) {
    std::vector<int> cpus;
    for (const slow_cpu& entry : asked)
        if (entry.factor > 1.0) cpus.push_back(entry.cpu);
    return cpus;
}

int run(const options& wish) {
    process self;
    if (wish.check) return say_whether_available(self);
    check_mode(wish);
    const nanoseconds period = check_period(wish);
    const std::vector<slow_cpu> asked = parse_slow(wish.slow);
    check_cpus(asked, self.original().cpus, static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
    check_windows(wish, asked);
    check_report(wish);
    set_variable(asked);
    if (!wish.hold && !find_program(wish.command[0])) {
        complain("error",
                 "command '" + wish.command[0] + "' was not found; check the name, or give its whole path");
        return exit_not_found;
    }
    self.avoid(slowed(asked));
    guard keeper;
    emulation all(asked, period);
    all.calibrate(self);
    return wish.hold ? run_held(wish, self, all) : run_with_command(wish, self, all, keeper);
}

}  // namespace

int main(int count, char** values) {
    try {
        return run(read_options(count, values));
    } catch (const tauto::help_was_printed& help) {
        return help.status;
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
