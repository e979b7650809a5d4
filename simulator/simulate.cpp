// tauto-simulate: requests in, one JSON object a line; rows out, one a line, in the same order.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "rows.hpp"

namespace {

constexpr int exit_bad_input = 2;

using tauto::sim::json;

constexpr int deepest_json = 100;  // a machine is four deep; what is written again is walked by recursion

json read_json(const std::string& text, const std::string& what) {
    const auto not_too_deep = [&](int depth, json::parse_event_t, const json&) {
        if (depth > deepest_json)
            throw tauto::sim::input_error(what + " is nested too deeply; send plain requests");
        return true;
    };
    json read = json::parse(text, not_too_deep, false);
    if (read.is_discarded()) throw tauto::sim::input_error(what + " is not JSON");
    return read;
}

json read_file(const std::string& name) {
    std::ifstream file(name);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) throw tauto::sim::input_error("cannot read the machine '" + name + "'; name a file of JSON");
    return read_json(text, "the machine '" + name + "'");
}

}  // namespace

int main(int count, char** values) {
    std::string machine_file;
    CLI::App app{
        "Runs requests on a simulated machine: one JSON object a line on standard input, a row each out.",
        "tauto-simulate"};
    app.footer(
        "`tauto simulate` and `tauto claims` write the machine and the requests; for example:\n"
        "  echo '{\"study\":\"loop\",\"size\":3000,\"schedule\":\"dynamic\",\"chunk\":2}' | "
        "tauto-simulate --machine machine.json");
    app.add_option("--machine", machine_file,
                   "The machine as JSON: a line {\"machine\": {…}} may change it later");
    try {
        app.parse(count, values);
        tauto::sim::machine on;
        bool known = false;
        if (!machine_file.empty()) {
            on = tauto::sim::read_machine(read_file(machine_file));
            known = true;
        }
        std::string line;
        for (int number = 1; std::getline(std::cin, line); ++number) {
            if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
            const json request = read_json(line, "line " + std::to_string(number));
            if (request.is_object() && request.contains("machine")) {
                on = tauto::sim::read_machine(request.at("machine"));
                known = true;
                continue;
            }
            if (!known) throw tauto::sim::input_error("no machine was named; give one with --machine");
            std::cout << tauto::sim::simulate(on, request).dump() << std::endl;
        }
        std::cout.flush();
        return 0;
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "tauto-simulate: error: %s; see --help\n", error.what());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tauto-simulate: error: %s\n", error.what());
    }
    return exit_bad_input;
}
