// tauto-probe: prints a description of this machine and, on request, its speeds, as one JSON object.

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <tauto/machine.hpp>

#include "options/option_parser.hpp"
#include "probe/host.hpp"
#include "probe/json.hpp"
#include "probe/measured.hpp"

namespace {

constexpr int exit_bad_input = 2;

struct request {
    std::string measure = "none";
    std::string root = "/";
    std::optional<std::string> select;
    bool json = true;
    bool compact = false;
    bool progress = false;
};

int refuse(const std::string& sentence) {
    std::fprintf(stderr, "tauto-probe: error: %s\n", sentence.c_str());
    return exit_bad_input;
}

// For the laboratory: one line for each step.
void tell_progress(const std::string& what, double done) {
    std::fprintf(stderr, "progress %.3f %s\n", done, what.c_str());
}

// For users: one line that is overwritten, only on terminals.
void show_progress(const std::string& what, double done) {
    if (isatty(STDERR_FILENO) == 0) return;
    if (what.empty()) {
        std::fputs("\r\033[K", stderr);
    } else {
        std::fprintf(stderr, "\r\033[Kmeasuring: %s (%.0f %%)", what.c_str(), 100 * done);
    }
    std::fflush(stderr);
}

void probe(const request& wish) {
    const tauto::machine_record machine = tauto::read_machine({.root = wish.root});
    const tauto::probe::host_record host = tauto::probe::read_host(machine, wish.root);
    if (wish.select) {
        std::cout << nlohmann::json(tauto::select_cpus(machine, *wish.select)).dump() << '\n';
        return;
    }
    std::optional<tauto::probe::measurements> measured;
    if (wish.measure != "none") {
        measured = tauto::probe::measure(machine, tauto::probe::effort_named(wish.measure),
                                         wish.progress ? tell_progress : show_progress);
    }
    std::cout << tauto::probe::to_json(machine, host, measured).dump(wish.compact ? -1 : 1) << '\n';
}

}  // namespace

int main(int count, char** words) {
    request wish;
    try {
        tauto::option_parser options(
            "Describes this machine as JSON (schema tautochrone.machine/1), and measures it on request.",
            "tauto-probe");
        options.add("--measure", wish.measure,
                    "none, brief (1 second on two cores), quick (5 seconds) or full (25 seconds)",
                    {"none", "brief", "quick", "full"});
        options.add("--root", wish.root, "Folder with sys and proc of the machine to describe");
        options.add("--select", wish.select,
                    "Print the CPUs of a selection such as P:4 or cores, and nothing else");
        options.add("--json", wish.json, "JSON is the only format; accepted for clarity");
        options.add("--compact", wish.compact, "All on one line");
        options.add("--progress", wish.progress, "Report each step as a line on standard error");
        options.parse(count, words);
    } catch (const tauto::help_was_printed& help) {
        return help.status;
    } catch (const tauto::error& error) {
        return refuse(error.what());
    }
    if (wish.root != "/" && wish.measure != "none") {
        return refuse("only the running machine can be measured, not " + wish.root +
                      "; leave out --measure or --root");
    }
    try {
        probe(wish);
    } catch (const std::exception& error) {
        show_progress("", 1);
        return refuse(error.what());
    }
    std::cout.flush();
    if (!std::cout) return refuse("the output could not be written; is the disk full?");
    return 0;
}
