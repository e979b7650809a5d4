#pragma once
// A runner's command line: the options that all runners have, and those that a study adds.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "options/option_parser.hpp"
#include "runners/shared/options.hpp"

namespace tauto::runner {

/// Each throws input_error: for a value that is given and below 1, and for one above `most`.
void require_from_one(const char* option, const std::optional<std::int64_t>& value);
void require_at_most(const char* option, std::int64_t value, std::int64_t most);

/// Has the shared options from its construction on. A study adds its own, calls parse(), checks their values,
/// and calls check(). `chosen` and `runtime` must outlive it, and so must every value that is added.
class command_line {
  public:
    /// `purpose` is what the program does, as a sentence without its end; `pieces` what a chunk consists of.
    command_line(const std::string& purpose, const std::string& pieces, std::string_view executable,
                 const description& runtime, options& chosen);

    /// The help shows the value as the default; a bool is a flag. For std::optional: no default. Defined for
    /// the types that a request has.
    template <class Value>
    void add(const char* name, Value& value, const std::string& help) {
        parser_.add(name, value, help);
    }
    /// It must be given.
    void add_required(const char* name, std::optional<std::string>& value, const std::string& help) {
        parser_.add_required(name, value, help);
    }

    /// False on --describe: then nothing else is set, and nothing is to be checked. On --help it prints the
    /// help and exits the process with 0. Throws input_error.
    [[nodiscard]] bool parse(int argc, char** argv);

    /// Checks the shared options as far as that is possible before a runtime starts, and settles the schedule
    /// and the workers. Throws input_error.
    void check();

  private:
    void choose_schedule();
    void choose_workers();
    int usual_threads() const;
    void require_whole_ranks() const;

    const description& runtime_;
    options& chosen_;
    option_parser parser_;
    std::optional<std::string> cpus_;
    std::optional<int> threads_;
    std::optional<double> duration_;
};

}  // namespace tauto::runner
