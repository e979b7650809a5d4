// Two programs at once: each a job on one thread of a process of its own, started together. How they are put
// on the CPUs, and which is preferred, is the schedule.

#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "runners/power/control_group.hpp"
#include "runners/power/serial_job.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/start_runner.hpp"
#include "runners/shared/timing.hpp"

namespace {

using namespace tauto::runner;

constexpr int less_wanted = 10;  // nice of the second program, and its weight relative to 100
constexpr std::size_t batches = 3;

struct together_request : options {
    std::string first = "encryption";
    std::string second = "physics";
    std::int64_t first_repetitions = 10;
    std::int64_t second_repetitions = 10;
};

together_request parse_together(int argc, char** argv, std::string_view executable,
                                const description& runtime) {
    together_request chosen;
    command_line line{"Two programs at once", "Jobs", executable, runtime, chosen};
    line.add("--first", chosen.first, "encryption, compression, video or physics");
    line.add("--second", chosen.second, "Likewise");
    line.add("--first-repetitions", chosen.first_repetitions, "Of the first one, each time");
    line.add("--second-repetitions", chosen.second_repetitions, "Of the second one");
    if (!line.parse(argc, argv)) return chosen;
    require_from_one("--first-repetitions", chosen.first_repetitions);
    require_from_one("--second-repetitions", chosen.second_repetitions);
    line.check();
    if (chosen.cpus.size() < 2)
        throw input_error("two programs at once need two CPUs to be pinned apart, and " +
                          std::to_string(chosen.cpus.size()) + " may be used; name two with --cpus");
    return chosen;
}

struct together_adapter {
    static constexpr std::string_view executable = "tauto-power-together";

    static description describe() {
        description together;
        together.runtime = "together";
        together.schedules = {{"free", false}, {"pinned", false}, {"one_pinned", false},
                              {"nice", false}, {"same", false},   {"same_nice", false}};
        // The study says why it is missing.
        try {
            const weighable_group parent;
            const control_group tried{parent, "tried", less_wanted};
            together.schedules.push_back({"weight", false});
            together.schedules.push_back({"same_weight", false});
        } catch (const input_error&) {
        }
        return together;
    }
};

/// What a program says when it is over.
struct program_result {
    std::array<double, batches> seconds{};
    double cpu_seconds = 0.0;
    long long migrations = -1;  // -1: the kernel does not tell
    bool passed = false;
};

// Of the calling thread, since it began.
long long migrations_now() {
    std::ifstream lines{"/proc/thread-self/sched"};
    for (std::string line; std::getline(lines, line);)
        if (line.find("nr_migrations") != std::string::npos)
            return std::stoll(line.substr(line.find(':') + 1));
    return -1;
}

// One of the two processes, seen from the one that started both.
class program {
  public:
    program(const together_request& asked, int number, const control_group* group) {
        int to_program[2];
        int from_program[2];
        if (pipe(to_program) != 0 || pipe(from_program) != 0)
            throw input_error("no pipe can be had; close other programs");
        process_ = fork();
        if (process_ < 0) throw input_error("no process can be started; close other programs");
        if (process_ == 0) {
            close(to_program[1]);
            close(from_program[0]);
            _exit(run(asked, number, group, to_program[0], from_program[1]));
        }
        close(to_program[0]);
        close(from_program[1]);
        tell_ = to_program[1];
        hear_ = from_program[0];
    }
    ~program() {
        close(tell_);
        close(hear_);
        if (process_ > 0) waitpid(process_, nullptr, 0);
    }
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    void go() const {
        if (write(tell_, "g", 1) != 1) throw input_error("a program has ended before its time");
    }
    /// Waits for a word of the program. Throws input_error if it has died.
    template <class Word>
    Word hear() const {
        Word word;
        if (read(hear_, &word, sizeof word) != static_cast<ssize_t>(sizeof word))
            throw input_error("a program has ended before its time; its reason stands above");
        return word;
    }

