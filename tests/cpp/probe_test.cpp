#include <doctest/doctest.h>

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tauto/machine.hpp>

#include "fake_tree.hpp"
#include "probe/counting.hpp"
#include "probe/fork_join.hpp"
#include "probe/json.hpp"
#include "probe/latency.hpp"
#include "probe/measured.hpp"
#include "probe/moving.hpp"
#include "probe/noise.hpp"
#include "probe/reading.hpp"
#include "probe/speeds.hpp"
#include "probe/threads.hpp"
#include "sanitized.hpp"

using namespace tauto;
using namespace tauto::probe;
using tauto::test::fake;

namespace {

nlohmann::ordered_json described(const std::string& name, const std::optional<measurements>& measured) {
    const machine_record machine = fake(name);
    return to_json(machine, read_host(machine, test::fake_root(name)), measured);
}

}  // namespace

TEST_SUITE("steal time") {
    constexpr std::string_view before =
        "cpu  100 0 100 800 0 0 0 0 0 0\n"
        "cpu0 50 0 50 400 0 0 0 0 0 0\n"
        "cpu1 50 0 50 400 0 0 0 0 0 0\n"
        "intr 12345 1 2 3\n";
    constexpr std::string_view after =
        "cpu  150 0 100 830 0 0 0 20 30 0\n"
        "cpu0 90 0 50 400 0 0 0 10 30 0\n"
        "cpu1 50 0 50 450 0 0 0 0 0 0\n";

    TEST_CASE("is the stolen part of all time between two readings") {
        std::vector<cpu_measurement> cpus(2);
        cpus[1].cpu = 1;
        fill_steal(parse_stat(before), parse_stat(after), cpus);
        // 40 user and 10 stolen ticks; guest time (30) is part of user time and must not count twice.
        CHECK(cpus[0].steal_fraction == doctest::Approx(0.2));
        CHECK(cpus[1].steal_fraction == 0.0);
    }

    TEST_CASE("stays absent for a CPU that is not reported, or for no time") {
        std::vector<cpu_measurement> cpus(2);
        cpus[1].cpu = 7;
        fill_steal(parse_stat(before), parse_stat(before), cpus);
        CHECK_FALSE(cpus[0].steal_fraction.has_value());
        CHECK_FALSE(cpus[1].steal_fraction.has_value());
    }

    TEST_CASE("a kernel without the field, and text that is none, give nothing") {
        CHECK(parse_stat("cpu0 1 2 3 4\ncpufoo 1\n\ncpu").empty());
        CHECK(parse_stat(before).size() == 2);
    }
}

TEST_SUITE("repeated timings") {
    TEST_CASE("quantiles lie between the values around them") {
        CHECK(quantile({3, 1, 2}, 0.5) == 2);
        CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
        CHECK(quantile({1, 2}, 0.0) == 1);
        CHECK(quantile({1, 2}, 1.0) == 2);
        CHECK(quantile({7}, 0.99) == 7);
    }

    TEST_CASE("the rate is that of the undisturbed batches") {
        // Virtual time: a step takes 1 ms, but the 12th and the 13th are ten times slower.
        double clock = 0;
        int steps = 0;
        const auto step = [&] {
            ++steps;
            clock += steps == 12 || steps == 13 ? 1e-2 : 1e-3;
            return 6.0;
        };
        CHECK(median_rate(0.05, 9, step, [&] { return clock; }) == doctest::Approx(6000.0));
        CHECK(clock > 0.05);
    }

    TEST_CASE("where each step takes far too long it ends after three") {
        double clock = 0;
        int steps = 0;
        const auto step = [&] {
            ++steps;
            clock += 1.0;
            return 2.0;
        };
        CHECK(median_rate(0.02, 99, step, [&] { return clock; }) == doctest::Approx(2.0));
        CHECK(steps == 4);
    }

    TEST_CASE("the first batch only warms up") {
        double clock = 0;
        const auto step = [&] {
            clock += clock < 0.01 ? 1e-3 : 1e-4;
            return 1.0;
        };
        CHECK(median_rate(0.02, 1, step, [&] { return clock; }) == doctest::Approx(10000.0));
    }
}

