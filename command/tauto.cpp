// tauto: `tauto run PROFILE -- COMMAND` applies a profile, checks what the kernel gave, and becomes the
// command; with --fit it asks the Python laboratory for the profile. `tauto balance -- COMMAND` becomes the
// balancer. Help and version are printed at once.
// Everything else is the Python laboratory's, which this becomes. So nothing waits for a Python that it does
// not need, and nothing of ours is left while a command runs.

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/applying.hpp"
#include "command/balancing.hpp"
#include "command/child_output.hpp"
#include "command/profile.hpp"
#include "command/shown.hpp"

namespace {

using tauto::command::input_error;
using words = std::vector<std::string>;

constexpr int exit_ok = 0;
constexpr int exit_bad_input = 2;
constexpr int exit_defect = 70;
constexpr int exit_not_found = 127;

constexpr rlim_t least_stack_bytes = 128 * 1024;

// What Python is told to do. Not -m, which would import from the current folder; and a Python without the
// package is one that a user can do something about. Any Python 3 can read it.
constexpr const char* start_laboratory = R"(import sys
sys.path[:] = filter(None, sys.path)
try:
    from tautochrone.__main__ import main
except ImportError as error:
    if error.name != "tautochrone":
        raise
    print("tauto: error: " + sys.executable + " has no package tautochrone. Install it there "
          "(pip install .), or start the tauto of the environment that has it", file=sys.stderr)
    main = lambda: 2
sys.exit(main()))";

// Writes all of `text`. Returns 0, or the number of the error; a pipe without a reader does not end the
// process.
int write_all(int file, std::string_view text) {
    struct sigaction before {};
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignored, &before);
    int error = 0;
    while (!text.empty() && error == 0) {
        const ssize_t written = write(file, text.data(), text.size());
        if (written < 0 && errno != EINTR) error = errno;
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    sigaction(SIGPIPE, &before, nullptr);
    return error;
}

// One line on standard error, whatever a profile or a word would do to the terminal. A command runs also
// where standard error is closed or not read.
void say(const std::string& line) {
    write_all(STDERR_FILENO, "tauto: " + tauto::command::printable(line) + "\n");
}

// On standard output. Returns the exit code.
int print(std::string_view text) {
    const int error = write_all(STDOUT_FILENO, text);
    if (error == 0 || error == EPIPE) return exit_ok;
    say(std::string("error: the text could not be written: ") + strerror(error) +
        ". Is the disk full, or standard output closed?");
    return exit_bad_input;
}

// Becomes a program, as execv or execvp finds it. Returns the number of the error where it cannot.
int become(int (*exec)(const char*, char* const*), const std::string& program, const words& given) {
    std::vector<char*> values;
    for (const std::string& word : given) values.push_back(const_cast<char*>(word.c_str()));
    values.push_back(nullptr);
    exec(program.c_str(), values.data());
    return errno;
}

// Becomes the program in this file. Returns the number of the error where it cannot.
int become_file(const std::string& file, const words& made) {
    const int number = become(execv, file, made);
    if (number != ENOEXEC) return number;
    words script{"/bin/sh", file};  // a script without a first line is the shell's, as to execvp
    script.insert(script.end(), made.begin() + 1, made.end());
    return become(execv, script[0], script);
}

void refuse_distrusted(const tauto::command::profile& asked, const std::string& name) {
    std::string all;
    for (const std::string& reason : tauto::command::distrusted(asked))
        all += (all.empty() ? "" : "; ") + reason;
    if (!all.empty())
        throw input_error("the profile " + name + " could run something else: " + all +
                          ". If you made it or have read it, write tauto run --trust");
}

// What stands behind `tauto run`.
struct run_words {
    bool trusted = false;
    bool quiet = false;
    bool fits = false;      // as the laboratory finds fitting
    bool balances = false;  // whether or not a profile says so
    bool has_profile = true;
    std::string profile;
    words command;
};

void take_options(words& given, run_words& asked) {
    while (!given.empty()) {
        const std::string& word = given[0];
        if (word == "--trust")
            asked.trusted = true;
        else if (word == "-q" || word == "--quiet")
            asked.quiet = true;
        else if (word == "--fit")
            asked.fits = true;
        else if (word == "--balance")
            asked.balances = true;
        else
            return;
        given.erase(given.begin());
    }
}

// Nothing where the laboratory is to answer: where something is missing, or an option is none of those above.
std::optional<run_words> run_words_of(words given) {
    run_words asked;
    take_options(given, asked);
    const bool parted = !given.empty() && given[0] == "--";
    asked.has_profile = !asked.fits && !(asked.balances && parted);
    if (given.empty() || (given[0].starts_with('-') && (asked.has_profile || !parted))) return std::nullopt;
    if (asked.has_profile) {
        asked.profile = given[0];
        given.erase(given.begin());
        take_options(given, asked);
        if (asked.fits)
            throw input_error("both the profile " + asked.profile +
                              " and --fit say what is set. Write one: tauto run --fit -- ./solver case.in");
    }
    if (!given.empty() && given[0] == "--") given.erase(given.begin());
    if (!asked.has_profile && (asked.trusted || given.empty())) return std::nullopt;
    asked.command = std::move(given);
    return asked;
}

// Returns the exit code.
int not_started(const std::string& program, int number) {
    say("error: " + program + " cannot be started: " + strerror(number) +
        ". Write the command as the shell would find it");
    return exit_not_found;
}

// The folder of this executable: as the kernel says it; without /proc, as it was started. Empty where neither
// tells.
std::string own_folder(const std::string& started_as) {
    std::string path(4096, '\0');
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
    path.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    if (path.empty()) {
        int unused = 0;
        const std::string found = tauto::command::found_program(started_as, unused);
        std::array<char, PATH_MAX> real{};
        path = realpath(found.c_str(), real.data()) != nullptr ? real.data() : found;
    }
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? "" : path.substr(0, slash);
}