  private:
    static int run(const together_request& asked, int number, const control_group* group, int hear,
                   int tell) {
        try {
            place(asked, number);
            if (group != nullptr) group->enter();
            const auto job = serial_job(number == 0 ? asked.first : asked.second, {asked.cpus.front()});
            const std::int64_t times = number == 0 ? asked.first_repetitions : asked.second_repetitions;
            job->repeat();  // to be warm
            job->forget_account();
            program_result seen;
            char word = 'r';
            const long long before = migrations_now();
            for (double& seconds : seen.seconds) {
                if (write(tell, &word, 1) != 1 || read(hear, &word, 1) != 1) return exit_bad_input;
                const double begin = monotonic_seconds();
                for (std::int64_t i = 0; i < times; ++i) job->repeat();
                seconds = monotonic_seconds() - begin;
                if (write(tell, &seconds, sizeof seconds) != sizeof seconds) return exit_bad_input;
            }
            if (before >= 0) seen.migrations = migrations_now() - before;
            for (const auto& one : job->workers()) seen.cpu_seconds += one.busy_seconds;
            seen.passed = job->check().passed;
            return write(tell, &seen, sizeof seen) == sizeof seen ? exit_ok : exit_bad_input;
        } catch (const std::exception& error) {
            complain<together_adapter>(error.what());
        }
        return exit_bad_input;
    }

    static void place(const together_request& asked, int number) {
        const std::string& how = asked.schedule;
        if (how.starts_with("same"))
            pin_to({asked.cpus.data(), 1});
        else if (how == "pinned" || (how == "one_pinned" && number == 0))
            pin_to({&at(asked.cpus, number), 1});
        if (how.ends_with("nice") && number == 1 && setpriority(PRIO_PROCESS, 0, less_wanted) != 0)
            throw input_error("the second program cannot be made less urgent (nice)");
    }

    pid_t process_ = -1;
    int tell_ = -1;
    int hear_ = -1;
};

json program_json(const std::string& job, std::int64_t repetitions, const program_result& seen) {
    return {{"job", job},
            {"repetitions", repetitions},
            {"seconds", median({seen.seconds.begin(), seen.seconds.end()})},
            {"cpu_seconds", seen.cpu_seconds / as_double(batches)},
            {"migrations", seen.migrations < 0 ? json{} : json(seen.migrations)}};
}

int run_together(const together_request& asked) {
    std::optional<weighable_group> parent;
    std::optional<control_group> wanted;
    std::optional<control_group> other;
    if (asked.schedule.ends_with("weight")) {
        parent.emplace();
        wanted.emplace(*parent, "first", 100);
        other.emplace(*parent, "second", less_wanted);
    }
    timing timed;
    std::array<program_result, 2> seen;
    {
        const program first{asked, 0, wanted ? &*wanted : nullptr};
        const program second{asked, 1, other ? &*other : nullptr};
        for (std::size_t batch = 0; batch < batches; ++batch) {
            first.hear<char>();
            second.hear<char>();
            first.go();
            second.go();
            const double longest = std::max(first.hear<double>(), second.hear<double>());
            timed.batch_seconds.push_back(longest);
            timed.timed_seconds += longest;
        }
        seen = {first.hear<program_result>(), second.hear<program_result>()};
    }
    timed.iterations = batches;
    timed.batch_iterations = 1;
    json row = row_of(together_adapter::describe(), asked, timed);
    row["programs"] = json::array({program_json(asked.first, asked.first_repetitions, seen[0]),
                                   program_json(asked.second, asked.second_repetitions, seen[1])});
    const bool passed = seen[0].passed && seen[1].passed;
    row["check"] = {{"passed", passed}};
    std::optional<std::string> wrong;
    if (!passed) wrong = "a program's result is not what it is alone";
    return finish(together_adapter{}, std::make_shared<json>(std::move(row)), wrong);
}

}  // namespace

int main(int argc, char** argv) {
    return start_runner<together_adapter>(argc, argv, parse_together, run_together);
}
