// What the mapreduce runners share: options, tasks, clock, account, trace and row.

#include <doctest/doctest.h>

#include <sys/syscall.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <future>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/fnv1a.hpp"
#include "runners/mapreduce/hash_tasks.hpp"
#include "runners/mapreduce/request.hpp"
#include "runners/mapreduce/row.hpp"
#include "runners/mapreduce/run.hpp"
#include "runners/mapreduce/sleeps.hpp"
#include "runners/mapreduce/timeline.hpp"
#include "runners/mapreduce/waiting.hpp"
#include "runners/shared/task_clock.hpp"
#include "runners/shared/tautochrone_team.hpp"
#include "tests/cpp/runner_testing.hpp"

namespace {

using namespace tauto::runner;

description a_runtime() {
    description runtime;
    runtime.runtime = "rival";
    runtime.library = "librival";
    runtime.schedules = {{"plain", false}, {"chunked", true}};
    return runtime;
}

mapreduce_request parsed(std::vector<std::string> words) {
    return parsed_by(parse_mapreduce, std::move(words), "tauto-mapreduce-rival", a_runtime());
}

std::string refusal_of(const std::vector<std::string>& words) {
    return message_of([&] { parsed(words); });
}

// Two workers, each on its CPU, that ran 30 and 20 tasks in two repetitions of two seconds.
mapreduce_result two_workers() {
    mapreduce_result seen;
    seen.timed.batch_seconds = {1.0, 3.0, 2.0};
    seen.timed.timed_seconds = 6.0;
    seen.timed.iterations = 3;
    seen.usage = {.cpu_seconds = 9.0, .voluntary_switches = 6, .involuntary_switches = 3};
    seen.task_seconds = 0.1;
    seen.right_sum = seen.sum = 0xabcU;
    seen.accounted_repetitions = 2;
    seen.accounted_seconds = 4.0;
    seen.tick_seconds = 1e-3;
    seen.workers = {{0, 0, 30, 3000}, {1, 1, 20, 2000}};
    return seen;
}

mapreduce_request two_cpus(std::int64_t tasks) {
    auto asked = asking<mapreduce_request>({0, 1}, 2);
    asked.tasks = tasks;
    asked.schedule = "plain";
    return asked;
}

}  // namespace