// Becomes the laboratory with these words. Returns the exit code where no Python could be started.
int become_laboratory(const std::string& started_as, const words& given) {
    rlimit stack{};
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < least_stack_bytes) {
        say("error: the limit on the stack is " + std::to_string(stack.rlim_cur / 1024) +
            " kB (ulimit -s), in which Python cannot run. Raise it: ulimit -s 8192");
        return exit_bad_input;
    }
    words values{"", "-c", start_laboratory};
    values.insert(values.end(), given.begin(), given.end());
    const std::string folder = own_folder(started_as);
    // A virtual environment knows itself by the path of its Python, so links are left as they are.
    for (const char* const name : {"python3", "python"}) {
        if (folder.empty()) break;
        values[0] = folder + "/" + name;
        become(execv, values[0], values);
    }
    values[0] = "python3";
    const int number = become(execvp, values[0], values);
    say(std::string("error: python3 can be started neither beside tauto nor on the PATH: ") +
        strerror(number) +
        ". Install Python 3.11 or newer, and the package tautochrone in it (pip install .)");
    return exit_bad_input;
}

// Becomes the balancer, as these words behind `tauto balance` say. Returns where the laboratory has to.
void become_balancer(const std::string& started_as, const words& given) {
    const auto told = tauto::command::balancer_words(given);
    const std::string file = told ? tauto::command::find_balancer(own_folder(started_as)) : "";
    if (file.empty()) return;
    words values{"tauto-balance"};
    values.insert(values.end(), told->begin(), told->end());
    become(execv, file, values);
}

// Becomes the command, or the balancer that starts it. Returns only if that could not be started.
int become_command(const std::string& started_as, const words& made, const std::string& file, bool balanced) {
    if (!balanced) return not_started(made[0], become_file(file, made));
    words balancing{"--", file};
    balancing.insert(balancing.end(), made.begin() + 1, made.end());
    become_balancer(started_as, balancing);
    balancing.insert(balancing.begin(), "balance");
    return become_laboratory(started_as, balancing);
}

// Returns only if the command could not be started.
int run_profile(const std::string& started_as, const run_words& asked) {
    if (asked.command.empty())
        throw input_error("no command stands behind the profile " + asked.profile +
                          ". Write it like tauto run profile.json -- ./solver case.in");
    const tauto::command::profile settings = tauto::command::read_profile(asked.profile);
    const words made = tauto::command::command_of(settings, asked.command, asked.profile);
    if (!asked.trusted) refuse_distrusted(settings, asked.profile);
    if (made.empty()) return not_started("", ENOENT);
    int number = 0;
    const std::string file = tauto::command::found_program(made[0], number);  // with the caller's PATH
    if (file.empty()) return not_started(made[0], number);
    words warnings = tauto::command::apply(settings);
    std::ranges::move(tauto::command::looked_at_here(settings), std::back_inserter(warnings));
    if (!asked.quiet) {
        for (const std::string& warning : warnings) say("warning: " + warning);
        say(tauto::command::given(settings));
        if (made != asked.command) say("runs: " + tauto::command::joined(made));
    }
    return become_command(started_as, made, file, asked.balances || settings.balanced);
}

// Returns only if the command could not be started.
int run_balanced(const std::string& started_as, const run_words& asked) {
    int number = 0;
    const std::string file = tauto::command::found_program(asked.command[0], number);
    if (file.empty()) return not_started(asked.command[0], number);
    return become_command(started_as, asked.command, file, true);
}

// Runs the command with what the laboratory finds fitting, which also says so. Returns only if the command
// could not be started.
int run_fitted(const std::string& started_as, const run_words& asked) {
    int number = 0;
    const std::string file = tauto::command::found_program(asked.command[0], number);
    if (file.empty()) return not_started(asked.command[0], number);
    if (access(file.c_str(), X_OK) != 0) return not_started(asked.command[0], errno);
    words question{"run", "--fit", "--print", "profile"};
    if (asked.quiet) question.emplace_back("-q");
    question.emplace_back("--");
    question.insert(question.end(), asked.command.begin(), asked.command.end());
    const auto answer = tauto::command::output_of([&] { return become_laboratory(started_as, question); });
    if (answer.code != exit_ok) return answer.code;
    const auto fitting = tauto::command::parse_profile(answer.output, "what the laboratory wrote");
    for (const std::string& warning : tauto::command::apply(fitting))
        if (!asked.quiet) say("warning: " + warning);
    return become_command(started_as, asked.command, file, asked.balances);
}

}  // namespace

int main(int count, char** values) {
    try {
        const words given(values + std::min(count, 1), values + count);
        const std::string started_as = count > 0 ? values[0] : "";
        if (!given.empty() && given[0] == "run")
            if (const auto asked = run_words_of({given.begin() + 1, given.end()}))
                return asked->fits          ? run_fitted(started_as, *asked)
                       : asked->has_profile ? run_profile(started_as, *asked)
                                            : run_balanced(started_as, *asked);
        if (given.empty()) {
            write_all(STDERR_FILENO, tauto::command::main_help());
            return exit_bad_input;
        }
        if (const auto text = tauto::command::shown(given)) return print(*text);
        if (given[0] == "balance") become_balancer(started_as, {given.begin() + 1, given.end()});
        return become_laboratory(started_as, given);
    } catch (const input_error& error) {
        say(std::string("error: ") + error.what());
        return exit_bad_input;
    } catch (const std::exception& error) {
        say(std::string("error: this is a defect of tauto: ") + error.what());
        return exit_defect;
    }
}