TEST_SUITE("places where reads become slow") {
    constexpr std::int64_t row = 8192;

    TEST_CASE("are looked for where a straight line would be farthest off") {
        // Slow from 12 rows on, whatever size the cache is said to have.
        const auto rate = [](std::int64_t set) { return set < 12 * row ? 50.0 : 10.0; };
        std::vector<std::pair<std::int64_t, double>> curve;
        for (const std::int64_t rows : {32, 2, 4, 8, 16}) curve.emplace_back(rows * row, rate(rows * row));
        std::vector<std::int64_t> places;
        while (const auto place = steepest_place(curve, 4 * row)) {
            places.push_back(*place / row);
            curve.emplace_back(*place, rate(*place));
        }
        CHECK(places == std::vector<std::int64_t>{12, 10, 11});
    }

    TEST_CASE("are neither below the least set nor between rates that are alike") {
        const std::vector<std::pair<std::int64_t, double>> curve{
            {8 * row, 100.0}, {32 * row, 50.0}, {128 * row, 45.0}, {512 * row, 20.0}};
        CHECK(steepest_place(curve, 32 * row) == 320 * row);
        CHECK(steepest_place(curve, 512 * row) == std::nullopt);
        CHECK(steepest_place({{8 * row, 50.0}, {32 * row, 45.0}, {64 * row, 60.0}}, 8 * row) == std::nullopt);
        CHECK(steepest_place({}, 0) == std::nullopt);
    }

    TEST_CASE("end what a cache still holds") {
        const std::vector<std::pair<std::int64_t, double>> curve{
            {32 * row, 20.0}, {2 * row, 90.0}, {4 * row, 50.0}, {8 * row, 52.0}, {16 * row, 46.0}};
        CHECK(largest_held(curve, 4 * row) == 16 * row);
        CHECK(largest_held(curve, 2 * row) == 2 * row);
        CHECK(largest_held(curve, 64 * row) == std::nullopt);
    }
}

TEST_SUITE("pinned threads") {
    TEST_CASE("each runs on its own CPU and all of them run") {
        const std::vector<int> cpus = allowed_cpus();
        std::mutex lock;
        std::set<int> seen;
        run_pinned(cpus, [&](int rank) {
            const std::lock_guard guard(lock);
            CHECK(sched_getcpu() == cpus[static_cast<std::size_t>(rank)]);
            seen.insert(sched_getcpu());
        });
        CHECK(seen.size() == cpus.size());
        CHECK(allowed_cpus() == cpus);  // the caller is not pinned
    }

    TEST_CASE("a CPU that cannot be had is named and no task starts") {
        std::atomic<int> started{0};
        CHECK_THROWS_WITH_AS(run_pinned({allowed_cpus().front(), 60000}, [&](int) { ++started; }),
                             doctest::Contains("CPU 60000"), error);
        CHECK(started == 0);
    }

    TEST_CASE("an exception of a task arrives at the caller") {
        CHECK_THROWS_AS(run_pinned({allowed_cpus().front()}, [](int) { throw std::out_of_range("task"); }),
                        std::out_of_range);
    }
}

TEST_SUITE("json") {
    TEST_CASE("what is absent is null and never 0") {
        const auto json = described("virtual_machine", std::nullopt);
        CHECK(json["schema"] == "tautochrone.machine/1");
        for (const char* key : {"quota_cpus", "quota_source", "governor", "turbo", "measured", "emulated",
                                "memory_limit_bytes", "kind_source"}) {
            CHECK_MESSAGE(json[key].is_null(), key);
        }
        CHECK(json["cpus"][0]["max_hertz"].is_null());
        CHECK(json["cpus"][0]["capacity"] == 1024);
        CHECK(json["hypervisor"] == "kvm");
        CHECK(json["energy_meters"][0]["status"] == "unproven");
    }

    TEST_CASE("measurements that gave no sample are null") {
        measurements measured;
        measured.cpus.emplace_back();
        measured.triad.push_back({2, 1e10});
        measured.latency_seconds = {{std::nullopt, 1e-7}, {1e-7, std::nullopt}};
        measured.futex_wake = futex_measurement{};
        const auto json = described("virtual_machine", measured)["measured"];
        CHECK(json["cpus"][0]["compute_per_second"].is_null());
        CHECK(json["cpus"][0]["steal_fraction"].is_null());
        CHECK(json["latency_seconds"][0][0].is_null());
        CHECK(json["latency_seconds"][0][1] == 1e-7);
        CHECK(json["triad"][0]["members"] == 2);
        CHECK(json["round_trip_seconds"].is_null());
        CHECK(json["fork_join_seconds"]["libgomp"].is_null());
        CHECK(json["fork_join_cold_seconds"]["libgomp"].is_null());
        CHECK(json["futex_wake_seconds"]["waker"].is_null());
        CHECK(json["moves"].empty());
    }
}