TEST_CASE("defaults_are_those_of_the_published_experiment") {
    const auto asked = parsed({});
    CHECK(asked.tasks == 50);
    CHECK(asked.bytes == 400'000);
    CHECK(asked.schedule == "plain");
    CHECK_FALSE(asked.chunk);
    CHECK_FALSE(asked.trace_file);
    CHECK(asked.threads == static_cast<int>(asked.cpus.size()));
}

TEST_CASE("options_are_taken_as_given") {
    const auto asked = parsed({"--tasks", "7", "--bytes", "1", "--threads", "3", "--schedule", "chunked",
                               "--chunk", "4", "--trace", "t.json", "--duration", "2"});
    CHECK(asked.tasks == 7);
    CHECK(asked.bytes == 1);
    CHECK(asked.threads == 3);
    CHECK(asked.chunk == 4);
    CHECK(asked.trace_file == "t.json");
    CHECK(asked.min_seconds == 2.0);
    CHECK(parsed({"--schedule", "chunked"}).chunk == 1);
}

TEST_CASE("bad_options_are_refused_with_option_value_and_limit") {
    CHECK(refusal_of({"--tasks", "0"}) == "--tasks is 0; it must be 1 or more");
    CHECK(refusal_of({"--bytes", "-3"}) == "--bytes is -3; it must be 1 or more");
    CHECK(refusal_of({"--tasks", "3000000000"}) == "--tasks is 3000000000; it must be 2147483647 or less");
    CHECK(refusal_of({"--schedule", "magic"}) == "rival has no schedule 'magic'; it has plain, chunked");
    CHECK(refusal_of({"--chunk", "2"}) == "schedule 'plain' of rival takes no --chunk");
    CHECK(refusal_of({"--wait", "active"}) == "rival has no wait policy 'active'; it has default");
    CHECK(refusal_of({"--threads", "0"}).starts_with("--threads is 0; rival takes from 1 to "));
    CHECK(refusal_of({"--bytes", "lots"}).ends_with("; see --help"));
}

TEST_CASE("tasks_hash_neighbouring_parts_of_one_buffer") {
    const hash_tasks apart{4, 100};
    const hash_tasks whole{1, 400};
    std::set<std::uint64_t> hashes;
    for (const auto& task : apart.list()) {
        CHECK(task.offset == static_cast<std::size_t>(task.number) * 100);
        hashes.insert(apart.hash(task));
    }
    CHECK(hashes.size() == 4);
    CHECK(hash_tasks{1, 100}.sum() == apart.hash(apart.list().front()));
    CHECK(whole.sum() != apart.sum());
}

TEST_CASE("hash_of_the_first_eight_bytes_is_that_of_the_generators_first_number") {
    // 10000th number of mt19937_64 is fixed by the standard, and so is its first: 14514284786278117030.
    std::string bytes(8, '\0');
    for (unsigned i = 0; i < 8; ++i)
        bytes[i] = static_cast<char>(std::uint64_t{14514284786278117030U} >> (8 * i) & 0xffU);
    CHECK(hash_tasks{1, 8}.sum() == tauto::fnv1a(bytes));
}

TEST_CASE("tasks_beyond_the_buffer_go_on_at_its_begin") {
    const auto bytes = static_cast<std::int64_t>(max_buffer_bytes);
    const hash_tasks wrapped{3, bytes / 2 + 1};
    CHECK(wrapped.list()[2].offset == 2);
    CHECK(wrapped.hash(wrapped.list()[1]) != wrapped.hash(wrapped.list()[0]));
    const hash_tasks twice{1, 2 * bytes};
    const hash_tasks once{2, bytes};
    CHECK(once.list()[1].offset == 0);
    CHECK(twice.sum() != once.hash(once.list()[0]));
}

TEST_CASE("memory_of_the_tasks_is_that_of_their_list_and_one_bounded_buffer") {
    CHECK(hash_tasks::memory_bytes(10, 5) == 10.0 * sizeof(hash_task) + 50.0);
    CHECK(hash_tasks::memory_bytes(1000, 1'000'000'000) ==
          1000.0 * sizeof(hash_task) + static_cast<double>(max_buffer_bytes));
}

TEST_CASE("the_task_clock_goes_as_fast_as_the_systems") {
    const tick_length tick;
    // However long this thread is held up in between, the ticks lie between the outer and the inner times.
    const double begin = monotonic_seconds();
    const std::int64_t begin_ticks = task_ticks();
    const double inner_begin = monotonic_seconds();
    while (monotonic_seconds() - inner_begin < 0.02) {
    }
    const double inner_end = monotonic_seconds();
    const auto ticks = static_cast<double>(task_ticks() - begin_ticks);
    const double end = monotonic_seconds();
    CHECK(ticks * tick.seconds() > 0.99 * (inner_end - inner_begin));
    CHECK(ticks * tick.seconds() < 1.01 * (end - begin));
}

TEST_CASE("a_hash_is_accounted_for_only_where_an_account_is_kept") {
    const hash_tasks tasks{3, 1000};
    work_account account;
    const task_hash plain{tasks};
    const task_hash accounted{tasks, &account};
    for (const auto& task : tasks.list()) CHECK(plain(task) == accounted(task));
    std::int64_t counted = 0;
    for (const auto& worker : account.workers()) {
        counted += worker.amount;
        CHECK(worker.ticks > 0);
    }
    CHECK(counted == 3);
}

TEST_CASE("ideal_time_is_that_of_the_cpu_with_most_tasks") {
    CHECK(ideal_seconds(two_cpus(50), 0.1) == doctest::Approx(2.5));
    CHECK(ideal_seconds(two_cpus(51), 0.1) == doctest::Approx(2.6));
    CHECK(ideal_seconds(two_cpus(1), 0.1) == doctest::Approx(0.1));
}

TEST_CASE("waiting_is_the_time_of_the_cpus_without_that_of_the_tasks") {
    CHECK(waiting_share(3.0, 2.0, 2) == doctest::Approx(0.25));
    CHECK(waiting_share(5.0, 2.0, 2) == 0.0);
}

TEST_CASE("row_has_what_was_asked_and_seen_per_repetition") {
    const json row = *mapreduce_row(a_runtime(), two_cpus(50), two_workers());
    CHECK(row["schema"] == "tautochrone.runner/1");
    CHECK(row["runtime"] == "rival");
    CHECK(row["library_version"].is_null());
    CHECK(row["chunk"].is_null());
    CHECK(row["seconds"] == 2.0);
    CHECK(row["mean_seconds"] == 2.0);
    CHECK(row["tasks"] == 50);
    CHECK(row["bytes"] == 400'000);
    CHECK(row["ideal_seconds"] == doctest::Approx(2.5));
    CHECK(row["useful_seconds"] == doctest::Approx(2.5));
    CHECK(row["accounted_seconds"] == 2.0);
    CHECK(row["waiting_share"] == doctest::Approx(0.375));
    CHECK(row["cpu_load"] == doctest::Approx(0.75));
    CHECK(row["voluntary_switches"] == 2.0);
    CHECK(row["involuntary_switches"] == 1.0);
    CHECK(row["width"] == 2);
    CHECK(row["dropped"] == false);
    CHECK(row["workers"] == json::parse(R"([{"thread":0,"cpu":0,"tasks":30,"useful_seconds":3.0},
                                            {"thread":1,"cpu":1,"tasks":20,"useful_seconds":2.0}])"));
    CHECK(row["check"]["passed"] == true);
    CHECK(row["check"]["sum"] == "0000000000000abc");
}

TEST_CASE("row_of_a_wrong_answer_says_so") {
    mapreduce_result seen = two_workers();
    seen.sum = 0xabdU;
    seen.wrong_repetitions = 1;
    const json check = (*mapreduce_row(a_runtime(), two_cpus(50), seen))["check"];
    CHECK(check["passed"] == false);
    CHECK(check["wrong_repetitions"] == 1);
    CHECK(check["sum"] != check["right_sum"]);
}

TEST_CASE("gaps_are_the_times_within_a_repetition_in_which_a_thread_ran_no_task") {
    const std::vector<task_slice> slices{{0, {10, 20}}, {1, {25, 40}}, {2, {40, 50}}, {3, {110, 120}}};
    CHECK(gaps_of(slices, {0, 60}, 1) == std::vector<interval>{{0, 10}, {20, 25}, {50, 60}});
    CHECK(gaps_of(slices, {0, 60}, 6) == std::vector<interval>{{0, 10}, {50, 60}});
    CHECK(gaps_of(slices, {100, 120}, 1) == std::vector<interval>{{100, 110}});
    CHECK(gaps_of(slices, {60, 100}, 1) == std::vector<interval>{{60, 100}});
    CHECK(gaps_of({}, {0, 5}, 1) == std::vector<interval>{{0, 5}});
}

TEST_CASE("waiting_is_split_by_what_it_is_for_and_its_parts_are_all_of_it") {
    waiting_account account{3};
    std::thread([&] {
        account.add({10, 20});
        account.add({25, 40});
    }).join();
    std::thread([&] { account.add({15, 60}); }).join();
    account.end_repetition({0, 70});
    // The third CPU got no task. The last task began at 25 and the last one ended at 60.
    const waiting_parts found = account.parts();
    CHECK(found.starting == 10 + 15 + 25);
    CHECK(found.between == 5);
    CHECK(found.unfed == 0);
    CHECK(found.ending == 20 + 0 + 35);
    CHECK(found.returning == 3 * 10);
    const std::int64_t tasks = 10 + 15 + 45;
    const auto sum = found.starting + found.between + found.unfed + found.ending + found.returning;
    CHECK(sum == 3 * 70 - tasks);
    CHECK_FALSE(account.shared_cpus());
}

TEST_CASE("who_ended_while_others_began_further_tasks_was_unfed") {
    waiting_account account{2};
    for (int repetition = 0; repetition < 2; ++repetition) {
        std::thread([&] { account.add({100, 110}); }).join();
        std::thread([&] {
            account.add({100, 120});
            account.add({120, 140});
        }).join();
        account.end_repetition({100, 140});
    }
    CHECK(account.parts() == waiting_parts{.unfed = 2 * 10, .ending = 2 * 20});
}

TEST_CASE("more_threads_than_cpus_are_noticed") {
    waiting_account account{1};
    for (int i = 0; i < 2; ++i) std::thread([&] { account.add({0, 1}); }).join();
    account.end_repetition({0, 1});
    CHECK(account.shared_cpus());
}

TEST_CASE("a_wait_at_a_futex_is_read_from_the_kernels_line") {
    const std::string futex = std::to_string(SYS_futex);
    const auto found = futex_wait::parse(futex + " 0x7f01 0x80 0x2 0x0 0x0 0xffffffff 0x7ffd10 0x7f3f\n");
    REQUIRE(found.has_value());
    CHECK(found->address == 0x7f01);
    CHECK(found->stack == 0x7ffd10);
    for (const char* other :
         {"running\n", "-1 0x7ffd10 0x7f3f\n", "0 0x3 0x7f 0x2 0x0 0x0 0x0 0x7ffd 0x7f3f\n", ""})
        CHECK_FALSE(futex_wait::parse(other).has_value());
    CHECK_FALSE(futex_wait::parse(futex + " 0x7f01 0x80").has_value());
}

TEST_CASE("a_thread_that_sleeps_is_seen_where_it_sleeps") {
    std::promise<void> enough;
    std::thread sleeper([&] { enough.get_future().wait(); });
    sleep_sampler sampler;
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    const auto places = sampler.places();
    enough.set_value();
    sleeper.join();
    if (!std::ifstream{"/proc/self/syscall"}.good())
        return;  // the kernel does not tell what threads wait for
    REQUIRE_FALSE(places.empty());
    CHECK(places.front().threads > 0.5);
    CHECK(places.front().threads <= 1.0);
    CHECK(places.front().addresses == 1);
    CHECK_FALSE(places.front().name.empty());
}

TEST_CASE("row_has_the_parts_of_the_waiting_only_where_each_cpu_had_one_thread") {
    mapreduce_result seen = two_workers();
    CHECK((*mapreduce_row(a_runtime(), two_cpus(50), seen))["between_share"].is_null());
    // Two CPUs had 2 s each in two repetitions.
    seen.waiting = waiting_parts{.between = 4};
    seen.sleeps = {{"QBasicMutex::lockInternal()", 0.5, 1}};
    const json row = *mapreduce_row(a_runtime(), two_cpus(50), seen);
    CHECK(row["between_share"] == doctest::Approx(4 * seen.tick_seconds / (seen.accounted_seconds * 2)));
    CHECK(row["ending_share"] == 0.0);
    const json place{{"place", "QBasicMutex::lockInternal()"}, {"threads", 0.5}, {"addresses", 1}};
    CHECK(row["sleeps"] == json::array({place}));
}

TEST_CASE("trace_has_a_track_a_thread_with_tasks_and_waiting") {
    timeline line;
    line.add(4, {0, 1});
    line.clear();
    line.add(7, {1000, 3000});
    line.add_repetition({0, 4000});
    const int me = this_worker();
    const auto trace = json::parse(line.chrome_trace("a \"title\"", 1e-9, {me, me + 1}));
    const auto& events = trace["traceEvents"];
    REQUIRE(events.size() == 7);
    CHECK(events[0]["args"]["name"] == "a \"title\"");
    CHECK(events[1]["args"]["name"] == "thread " + std::to_string(me));
    CHECK(events[2] == json::parse(R"({"name":"task 7","ph":"X","pid":1,"tid":)" + std::to_string(me) +
                                   R"(,"ts":1.0,"dur":2.0})"));
    for (const std::size_t i : {3U, 4U}) {
        CHECK(events[i]["name"] == "waiting");
        CHECK(events[i]["tid"] == me);
        CHECK(events[i]["dur"] == 1.0);
    }
    // A thread that ran none of these tasks waited all the time.
    CHECK(events[6]["tid"] == me + 1);
    CHECK(events[6]["name"] == "waiting");
    CHECK(events[6]["dur"] == 4.0);
}

TEST_CASE("a_member_that_came_too_late_for_a_share_was_not_left_out") {
    const tauto::loop_report report{.width = 2, .iterations = {300, 0}};
    for (const bool learned : {false, true}) {
        loop_widths widths;
        widths.count(report, learned);
        json row;
        widths.complete(row, 2);
        CHECK(row["width"] == (learned ? 1 : 2));
        CHECK(row["dropped"] == learned);
    }
}
