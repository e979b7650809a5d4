// tauto-simulate: requests in, one JSON object a line; rows out, one a line, in the same order.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "options/option_parser.hpp"
#include "rows.hpp"

namespace {

constexpr int exit_bad_input = 2;

using tauto::sim::json;

json read_file(const std::string& name) {
    std::ifstream file(name);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) throw tauto::sim::input_error("cannot read the machine '" + name + "'; name a file of JSON");
    return tauto::sim::read_json(text, "the machine '" + name + "'");
}

}  // namespace

int main(int count, char** values) {
    std::string machine_file;
    try {
        tauto::option_parser options(
            "Runs requests on a simulated machine: one JSON object a line on standard input, a row each out.",
            "tauto-simulate");
        options.footer(
            "`tauto simulate` and `tauto claims` write the machine and the requests; for example:\n"
            "  echo '{\"study\":\"loop\",\"size\":3000,\"schedule\":\"dynamic\",\"chunk\":2}' | "
            "tauto-simulate --machine machine.json");
        options.add("--machine", machine_file,
                    "The machine as JSON: a line {\"machine\": {…}} may change it later");
        options.parse(count, values);
        std::optional<tauto::sim::machine> on;
        if (!machine_file.empty()) on = tauto::sim::read_machine(read_file(machine_file));
        tauto::sim::answer(std::cin, std::cout, std::move(on));
        std::cout.flush();
        return 0;
    } catch (const tauto::help_was_printed& help) {
        return help.status;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "tauto-simulate: error: %s\n", error.what());
    }
    return exit_bad_input;
}
