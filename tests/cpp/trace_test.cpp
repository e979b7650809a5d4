#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <tauto/tauto.hpp>

namespace tauto {

namespace {

// In the folder that the tests run in: qemu has another "/".
std::string scratch_file() {
    char name[] = "tauto-trace-XXXXXX";
    const int descriptor = mkstemp(name);
    close(descriptor);
    return name;
}

}  // namespace

TEST_CASE("a trace holds one slice a chunk, on the track of its CPU, and covers the loop") {
    const std::string path = scratch_file();
    team members{team_options{.size = 2}};
    trace::start(path);
    CHECK(trace::enabled());
    CHECK_THROWS_AS(trace::start(path), error);
    parallel_for(members, 1000, [](range) {}, {.schedule = dynamic{100}, .name = "a \"quoted\" loop"});
    const std::int64_t slices = trace::stop();
    CHECK(slices == 10);
    CHECK_FALSE(trace::enabled());

    std::ifstream file(path);
    const auto document = nlohmann::json::parse(file);
    tauto::index covered = 0;
    int tracks = 0;
    for (const auto& event : document["traceEvents"]) {
        if (event["ph"] == "M" && event["name"] == "thread_name") ++tracks;
        if (event["ph"] != "X") continue;
        CHECK(event["name"] == "a \"quoted\" loop");
        CHECK(event["dur"].get<double>() >= 0);
        CHECK(event["tid"].get<int>() >= 0);
        covered += event["args"]["end"].get<tauto::index>() - event["args"]["begin"].get<tauto::index>();
    }
    CHECK(covered == 1000);
    CHECK(tracks >= 1);
    CHECK(document["otherData"]["dropped_slices"] == 0);
    std::remove(path.c_str());
}

TEST_CASE("a trace is written through a link of this user's, and not through another's") {
    const std::string path = scratch_file();
    const std::string link = path + "-link";
    REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
    trace::start(link);
    trace::stop();
    CHECK(std::ifstream(path).peek() == '{');
    if (lchown(link.c_str(), 12345, 12345) == 0) {  // only root may
        std::ofstream(path) << "mine";
        CHECK_THROWS_WITH_AS(trace::start(link), doctest::Contains("another user's"), error);
        CHECK(std::ifstream(path).peek() == 'm');
    }
    std::remove(link.c_str());
    std::remove(path.c_str());
}

TEST_CASE("a trace file that cannot be written is said, with the path") {
    CHECK_THROWS_WITH_AS(trace::start("/nonexistent/trace.json"),
                         doctest::Contains("/nonexistent/trace.json"), error);
    CHECK_FALSE(trace::enabled());
}

TEST_CASE("a child of fork neither writes nor spoils its parent's trace, and may record its own") {
    const std::string path = scratch_file();
    const std::string own = scratch_file();
    team members{team_options{.size = 2}};
    const auto loop = [&] { parallel_for(members, 100, [](range) {}, {.schedule = static_{}}); };
    trace::start(path);
    loop();
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        loop();
        const bool silent = trace::stop() == 0;
        trace::start(own);
        loop();
        const bool recorded = trace::stop() == 2;
        std::exit(silent && recorded ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(trace::stop() == 2);
    for (const std::string& written : {path, own}) {
        std::ifstream file(written);
        CHECK(nlohmann::json::accept(file));
        std::remove(written.c_str());
    }
}

TEST_CASE("a trace holds the loops of static destructors, on every member") {
    const std::string path = scratch_file();
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        static team members{team_options{.size = 2}};
        const auto loop = [] { parallel_for(members, 100, [](range) {}, {.schedule = static_{}}); };
        struct at_the_end {
            decltype(loop) call;
            ~at_the_end() {
                call();
                _exit(trace::stop() == 4 ? 0 : 1);
            }
        };
        static const at_the_end last{loop};
        trace::start(path);
        loop();
        std::exit(2);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    std::remove(path.c_str());
}

}  // namespace tauto
