// The parts of tauto-timer; as a whole it is tested through its executable, in tests/python/test_timer.py.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "timer/answer.hpp"
#include "timer/counters.hpp"
#include "timer/guard.hpp"
#include "timer/inbox.hpp"
#include "timer/output.hpp"
#include "timer/program.hpp"
#include "timer/request.hpp"
#include "timer/run.hpp"

namespace {

using namespace tauto::timer;

std::uint64_t hash_of_parts(std::string_view text, std::size_t first, std::size_t second) {
    stream_hash hash;
    hash.add(text.substr(0, first));
    hash.add(text.substr(first, second));
    hash.add(text.substr(std::min(text.size(), first + second)));
    return hash.value();
}

void write_to(int file, std::string_view text) {
    REQUIRE(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

// A pipe as the lab would write to it.
class lab {
  public:
    lab() { REQUIRE(pipe2(ends_.data(), O_CLOEXEC) == 0); }
    ~lab() {
        close(ends_[0]);
        end();
    }
    lab(const lab&) = delete;
    lab& operator=(const lab&) = delete;
    [[nodiscard]] int reads_at() const { return ends_[0]; }
    void says(std::string_view text) { write_to(ends_[1], text); }
    void end() {
        if (ends_[1] >= 0) close(ends_[1]);
        ends_[1] = -1;
    }

  private:
    std::array<int, 2> ends_{-1, -1};
};

// As in tauto-timer: signals are read, and orphans come here.
struct executing {
    executing() {
        sigset_t read;
        sigemptyset(&read);
        sigaddset(&read, SIGCHLD);
        sigaddset(&read, SIGTERM);
        sigprocmask(SIG_BLOCK, &read, nullptr);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
    }
    answer run(const std::string& fields) {
        return executor.run(parse_request(R"({"number": 1, )" + fields + "}"));
    }

    lab from;
    inbox lines{from.reads_at()};
    run_executor executor{lines, open_signals()};
};

// The kernel's own clock of a task is there on virtual machines too.
TEST_CASE("counters begin at the exec of a child, and stand still here (starts programs)") {
    const counters clock({{"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK}});
    const auto before = clock.read();
    if (before.empty()) {
        CHECK_FALSE(clock.reason().empty());
        return;
    }
    for (std::uint64_t step = 0; step < 100'000'000; ++step) asm volatile("" : "+r"(step));
    const auto between = clock.read();
    CHECK(clock.between(before, between).at("task_clock").value_or(0) == 0);
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done", nullptr);
        _exit(1);
    }
    int status = 0;
    rusage used{};
    REQUIRE(wait4(child, &status, 0, &used) == child);
    usage spent;
    spent.add(used);
    const double seconds = clock.between(between, clock.read()).at("task_clock").value_or(0) * 1e-9;
    CHECK(seconds == doctest::Approx(spent.user_seconds + spent.system_seconds).epsilon(0.3));
}

TEST_CASE("a counter that shared its register is scaled, and one without a register is not 0") {
    const counters none({});
    const counters::totals before{
        {"shared", {10, 100, 100}}, {"idle", {0, 0, 0}}, {"two", {0, 0, 0, 5, 10, 10}}};
    const counters::totals later{
        {"shared", {40, 300, 200}}, {"idle", {0, 200, 0}}, {"two", {7, 10, 10, 8, 20, 20}}};
    const auto found = none.between(before, later);
    CHECK(found.at("shared") == 60.0);
    CHECK(found.at("idle") == std::nullopt);
    CHECK(found.at("two") == 10.0);
}

}  // namespace

TEST_CASE("A hash depends on the bytes and not on their parts") {
    std::string text;
    for (int place = 0; place < 40; ++place) text += static_cast<char>(place * 37);
    const std::uint64_t whole = hash_of_parts(text, text.size(), 0);
    for (std::size_t first = 0; first <= text.size(); ++first)
        for (std::size_t second = 0; first + second <= text.size(); ++second)
            CHECK(hash_of_parts(text, first, second) == whole);
    for (char& one : text) {
        ++one;
        CHECK(hash_of_parts(text, 3, 9) != whole);
        --one;
    }
    CHECK(hash_of_parts(text + '\0', 3, 9) != whole);
}

TEST_CASE("What is taken in while a program prints is hashed as at once") {
    const std::string part(5 << 20, 'x');
    output_file at_once(100, true);
    output_file bit_by_bit(100, true);
    for (int place = 0; place < 10; ++place) {
        for (output_file* const one : {&at_once, &bit_by_bit}) {
            write_to(one->descriptor(), part);
            write_to(one->descriptor(), std::to_string(place));
        }
        bit_by_bit.drain();
    }
    struct stat large {};
    struct stat small {};
    REQUIRE(fstat(at_once.descriptor(), &large) == 0);
    REQUIRE(fstat(bit_by_bit.descriptor(), &small) == 0);
    CHECK(large.st_size == small.st_size);
    CHECK(small.st_blocks < large.st_blocks / 2);
    const printed one = at_once.read();
    const printed other = bit_by_bit.read();
    CHECK(one.hash == other.hash);
    CHECK(one.bytes == 10 * (static_cast<std::int64_t>(part.size()) + 1));
    CHECK(one.end.size() == 100);
    CHECK(one.end.substr(98) == "x9");
    CHECK(other.end == one.end);
    bit_by_bit.clear();
    CHECK(bit_by_bit.read().bytes == 0);
    write_to(bit_by_bit.descriptor(), "again");
    CHECK(bit_by_bit.read().end == "again");
}

TEST_CASE("Lines come whole, and a cancel is no request") {
    lab from;
    inbox lines(from.reads_at());
    from.says("first\nsec");
    lines.take();
    CHECK_FALSE(lines.cancelled());
    CHECK(lines.next() == "first");
    CHECK_FALSE(lines.next());
    from.says("ond\r\n\n  \ncancel\nthird\n");
    lines.take();
    CHECK(lines.cancelled());
    CHECK_FALSE(lines.cancelled());
    CHECK(lines.next() == "second");
    CHECK(lines.next() == "third");
    from.says("cancel\nfourth\nfifth");
    lines.take();
    CHECK(lines.next() == "fourth");
    CHECK_FALSE(lines.cancelled());
    CHECK_FALSE(lines.ended());
    from.end();
    lines.take();
    CHECK(lines.ended());
    CHECK_FALSE(lines.next());
}

TEST_CASE("A request that gives a window alone is repeated as often as it takes") {
    CHECK(parse_request(R"({"command": ["a"]})").most_runs == 1);
    CHECK(parse_request(R"({"command": ["a"], "window_seconds": 1})").most_runs > 1'000'000'000);
    const request both = parse_request(R"({"command": ["a"], "window_seconds": 0.5, "repeat": 3})");
    CHECK(both.most_runs == 3);
    CHECK(both.window == 500'000'000);
    CHECK(parse_request(R"({"command": ["a"], "time_limit": 1e300})").time_limit == never);
    CHECK(parse_request(R"({"command": ["\udcff\ud83d\ude00"]})").command[0] == "\xff\xf0\x9f\x98\x80");
}

TEST_CASE("Variables take the place of those that are there") {
    setenv("TAUTO_TEST", "old", 1);
    const auto count = [](const std::vector<std::string>& all, const std::string& one) {
        return std::count(all.begin(), all.end(), one);
    };
    CHECK(count(environment_with({}), "TAUTO_TEST=old") == 1);
    const auto changed = environment_with({{"TAUTO_TEST", "new"}, {"TAUTO_TES", "other"}});
    CHECK(count(changed, "TAUTO_TEST=new") == 1);
    CHECK(count(changed, "TAUTO_TES=other") == 1);
    CHECK(count(changed, "TAUTO_TEST=old") == 0);
    CHECK(environment_with({{"TAUTO_TEST", std::nullopt}}).size() == environment_with({}).size() - 1);
    unsetenv("TAUTO_TEST");
}

TEST_CASE("A run starts programs and accounts for them") {
    executing timer;
    const answer fine = timer.run(R"("command": ["sh", "-c", "echo said; exit 3"], "output": "keep")");
    CHECK(fine.exit_codes == std::vector<int>{3});
    REQUIRE(fine.output);
    CHECK(fine.output->end == "said\n");
    CHECK(timer.run(R"("command": ["true"], "repeat": 3)").exit_codes == std::vector<int>{0, 0, 0});
    const answer missing = timer.run(R"("command": ["/missing"])");
    CHECK(missing.start_error == ENOENT);
    CHECK(missing.start_error_of == std::string_view("command"));
    CHECK(missing.elapsed.empty());
    CHECK(timer.run(R"("command": ["true"], "folder": "/missing")").start_error_of ==
          std::string_view("folder"));
    CHECK(timer.run(R"("command": ["no-such-name"])").start_error == ENOENT);
}

TEST_CASE("A run that starts programs ends what they leave") {
    executing timer;
    const answer left = timer.run(R"("command": ["sh", "-c", "sleep 600 & exec true"], "alive_after": 0.5)");
    CHECK(left.left_running == std::set<std::string>{"sleep"});
    const answer late = timer.run(R"("command": ["sh", "-c", "sleep 600 & sleep 600"], "time_limit": 0.01)");
    CHECK(late.stopped_for == std::string_view("timeout"));
    CHECK(late.exit_codes == std::vector<int>{-SIGTERM});
}

TEST_CASE("A cancel stops a run that starts programs, and so does the end of the input") {
    executing timer;
    timer.from.says("cancel\n");
    const answer first = timer.run(R"("command": ["sleep", "600"])");
    CHECK(first.stopped_for == std::string_view("cancelled"));
    timer.from.end();
    const answer second = timer.run(R"("command": ["sleep", "600"])");
    CHECK(second.stopped_for == std::string_view("cancelled"));
    CHECK(timer.lines.ended());
    CHECK_FALSE(timer.executor.told_to_end());
}
