// tauto-explorer: explores the runtime's protocols, as they are and spoiled.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

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
    const bool fine = spoiled == nullptr
                          ? found.finding.empty()
                          : found.finding.compare(0, std::strlen(spoiled->must), spoiled->must) == 0;
    show(fine, std::string(one.name) + ": " + (spoiled == nullptr ? one.what : spoiled->what), found,
         took.count());
}

[[noreturn]] void refuse(const std::string& what) {
    std::fprintf(stderr,
                 "tauto-explorer: error: %s\n"
                 "usage: tauto-explorer [--executions N] [--seed N] [PROTOCOL...]\n",
                 what.c_str());
    std::exit(2);
}

}  // namespace

int main(int count, char** words) {
    settings how;
    std::uint64_t executions = 10'000;
    std::string only = " ";
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const bool number = word == "--executions" || word == "--seed";
        if (number && i + 1 < count)
            (word == "--seed" ? how.seed : executions) = std::strtoull(words[++i], nullptr, 10);
        else if (word[0] == '-')
            refuse(word + " is no option, or lacks its number");
        else
            only += word + " ";
    }
    how.search = executions / 2;
    how.random = executions - how.search;
    for (const protocol& one : protocols()) {
        if (only != " " && only.find(" " + std::string(one.name) + " ") == std::string::npos) continue;
        explore_one(one, nullptr, how);
        settings until_found = how;
        until_found.search = 0;
        until_found.random = 2'000'000;
        for (const mutant& spoiled : one.mutants) explore_one(one, &spoiled, until_found);
    }
    if (passed + failed == 0) refuse("no protocol of these names");
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
