// The readers of the executables, for tests/python/fuzzing.py: one process takes thousands of inputs.
//
//   tauto-readers profile|simulator
//
// Each input is its length, four bytes of this machine's order, and its bytes. The answer is a line: "taken",
// "refused", or what the reader did wrong. A reader that crashes ends the process.

#include <cstdint>
#include <exception>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include "command/profile.hpp"
#include "rows.hpp"

namespace {

void profile(const std::string& input) {
    const tauto::command::profile read = tauto::command::parse_profile(input, "profile.json");
    (void)tauto::command::distrusted(read);
    (void)tauto::command::joined(tauto::command::command_of(read, {"true"}, "profile.json"));
}

void simulator(const std::string& input) {
    std::istringstream requests(input);
    std::ostringstream rows;
    tauto::sim::answer(requests, rows);
}

std::string outcome(void (&reader)(const std::string&), const std::string& input) {
    try {
        reader(input);
        return "taken";
    } catch (const tauto::command::input_error&) {
        return "refused";
    } catch (const tauto::sim::input_error&) {
        return "refused";
    } catch (const std::bad_alloc&) {
        return "takes too much memory";
    } catch (const std::exception& error) {
        return std::string("throws ") + error.what();
    }
}

}  // namespace

int main(int count, char** values) {
    const std::string_view name = count == 2 ? values[1] : "";
    if (name != "profile" && name != "simulator") return 2;
    auto& reader = name == "profile" ? profile : simulator;
    std::ios::sync_with_stdio(false);
    std::uint32_t size = 0;
    while (std::cin.read(reinterpret_cast<char*>(&size), sizeof size)) {
        std::string input(size, '\0');
        std::cin.read(input.data(), size);
        std::string line = outcome(reader, input);
        for (char& letter : line)
            if (letter == '\n') letter = ' ';
        std::cout << line << std::endl;
    }
    return 0;
}
