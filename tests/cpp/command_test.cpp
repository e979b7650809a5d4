// What tauto run makes of a profile where this machine need not have what it speaks of; the rest is tested
// through its executable, in tests/python/test_run_profile.py.

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "command/applying.hpp"
#include "command/balancing.hpp"
#include "command/profile.hpp"

namespace {

using namespace tauto::command;
using lines = std::vector<std::string>;

profile with(std::vector<std::pair<std::string, std::string>> environment) {
    profile asked;
    asked.environment = std::move(environment);
    return asked;
}

// A folder that goes when it ends.
struct scratch {
    std::filesystem::path path;
    scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "tauto [test] XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~scratch() { std::filesystem::remove_all(path); }
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;

    std::string program(const std::string& name) const {
        const std::filesystem::path made = path / name;
        std::filesystem::create_directories(made.parent_path());
        std::ofstream(made) << "#!/bin/sh\n";
        chmod(made.c_str(), 0755);
        return made.string();
    }
};

}  // namespace

TEST_CASE("The balancer is told what stands behind tauto balance") {
    CHECK(balancer_words({"--", "a", "-q", "--json"}) == lines{"--", "a", "-q", "--json"});
    CHECK(balancer_words({"-q", "--json", "--report", "f", "--no-preload", "--", "a"}) ==
          lines{"--json", "--report=f", "--no-preload", "--", "a"});
    CHECK(balancer_words({"--report=f g", "--", "a"}) == lines{"--report=f g", "--", "a"});
}

TEST_CASE("Whatever else stands there is the laboratory's") {
    for (const lines& other : {lines{},
                               {"--"},
                               {"--json"},
                               {"a"},
                               {"--json", "a", "--", "b"},
                               {"--help", "--", "a"},
                               {"--pid", "1", "--", "a"},
                               {"--report", "--", "a"},
                               {"--report", "", "--", "a"},
                               {"--report=", "--", "a"},
                               {"--only", "seats", "--", "a"}})
        CHECK_FALSE(balancer_words(other).has_value());
}

TEST_CASE("The balancer is beside tauto, or in the package of its environment") {
    const scratch here;
    const char* const before = std::getenv("TAUTO_RUNNERS");
    const std::optional<std::string> kept = before ? std::optional<std::string>(before) : std::nullopt;
    unsetenv("TAUTO_RUNNERS");
    const std::string bin = (here.path / "bin").string();
    const std::string package = "site-packages/tautochrone/bin/tauto-balance";
    CHECK(find_balancer(bin).empty());
    CHECK(find_balancer("").empty());
    std::filesystem::create_directories(bin);
    const std::string installed = here.program("lib/python3.11/" + package);
    CHECK(std::filesystem::equivalent(find_balancer(bin), installed));
    static_cast<void>(here.program("lib/python3.12/" + package));
    CHECK(find_balancer(bin).empty());  // which of them has this command is not known
    const std::string beside = here.program("bin/tauto-balance");
    CHECK(find_balancer(bin) == beside);
    const std::string named = here.program("named/tauto-balance");
    setenv("TAUTO_RUNNERS", (here.path / "named").c_str(), 1);
    CHECK(find_balancer(bin) == named);
    setenv("TAUTO_RUNNERS", (here.path / "nowhere").c_str(), 1);
    CHECK(find_balancer(bin) == beside);
    chmod(beside.c_str(), 0644);
    CHECK(find_balancer(bin).empty());
    if (kept)
        setenv("TAUTO_RUNNERS", kept->c_str(), 1);
    else
        unsetenv("TAUTO_RUNNERS");
}

