// tauto-balance: lets whoever has done least run on the fastest CPU.

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "balance/answer.hpp"
#include "balance/controller.hpp"
#include "balance/preload.hpp"
#include "balance/promptness.hpp"
#include "balance/threads.hpp"
#include "balance/waits.hpp"
#include "launch/command.hpp"
#include "launch/process.hpp"
#include "launch/report.hpp"
#include "options/option_parser.hpp"

namespace {

using namespace tauto::balance;
using tauto::launch::cannot_execute;
using tauto::launch::command;
using tauto::launch::exit_bad_input;
using tauto::launch::exit_not_executable;
using tauto::launch::exit_not_found;
using tauto::launch::leave;

struct options {
    pid_t pid = 0;
    bool keep_threads = false;
    bool no_preload = false;
    bool json = false;
    std::string report_path;
    manner how;
    std::vector<std::string> command;
};

void complain(const std::string& kind, const std::string& sentence) {
    std::fprintf(stderr, "tauto-balance: %s: %s\n", kind.c_str(), sentence.c_str());
}

std::string footer() {
    std::string text =
        "The command and its arguments follow --, for example: tauto-balance -- ./solver case.in\n\n"
        "Set where a CPU is slow by itself, so that threads sleep while they wait, unless it is set already:";
    for (const wait_setting& one : wait_settings())
        text += std::string("\n  ") + one.variable + "=" + one.value + "  (" + one.what + ")";
    text +=
        "\n\nSet there, too, unless you have set one of them or ask for --keep-threads:"
        "\n  OMP_NUM_THREADS       more threads than CPUs, for programs linked with GCC's libgomp"
        "\n  OPENBLAS_NUM_THREADS  as many as there are fast CPUs, where the slow ones would hold them up";
    return text;
}

options read_options(int count, char** values) {
    options wish;
    wish.how.seed = std::random_device{}();
    tauto::option_parser parser("Lets whoever has done least run on the fastest CPU.", "tauto-balance");
    parser.footer(footer());
    std::optional<pid_t> pid;
    parser.add("--pid", pid, "Balance this running process and its children, until it ends or Ctrl-C");
    parser.add("--even-pinned", wish.how.even_pinned,
               "Move threads that the program pinned, too, within their own masks");
    parser.add("--keep-waits", wish.how.keep_waits, "Leave the settings of waiting as they are");
    parser.add("--keep-threads", wish.keep_threads, "Leave the numbers of threads as they are");
    parser.add("--no-preload", wish.no_preload, "Do without the library that tells which threads wait");
    static const std::map<std::string, way> ways{
        {"moves", way::moves}, {"seats", way::seats}, {"fastest", way::fastest}};
    std::vector<std::string> names;
    for (const auto& one : ways) names.push_back(one.first);
    std::optional<std::string> only;
    parser.add("--only", only, "Do this without asking whether it helps", names);
    parser.add("--no-perf", wish.how.files, "Watch threads by /proc alone");
    parser.add("--json", wish.json, "Answer as one JSON line on standard error at the end");
    parser.add("--report", wish.report_path, "Answer as JSON into this file at the end");
    wish.command = parser.parse_before_command(count, values);
    wish.pid = pid.value_or(0);
    if (only) wish.how.only = ways.at(*only);
    return wish;
}

void check(const options& wish) {
    if (wish.pid != 0 && !wish.command.empty())
        throw tauto::error("--pid takes no command; leave one of them out");
    if (wish.pid == 0 && wish.command.empty())
        throw tauto::error(
            "no command was given; put it after --, for example: tauto-balance -- ./solver, "
            "or name a running process with --pid");
    if (wish.pid != 0 && (wish.pid < 0 || kill(wish.pid, 0) != 0))
        throw tauto::error("--pid " + std::to_string(wish.pid) + ": " +
                           strerror(wish.pid < 0 ? ESRCH : errno) + "; name a running process of yours");
    if (wish.report_path.empty()) return;
    const std::string failure = tauto::launch::write_report(wish.report_path, "");
    if (!failure.empty()) throw tauto::error(failure + "; name a file in a folder that can be written");
}

void hand_in(const options& wish, const answer& found) {
    if (wish.json)
        std::fprintf(stderr, "%s\n", to_json(found).c_str());
    else
        std::fprintf(stderr, "tauto-balance: %s\n", in_words(found).c_str());
    if (wish.report_path.empty()) return;
    const std::string failure = tauto::launch::write_report(wish.report_path, to_json(found) + "\n");
    if (!failure.empty()) complain("warning", failure);
}

std::vector<int> cpus_of(const cpu_set_t& mask) {
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
        if (CPU_ISSET(static_cast<unsigned>(cpu), &mask)) cpus.push_back(cpu);
    return cpus;
}

// Waits for the command and returns its exit status.
int follow_command(command& started, const tauto::launch::process& self, controller& all) {
    all.run(self.signals(), [&] {
        bool over = false;
        while (const int signal = self.next_signal()) {
            if (tauto::launch::asks_to_leave(signal)) started.signal_group(signal);
            if (signal != SIGCHLD) continue;
            // The kernel spins until the last thread has left its CPU, if it is asked at once.
            const patience while_reaping;
            usleep(1000);
            const command::news news = started.poll();
            over = over || news == command::news::ended;
            if (news == command::news::stopped) {
                started.leave_foreground();
                raise(SIGSTOP);
                started.take_foreground();
                started.signal_group(SIGCONT);
            }
        }
        return over;
    });
    return started.exit_status();
}

int follow_process(pid_t pid, const tauto::launch::process& self, controller& all) {
    all.run(self.signals(), [&] {
        while (const int signal = self.next_signal())
            if (tauto::launch::asks_to_leave(signal)) return true;
        return kill(pid, 0) != 0;
    });
    return 0;
}

int run(options wish) {
    tauto::launch::process self;
    check(wish);
    cpu_set_t given = self.original().cpus;
    if (wish.pid != 0) sched_getaffinity(wish.pid, sizeof given, &given);
    const std::optional<std::string> program =
        wish.pid == 0 ? tauto::launch::find_program(wish.command[0]) : std::string();
    if (!program) {
        complain("error",
                 "command '" + wish.command[0] + "' was not found; check the name, or give its whole path");
        return exit_not_found;
    }
    answer found;
    // The guard reads the page, so it comes behind it.
    preloaded library{nullptr, "--no-preload"};
    if (wish.pid != 0)
        library.reason = "it runs already";
    else if (!wish.no_preload)
        library = preload_marks(*program, given);
    found.not_preloaded = library.reason;
    moves mover;
    tauto::launch::guard keeper([&](pid_t) {
        if (library.marks != nullptr) let_go(*library.marks);
        mover.put_back_all();
    });
    speeds cpus(probe(cpus_of(given)));
    int status = 0;
    if (wish.pid != 0) {
        become_prompt();
        controller all(wish.pid, given, cpus, mover, wish.how);
        status = follow_process(wish.pid, self, all);
        usleep(moves::longest_birth / 1000);
        mover.widen_the_born(tauto::timer::now());
        found.fill(all);
    } else {
        if (library.marks != nullptr && !wish.how.keep_waits && may_spin_in_openmp())
            library.marks->may_spin.store(1, std::memory_order_relaxed);
        if (!wish.how.keep_waits && cpus.one_is_slow_by_itself()) found.waits = set_waits();
        const bool may_be_seated =
            library.marks != nullptr && (wish.how.only == way::alone || wish.how.only == way::seats);
        if (!wish.keep_threads) {  // first: the other may set a number that it reads
            const std::vector<std::string> set = set_openblas_threads(cpus);
            found.waits.insert(found.waits.end(), set.begin(), set.end());
        }
        if (may_be_seated && !wish.keep_threads) {
            const std::vector<std::string> set = set_threads(*program, cpus);
            wish.how.begin_seated = !set.empty();
            found.waits.insert(found.waits.end(), set.begin(), set.end());
        }
        const bool shares_out =
            needs_library(*program, "libomp.so") || needs_library(*program, "libiomp5.so");
        if (may_be_seated && shares_out && !cpus.all_equal()) wish.how.begin_seated = true;
        command started(wish.command, self.original(), tauto::launch::without_us::goes_on);
        become_prompt();
        controller all(started.group(), given, cpus, mover, wish.how, library.marks);
        status = follow_command(started, self, all);
        found.fill(all);
        if (library.marks != nullptr)
            found.in_a_row = library.marks->in_a_row.load(std::memory_order_relaxed);
    }
    found.longest_move = mover.longest();
    found.average_move = mover.average();
    for (std::size_t i = 0; i < cpus.size(); ++i) found.cpus.push_back({cpus[i], cpus.at_start(i)});
    found.name = wish.pid != 0 ? "process " + std::to_string(wish.pid) : wish.command[0];
    found.exit_status = status;
    hand_in(wish, found);
    return status;
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
