// tauto-explorer: explores the runtime's protocols, as they are and spoiled.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "protocols.hpp"

namespace {

using namespace explorer;

int passed = 0;
int failed = 0;

void show(bool fine, const std::string& what, const result& found, double seconds) {
    ++(fine ? passed : failed);
    std::string searched;
    if (found.complete >= 0) searched = ", all with " + std::to_string(found.complete) + " departures";
    std::printf("%s  %-62s %8llu executions%-23s %6.1f s  %s\n", fine ? "passed" : "FAILED", what.c_str(),
                static_cast<unsigned long long>(found.executions), searched.c_str(), seconds,
                found.finding.c_str());
    if (!fine) {
        for (const std::string& line : found.trace) std::printf("    %s\n", line.c_str());
    }
    std::fflush(stdout);
}

void explore_one(const protocol& one, const mutant* spoiled, settings how) {
    how.spoiled = spoiled;
    const auto start = std::chrono::steady_clock::now();
    const result found = explore(one.run, how);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const bool fine = spoiled == nullptr ? found.finding.empty()
                                         : !found.finding.empty() && found.finding.starts_with(spoiled->must);
    show(fine, std::string(one.name) + ": " + (spoiled == nullptr ? one.what : spoiled->what), found,
         took.count());
}

// The runtime's line at a place of this program, such as launcher.cpp:123.
std::string line_of(const void* at) {
    // What the call returns to is the next step.
    const std::string command = "addr2line -i -e /proc/" + std::to_string(getpid()) + "/exe " +
                                text_of_place(static_cast<const char*>(at) - 1).substr(1);
    std::string found;
    if (FILE* const lines = popen(command.c_str(), "r"); lines != nullptr) {
        char line[4096];
        while (std::fgets(line, sizeof line, lines) != nullptr) {
            const std::string text = line;
            for (const char* folder : {"/runtime/", "/include/tauto/"}) {
                const std::size_t begin = text.find(folder);
                if (found.empty() && begin != std::string::npos)
                    found = text.substr(begin + std::strlen(folder),
                                        text.find_first_of(" \n") - begin - std::strlen(folder));
            }
        }
        pclose(lines);
    }
    return found;
}

std::vector<order> weaker_than(order how) {
    switch (how) {
        case seq_cst:
            return {acq_rel};
        case acq_rel:
            return {acquire, release};
        case relaxed:
            return {};
        default:
            return {relaxed};
    }
}

// Weakens each order in the runtime that the protocols come to, place by place, and says which of them miss
// it.
void explore_orders(const std::vector<const protocol*>& chosen, settings how) {
    struct trial {
        std::string missed;  // by which protocol, and how
        std::uint64_t executions = 0;
    };
    std::map<std::tuple<std::string, operation, order, order>, trial> trials;
    how.search = 0;
    for (const protocol* one : chosen) {
        std::vector<place> places;
        settings visiting = how;
        visiting.random = 500;
        visiting.places = &places;
        (void)explore(one->run, visiting);
        for (const place& here : places) {
            const std::string line = line_of(here.at);
            if (line.empty()) continue;  // the program's own
            for (const order to : weaker_than(here.how)) {
                trial& of = trials[{line, here.what, here.how, to}];
                if (!of.missed.empty()) continue;
                const mutant weak{.what = "",
                                  .must = "",
                                  .operations = static_cast<unsigned>(here.what),
                                  .to = to,
                                  .at = here.at};
                how.spoiled = &weak;
                const result found = explore(one->run, how);
                of.executions += found.executions;
                if (!found.finding.empty())
                    of.missed =
                        std::string(one->name) + ", " + found.finding.substr(0, found.finding.find(':'));
            }
        }
    }
    for (const auto& [key, of] : trials) {
        const auto& [line, what, from, to] = key;
        std::printf("%-6s  %-24s %-16s %s -> %s  %llu executions  %s\n",
                    of.missed.empty() ? "spare" : "needed", line.c_str(), name_of(what), name_of(from),
                    name_of(to), static_cast<unsigned long long>(of.executions), of.missed.c_str());
    }
}

[[noreturn]] void refuse(const std::string& what) {
    std::fprintf(stderr,
                 "tauto-explorer: error: %s\n"
                 "usage: tauto-explorer [--orders] [--executions N] [--seed N] [PROTOCOL...]\n",
                 what.c_str());
    std::exit(2);
}

}  // namespace

int main(int count, char** words) {
    settings how;
    std::uint64_t executions = 10'000;
    bool orders = false;
    std::string only = " ";
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const bool number = word == "--executions" || word == "--seed";
        if (number && i + 1 < count)
            (word == "--seed" ? how.seed : executions) = std::strtoull(words[++i], nullptr, 10);
        else if (word == "--orders")
            orders = true;
        else if (word[0] == '-')
            refuse(word + " is no option, or lacks its number");
        else
            only += word + " ";
    }
    how.search = executions / 2;
    how.random = executions - how.search;
    std::vector<const protocol*> chosen;
    for (const protocol& one : protocols()) {
        if (only == " " || only.find(" " + std::string(one.name) + " ") != std::string::npos)
            chosen.push_back(&one);
    }
    if (chosen.empty()) refuse("no protocol of these names");
    if (orders) {
        how.random = executions;
        explore_orders(chosen, how);
        return 0;
    }
    for (const protocol* one : chosen) {
        explore_one(*one, nullptr, how);
        settings until_found = how;
        until_found.search = 0;
        until_found.random = 2'000'000;
        for (const mutant& spoiled : one->mutants) explore_one(*one, &spoiled, until_found);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