TEST_SUITE("counting") {
    TEST_CASE("a counter's steps are divided by the lines that were read, in order and scattered") {
        std::vector<std::string> asked;
        const auto steps_of_a_million = [&](const std::string& event) -> counter {
            asked.push_back(event);
            if (event != "cache_misses") return {};
            return [value = std::make_shared<std::uint64_t>(0)] { return *value += 1'000'000; };
        };
        const auto found = measure_counting(read_machine().allowed_cpus.front(), 8 << 20, steps_of_a_million);
        CHECK(asked == std::vector<std::string>{"cache_references", "cache_misses", "llc_load_misses"});
        REQUIRE(found.size() == 1);
        CHECK(found[0].event == "cache_misses");
        CHECK(found[0].sequential == doctest::Approx(1e6 / ((8 << 20) / 64)));
        CHECK(found[0].scattered == doctest::Approx(1e6 / 1e5));
    }

    TEST_CASE("without counters there is nothing, and no memory is asked for") {
        const auto none = [](const std::string&) { return counter{}; };
        CHECK(measure_counting(read_machine().allowed_cpus.front(), std::int64_t{1} << 60, none).empty());
        CHECK_FALSE(open_counter("page_faults"));
    }

    TEST_CASE("what the kernel opens counts upwards") {
        if (const counter misses = open_counter("cache_misses")) {
            const std::uint64_t before = misses();
            CHECK(misses() >= before);
        }
    }
}

TEST_SUITE("moves") {
    using pairs = std::vector<std::pair<int, int>>;
    TEST_CASE("from the first core to one of each other kind, behind each other cache, or to the second") {
        const machine_record hybrid = fake("i9_14900k");
        const std::vector<int> cores = select_cpus(hybrid, "cores");
        const pairs found = pairs_to_move_between(hybrid, cores);
        REQUIRE(found.size() == 1);
        CHECK(hybrid.find_cpu(found[0].first)->kind == "P");
        CHECK(hybrid.find_cpu(found[0].second)->kind == "E");
        const machine_record sockets = fake("two_sockets");
        const pairs across = pairs_to_move_between(sockets, select_cpus(sockets, "cores"));
        REQUIRE(across.size() == 1);
        CHECK(sockets.find_cpu(across[0].second)->package != sockets.find_cpu(across[0].first)->package);
        const machine_record equal = fake("virtual_machine");
        const std::vector<int> two = select_cpus(equal, "cores");
        CHECK(pairs_to_move_between(equal, two) == pairs{{two[0], two[1]}});
        CHECK(pairs_to_move_between(equal, {two[0]}).empty());
    }
}

TEST_SUITE("effort") {
    TEST_CASE("each effort has time for everything, and more than the one before") {
        const effort brief = effort_named("brief");
        const effort quick = effort_named("quick");
        const effort full = effort_named("full");
        for (const auto part : {&effort::speeds_seconds, &effort::triad_seconds, &effort::read_seconds,
                                &effort::latency_seconds, &effort::noise_seconds, &effort::launch_seconds}) {
            CHECK(brief.*part > 0);
            CHECK(brief.*part < quick.*part);
            CHECK(quick.*part < full.*part);
        }
    }

    TEST_CASE("an unknown effort is refused") {
        CHECK_THROWS_AS(effort_named("thorough"), error);
    }

    TEST_CASE("arrays outgrow the last-level caches but never take more than a quarter of free memory") {
        machine_record machine = fake("two_sockets");
        CHECK(array_bytes(machine, effort_named("quick")) == std::int64_t{160}
                                                                 << 20);  // four times 2 × 20 MiB
        machine.available_memory_bytes = std::int64_t{256} << 20;
        CHECK(array_bytes(machine, effort_named("full")) == std::int64_t{64} << 20);
        machine.available_memory_bytes = std::int64_t{32} << 20;
        CHECK_THROWS_AS(array_bytes(machine, effort_named("quick")), error);
    }
}

