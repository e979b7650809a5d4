#pragma once
// What every program of the suite does: read its options, time in short batches, print one line of JSON that
// the lab reads like a runner's.

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "runners/common/cpus.hpp"
#include "runners/common/error.hpp"
#include "runners/common/timing.hpp"

namespace tauto::bench {

using json = nlohmann::ordered_json;
using runner::input_error;

inline constexpr const char* schema = "tautochrone.benchmark/1";

/// Fewer threads took part than were asked for; what() says what the library saw.
struct missing_worker : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct options {
    std::string cpus_text = "0,1";
    std::vector<int> cpus;  ///< to pin to, one member each
    double warmup_seconds = 0.05;
    double min_seconds = 0.1;
    std::string wait = "default";
};

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one call of `work`, batch by batch, each batch of `calls` calls, after a warm-up. Short batches
/// on purpose: most are over before anybody interrupts, so that their median is one of undisturbed ones.
template <class Work>
std::vector<double> batch_seconds(const options& asked, int calls, Work&& work) {
    const double begun = seconds_now();
    while (seconds_now() - begun < asked.warmup_seconds) {
        for (int call = 0; call < calls; ++call) work();
    }
    std::vector<double> batches;
    batches.reserve(1 << 14);
    const double start = seconds_now();
    double now = start;
    while (now - start < asked.min_seconds || batches.size() < 9) {
        for (int call = 0; call < calls; ++call) work();
        const double end = seconds_now();
        batches.push_back((end - now) / calls);
        now = end;
    }
    return batches;
}

/// The fields of a timed program: the figure of merit is the median over batches.
inline json timed(const std::vector<double>& batches) {
    json row;
    row["schema"] = schema;
    row["seconds"] = runner::median(batches);
    row["batches"] = batches.size();
    row["batch_seconds"] = runner::condensed(batches, 32);
    return row;
}

/// The main function: `add` adds options of the program's own, `body` runs it and returns what is printed.
inline int run_program(int argc, char** argv, const char* name, const char* what,
                       const std::function<void(CLI::App&)>& add, const std::function<json(options&)>& body) {
    options asked;
    CLI::App app{what, name};
    app.add_option("--cpus", asked.cpus_text, "CPUs to pin to, one member each")->capture_default_str();
    app.add_option("--warmup-seconds", asked.warmup_seconds, "Untimed start")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--min-seconds", asked.min_seconds, "Least length of the timed part")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--wait", asked.wait, "How idle members wait")
        ->check(CLI::IsMember({"default", "active", "passive"}))
        ->capture_default_str();
    add(app);
    try {
        app.parse(argc, argv);
        asked.cpus = runner::parse_cpus(asked.cpus_text);
        std::cout << body(asked).dump() << std::endl;
        return runner::exit_ok;
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::cerr << name << ": error: " << error.what() << "; see --help\n";
    } catch (const missing_worker& error) {
        std::cerr << name << ": error: " << error.what() << '\n';
        return runner::exit_missing_worker;
    } catch (const std::exception& error) {
        std::cerr << name << ": error: " << error.what() << '\n';
    }
    return runner::exit_bad_input;
}

}  // namespace tauto::bench
