#pragma once
// The part of a command line that all runners have. CLI11 is no matter of the runners' own files.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runners/common/options.hpp"

namespace tauto::runner {

/// Throws input_error for a value that is there and below 1.
void require_from_one(const char* option, const std::optional<std::int64_t>& value);

/// Adds the shared options at construction; a study adds its own through app(), then calls parse() and
/// check(). `chosen` and `runtime` must outlive it. Throws input_error.
class command_line {
  public:
    /// `purpose` is what the program does, as a sentence without its end; `pieces` what a chunk consists of.
    command_line(const std::string& purpose, const std::string& pieces, std::string_view executable,
                 const description& runtime, options& chosen);

    CLI::App& app() { return app_; }

    /// Prints the help text and exits the process with 0 on --help.
    void parse(int argc, char** argv);

    /// Checks what can be known before a runtime starts, and settles the schedule and the workers.
    void check();

  private:
    void choose_schedule();
    void choose_workers();
    int usual_threads() const;
    void require_whole_ranks() const;

    const description& runtime_;
    options& chosen_;
    CLI::App app_;
    std::optional<std::string> cpus_;
    std::optional<int> threads_;
    std::optional<double> duration_;
};

}  // namespace tauto::runner