// Times are not judged here, the machine may be busy: each probe must end and give a plausible figure.
TEST_SUITE("probes") {
    const effort brief{.name = "brief",
                       .speeds_seconds = 0.05,
                       .triad_seconds = 0.02,
                       .stream_seconds = 0.02,
                       .latency_seconds = 0.02,
                       .noise_seconds = 0.02,
                       .launch_seconds = 0.02,
                       .wakes = 20,
                       .moves = 9,
                       .most_array_bytes = (tauto::testing::sanitized ? 16 : 32) << 20};

    TEST_CASE("all of them together measure every allowed CPU") {
        const machine_record machine = read_machine();
        std::vector<double> steps;
        const measurements measured =
            measure(machine, brief, [&](const std::string&, double done) { steps.push_back(done); });
        REQUIRE(measured.cpus.size() == machine.allowed_cpus.size());
        for (const cpu_measurement& cpu : measured.cpus) {
            CHECK(cpu.compute_per_second > 1e6);
            CHECK(cpu.cache_bytes_per_second > 1e6);
            CHECK(cpu.memory_bytes_per_second > 1e6);
            CHECK(cpu.noise_largest_gap_seconds >= cpu.noise_p99_gap_seconds);
            CHECK(cpu.noise_p99_gap_seconds > 0);
        }
        CHECK(measured.triad.front().members == 1);
        CHECK(measured.triad.back().bytes_per_second > 1e6);
        // Read with pauses is what the first core's reads showed to be held behind its L2 cache, if anything.
        const cpu_record& first = *machine.find_cpu(select_cpus(machine, "cores").front());
        const std::int64_t l2_holds_none = 4 * first.l2_bytes.value_or(512 * 1024) / 8192 * 8192;
        std::vector<std::pair<std::int64_t, double>> curve;
        std::vector<std::int64_t> paused;
        for (const read_point& point : measured.reads) {
            CHECK(point.bytes_per_second > 1e6);
            if (point.pause_seconds > 0) paused.push_back(point.bytes);
            if (point.pause_seconds > 0 || point.members > 1 || point.kind != first.kind) continue;
            if (point.rows_at_once > 1) curve.emplace_back(point.bytes, point.bytes_per_second);
        }
        const auto held = largest_held(curve, l2_holds_none);
        const bool is_worth_it = held && *held > l2_holds_none && *held < std::ranges::max(curve).first;
        CHECK(paused == std::vector<std::int64_t>(is_worth_it ? 4 : 0, held.value_or(0)));
        REQUIRE(measured.streams.size() == 11);  // 1, and twice 2 to 32
        CHECK(measured.streams.front().spacing_bytes == 0);
        for (const stream_point& point : measured.streams) {
            CHECK(point.bytes_per_second > 1e6);
            const auto spacing = static_cast<std::uint64_t>(point.spacing_bytes);
            CHECK((point.streams == 1 || std::has_single_bit(spacing) ||
                   std::has_single_bit(spacing - 17 * 64)));
        }
        CHECK(measured.latency_seconds.size() == measured.cpus.size());
        CHECK_FALSE(measured.latency_seconds[0][0].has_value());
        CHECK(std::is_sorted(steps.begin(), steps.end()));
        CHECK(steps.back() == 1.0);
        if (select_cpus(machine, "cores").size() > 1) {
            CHECK(measured.latency_seconds[0][1] == measured.latency_seconds[1][0]);
            CHECK(measured.round_trip_seconds.value() > 1e-8);
            CHECK(measured.barrier_seconds.value() > 1e-9);
            CHECK(measured.tautochrone_fork_join.hot.value() > 1e-9);
            CHECK(measured.tautochrone_fork_join.cold.has_value());
            REQUIRE(measured.futex_wake.has_value());
            CHECK(measured.futex_wake->wakee_seconds > 0);
            REQUIRE_FALSE(measured.moves.empty());
            CHECK(measured.moves.size() % 6 == 0);  // both ways, of three sizes
            for (const move_point& move : measured.moves) {
                CHECK(move.from != move.to);
                CHECK((move.seconds >= 0 && move.seconds < 1));
            }
        }
    }

    // A member that another program keeps from its CPU at the edge of a pass made the others seem up to five
    // times faster than any core is. What a core reads alone is read before the others come: beside them it
    // is away for a part of every pass, where passes are as long as under ThreadSanitizer.
    TEST_CASE("cores together read no faster than each alone, whoever else wants them") {
        const machine_record machine = read_machine();
        const std::vector<int> cores = select_cpus(machine, "cores");
        effort longer = brief;
        longer.read_seconds = tauto::testing::sanitized ? 0.1 : 0.5;
        const std::int64_t bytes = brief.most_array_bytes / (tauto::testing::sanitized ? 4 : 1);
        const auto read = [&] { return measure_reads(machine, cores, longer, bytes, [](std::int64_t) {}); };
        double alone = 0;
        for (const read_point& point : read())
            if (point.members == 1) alone = std::max(alone, point.bytes_per_second);
        std::vector<std::jthread> others;
        for (std::size_t i = 0; i < 2 * machine.allowed_cpus.size(); ++i)
            others.emplace_back([](const std::stop_token& end) {
                while (!end.stop_requested()) {
                }
            });
        for (const read_point& point : read()) CHECK(point.bytes_per_second < 2 * point.members * alone);
    }

    TEST_CASE("on one CPU what needs two is absent with a reason") {
        machine_record machine = read_machine();
        machine.allowed_cpus.resize(1);
        const measurements measured = measure(machine, brief, [](const std::string&, double) {});
        CHECK_FALSE(measured.round_trip_seconds.has_value());
        CHECK_FALSE(measured.barrier_seconds.has_value());
        CHECK_FALSE(measured.futex_wake.has_value());
        CHECK(measured.moves.empty());
        REQUIRE(measured.notes.size() == 1);
        CHECK(measured.notes[0].find("need two cores") != std::string::npos);
        CHECK(measured.triad.size() == 1);
    }
}
