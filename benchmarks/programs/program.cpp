#include "benchmarks/programs/program.hpp"

#include <exception>
#include <iostream>
#include <limits>

namespace tauto::bench {
void arguments::work(std::string& value, std::vector<std::string> known) {
    parser_.add("work", value, "What to time", known);
}
void arguments::flag(const char* name, bool& value, const char* help) {
    parser_.add(name, value, help);
}
void arguments::number(const char* name, int& value, const char* help, int least, int most) {
    parser_.add(name, value, help, least, most);
}
void arguments::number(const char* name, std::int64_t& value, const char* help, std::int64_t least,
                       std::int64_t most) {
    parser_.add(name, value, help, least, most);
}
void arguments::number(const char* name, std::size_t& value, const char* help) {
    parser_.add(name, value, help, std::size_t{1}, std::size_t{1} << 30);
}
void arguments::number(const char* name, double& value, const char* help) {
    parser_.add(name, value, help, 0.0, std::numeric_limits<double>::max());
}
void arguments::word(const char* name, std::string& value, const char* help,
                     std::vector<std::string> allowed) {
    if (allowed.empty())
        parser_.add(name, value, help);
    else
        parser_.add(name, value, help, allowed);
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
    constexpr double most_seconds = 1e9;
    option_parser parser(what, name);
    parser.add("--cpus", asked.cpus_text, "CPUs to pin to, one member each");
    parser.add("--warmup-seconds", asked.warmup_seconds, "Untimed start", 0.0, most_seconds);
    parser.add("--min-seconds", asked.min_seconds, "Least length of the timed part", 1e-9, most_seconds);
    parser.add("--wait", asked.wait, "How idle members wait", {"default", "active", "passive"});
    arguments own(parser);
    add(own);
    try {
        parser.parse(argc, argv);
        asked.cpus = runner::parse_cpus(asked.cpus_text);
        std::cout << body(asked).dump() << std::endl;
        return runner::exit_ok;
    } catch (const help_was_printed& help) {
        return help.status;
    } catch (const missing_worker& error) {
        std::cerr << name << ": error: " << error.what() << '\n';
        return runner::exit_missing_worker;
    } catch (const std::exception& error) {
        std::cerr << name << ": error: " << error.what() << '\n';
    }
    return runner::exit_bad_input;
}

}  // namespace tauto::bench