TEST_CASE("Threads beyond a quota are a warning") {
    const profile asked = with({{"GOMAXPROCS", "2"}, {"RAYON_NUM_THREADS", "1"}});
    CHECK(looked_at(asked, {0, 1}, 1.5) ==
          lines{"GOMAXPROCS asks for 2 threads, which share a quota of 1.5 CPUs"});
    CHECK(looked_at(asked, {0, 1}, 2.0).empty());
    CHECK(looked_at(asked, {0, 1}, std::nullopt).empty());
    CHECK(looked_at(with({{"OMP_NUM_THREADS", "99999999999999999999999"}}), {0}, 2.0) ==
          lines{"OMP_NUM_THREADS asks for 99999999999999999999999 threads, which share a quota of 2 CPUs"});
    for (const char* const no_number : {"", "auto", "-2", "2,1", " 9"})
        CHECK(looked_at(with({{"OMP_NUM_THREADS", no_number}}), {0}, 0.5).empty());
}

TEST_CASE("Weighted places name CPUs several times on purpose") {
    CHECK(looked_at(with({{"OMP_PLACES", "{0},{0},{1}"}, {"OMP_NUM_THREADS", "3"}}), {0, 1}, 1.5).empty());
}

TEST_CASE("Places that are not there are listed once and in order") {
    CHECK(looked_at(with({{"OMP_PLACES", "{10,2},{9},{2},{0}"}}), {0, 1}, std::nullopt) ==
          lines{"OMP_PLACES names CPU 2,9,10, which may not be used here: the runtime will drop the places"});
    for (const char* const unread : {"cores", "{0:4}", "{", "{}", "{,}", ""})
        CHECK(looked_at(with({{"OMP_PLACES", unread}}), {0}, std::nullopt).empty());
}

TEST_CASE("A profile is read whole") {
    const profile read = parse_profile(
        R"({"schema": "tautochrone.profile/1", "environment": {"B": "\udCE9\\udce9", "A": "\uD83D\uDE00"},
            "cpus": [3, 1, -0], "nice": -4, "command": ["a", "1"], "tuned_command": ["a", "{n}"]})",
        "p");
    CHECK(read.environment ==
          std::vector<std::pair<std::string, std::string>>{{"B", "\xe9\\udce9"}, {"A", "\xf0\x9f\x98\x80"}});
    CHECK(read.cpus == cpu_numbers{0, 1, 3});
    CHECK(read.nice == -4);
    CHECK(command_of(read, {"a", "{n}"}, "p") == lines{"a", "1"});
    CHECK_THROWS_WITH_AS(
        static_cast<void>(command_of(read, {"b"}, "p")),
        "the profile p changes words of the command (a 1), and b is not the command that was "
        "tuned (a {n}). Give it that command, or tune this one",
        input_error);
}

TEST_CASE("A word that names fill is matched in every way to share it out") {
    profile asked;
    const auto trusted = [&](const char* tuned, const char* word) {
        asked.tuned_command = {"a", tuned};
        asked.command = {"a", word};
        return distrusted(asked).empty();
    };
    CHECK(trusted("{a}{b}", "12"));
    CHECK(trusted("{a}{b}", ""));
    CHECK(trusted("x{a}x{b}x", "x1x2x3x"));
    CHECK_FALSE(trusted("x{a}x", "x1"));
    CHECK_FALSE(trusted("x{a}x", "x"));
    CHECK_FALSE(trusted("{}", "1"));
    CHECK_FALSE(trusted("{A}", "1"));
    CHECK_FALSE(trusted("{a", "1"));
    CHECK_FALSE(trusted("{a}", "-1"));
    CHECK(trusted("x{a}", "x-1"));
    CHECK_FALSE(trusted("{b}{a}", "-1"));
}

TEST_CASE("Text is printed, and nothing that a terminal acts on") {
    for (const char* const text : {"", "plain ~", "\u00e9\u20ac\U0001f600"}) CHECK(printable(text) == text);
    CHECK(printable("\x1b\n\x7f") == "\\x1b\\x0a\\x7f");
    CHECK(printable("\u0085\u200f\ufeff") == "\\xc2\\x85\\xe2\\x80\\x8f\\xef\\xbb\\xbf");
    CHECK(printable("\xc0\xaf\xed\xa0\x80\xf5") == "\\xc0\\xaf\\xed\\xa0\\x80\\xf5");
    CHECK(printable("\xe2\x82") == "\\xe2\\x82");
}
