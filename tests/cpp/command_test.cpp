// What tauto run makes of a profile where this machine need not have what it speaks of; the rest is tested
// through its executable, in tests/python/test_run_profile.py.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "command/applying.hpp"
#include "command/profile.hpp"

namespace {

using namespace tauto::command;
using lines = std::vector<std::string>;

profile with(std::vector<std::pair<std::string, std::string>> environment) {
    profile asked;
    asked.environment = std::move(environment);
    return asked;
}

}  // namespace

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
