#include "benchmarks/programs/program.hpp"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <limits>
#include <utility>

namespace tauto::bench {
namespace {

template <class T>
CLI::Option* add_number(CLI::App& app, const char* name, T& value, const char* help, T least, T most) {
    return app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
}

}  // namespace

void arguments::work(std::string& value, std::vector<std::string> known) {
    app_.add_option("work", value, "What to time")->required()->check(CLI::IsMember(std::move(known)));
}
void arguments::flag(const char* name, bool& value, const char* help) {
    app_.add_flag(name, value, help);
}
void arguments::number(const char* name, int& value, const char* help, int least, int most) {
    add_number(app_, name, value, help, least, most);
}
void arguments::number(const char* name, std::int64_t& value, const char* help, std::int64_t least,
                       std::int64_t most) {
    add_number(app_, name, value, help, least, most);
}
void arguments::number(const char* name, std::size_t& value, const char* help) {
    add_number(app_, name, value, help, std::size_t{1}, std::size_t{1} << 30);
}
void arguments::number(const char* name, double& value, const char* help) {
    add_number(app_, name, value, help, 0.0, std::numeric_limits<double>::max());
}
void arguments::word(const char* name, std::string& value, const char* help,
                     std::vector<std::string> allowed) {
    CLI::Option* const option = app_.add_option(name, value, help)->capture_default_str();
    if (!allowed.empty()) option->check(CLI::IsMember(std::move(allowed)));
}

json timed(const std::vector<double>& batches) {
    json row;
    row["schema"] = schema;
    row["seconds"] = runner::median(batches);
    row["batches"] = batches.size();
    row["batch_seconds"] = runner::condensed(batches, 32);
    return row;
}

int run_program(int argc, char** argv, const char* name, const char* what,
                const std::function<void(arguments&)>& add, const std::function<json(options&)>& body) {
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
    arguments own(app);
    add(own);
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
