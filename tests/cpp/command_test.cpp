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
