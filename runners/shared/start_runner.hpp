#pragma once
// How every runner begins and ends: options, --describe, the environment that its library must find, the
// CPUs; the row and the exit code.

#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "runners/shared/cpus.hpp"
#include "runners/shared/environment.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/options.hpp"
#include "runners/shared/row.hpp"

namespace tauto::runner {

/// Says on standard error, with the runner's name, why it ends.
template <class Adapter>
void complain(const std::string& reason) {
    std::cerr << Adapter::executable << ": error: " << reason << '\n';
}

/// `parse` makes the study's request of the command line; run(request) measures and returns the exit code.
template <class Adapter, class Parse, class Run>
int start_runner(int argc, char** argv, Parse&& parse, Run&& run) {
    try {
        const description runtime = Adapter::describe();
        const auto asked = parse(argc, argv, Adapter::executable, runtime);
        if (asked.describe) {
            print_description(runtime);
            return exit_ok;
        }
        if constexpr (requires { &Adapter::environment; }) {
            const environment_changes changes = Adapter::environment(asked);
            if (!changes.empty() && !restarted()) restart_with(changes, asked.cpus, argv);
        }
        // Before any thread exists, so that all of them inherit it. A restarted process has this mask
        // already, and its library may have pinned the calling thread more closely since.
        if (!restarted()) pin_to(asked.cpus);
        return run(asked);
    } catch (const std::exception& error) {
        complain<Adapter>(error.what());
    }
    return exit_bad_input;
}

/// Runs `task` where the adapter wants its loops to be started from.
template <class Adapter, class Task>
void run_inside(Adapter& adapter, Task&& task) {
    if constexpr (requires { adapter.run(task); })
        adapter.run(task);
    else
        task();
}

/// Is leaving out workers this runtime's decision, not a mistake?
template <class Adapter>
bool may_drop_workers(const Adapter& adapter) {
    if constexpr (requires { adapter.may_drop_workers(); }) return adapter.may_drop_workers();
    return false;
}

/// The end of every run: prints the row, completed by the adapter where it has something to add, and
/// complains of a wrong answer (`wrong` says why) or of missing workers. Returns the exit code.
template <class Adapter>
int finish(const Adapter& adapter, const finished_row& row, const std::optional<std::string>& wrong,
           const std::optional<std::string>& missing = {}) {
    if constexpr (requires { adapter.complete(*row); }) adapter.complete(*row);
    print_row(*row);
    if (wrong) {
        complain<Adapter>("wrong answer: " + *wrong);
        return exit_wrong_answer;
    }
    if (!missing || may_drop_workers(adapter)) return exit_ok;
    std::string reason = *missing;
    if constexpr (requires { adapter.diagnosis(); }) reason += "; " + adapter.diagnosis();
    complain<Adapter>(reason);
    return exit_missing_worker;
}

}  // namespace tauto::runner
