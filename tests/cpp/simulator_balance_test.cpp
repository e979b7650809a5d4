// `tauto balance` in virtual time.

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "balance.hpp"
#include "refusals.hpp"
#include "rows.hpp"
#include "simulated_machines.hpp"

using namespace tauto::sim;
using tauto::testing::cores_json;
using tauto::testing::kind_json;
using tauto::testing::machine_json;
using tauto::testing::mentions;
using tauto::testing::message_of;

namespace {

double over_bound(const machine& on, const balance_request& asked) {
    const balance_result found = simulate_balance(on, asked);
    return static_cast<double>(found.region) / found.bound;
}

machine two_kinds(int fast, int slow, double factor) {
    json made = machine_json();
    made["kind"] = {kind_json("P", fast, 4e9, 0.25), kind_json("E", slow, 4e9 / factor, 0.25)};
    return read_machine(made);
}

}  // namespace

TEST_CASE("pinned threads of equal shares end with the slowest core") {
    const balance_result found = simulate_balance(two_kinds(4, 4, 2), {.policy = "pinned"});
    CHECK(found.region == 100'000'000);  // 50 ms of work at half the speed
    CHECK(found.bound == doctest::Approx(50e6 * 8 / 6));
    CHECK(found.moves == 0);
    CHECK(found.waiting_share == doctest::Approx(0.25));  // the fast half waits half of the time
}

TEST_CASE("by the rule, regions of 50 ms end within 5 % of the bound") {
    for (const double factor : {1.5, 2.0, 4.0, 8.0}) {
        CAPTURE(factor);
        for (const auto& cores : {std::pair{8, 16}, {1, 1}, {4, 4}, {2, 6}}) {
            CAPTURE(cores.first);
            CHECK(over_bound(two_kinds(cores.first, cores.second, factor), {}) < 1.05);
        }
    }
}

TEST_CASE("Linux pulls a thread to an idle faster core, and ends between pinned and balanced") {
    const machine on = two_kinds(4, 4, 4);
    const double pinned = over_bound(on, {.policy = "pinned"});
    const double pulled = over_bound(on, {.policy = "linux"});
    CHECK(pulled < 0.9 * pinned);
    CHECK(over_bound(on, {}) < 0.9 * pulled);
}

TEST_CASE("equal cores leave nothing to win, and nobody moves") {
    const machine on = read_machine(cores_json(8, 3e9, 0.25));
    for (const std::string& policy : balance_policies()) {
        const balance_result found = simulate_balance(on, {.policy = policy});
        CHECK(static_cast<double>(found.region) == doctest::Approx(found.bound));
        CHECK(found.moves == 0);
    }
    CHECK(over_bound(on, {.policy = "pinned", .noisy_cores = 2}) == doctest::Approx(2.0 * 7 / 8));
    CHECK(over_bound(on, {.noisy_cores = 2}) < 1.1);
}

TEST_CASE("more threads than cores, and fewer, are balanced too") {
    const machine on = two_kinds(2, 2, 4);
    CHECK(over_bound(on, {.threads = 16}) < 1.1);
    CHECK(over_bound(on, {.threads = 2}) == doctest::Approx(1.0));  // the two fast cores
    CHECK(over_bound(on, {.threads = 3}) < 1.2);
}

TEST_CASE("a move costs what it is said to cost") {
    const machine on = two_kinds(1, 1, 4);
    CHECK(over_bound(on, {.move_seconds = 0}) < over_bound(on, {.move_seconds = 1e-3}));
}

TEST_CASE("a row takes the cost of a move from its machine, with what a cache loses") {
    const auto seconds = [](double move, double again) {
        json source = machine_json();
        source["costs"]["move_seconds"] = move;
        source["system"]["migration_cost_seconds"] = again;
        return simulate(read_machine(source), {{"study", "balance"}})["seconds"].get<double>();
    };
    const double cheap = seconds(0, 0);
    CHECK(seconds(1e-3, 0) > cheap);
    CHECK(seconds(5e-4, 5e-4) == doctest::Approx(seconds(1e-3, 0)));
}

TEST_CASE("requests that cannot be are refused") {
    const machine on = read_machine(machine_json());
    const auto refusal = [&](const json& request) {
        return message_of<input_error>([&] { simulate(on, request); });
    };
    CHECK(mentions(refusal({{"study", "balance"}, {"policy", "best"}}), "pinned, linux, balanced"));
    CHECK(mentions(refusal({{"study", "balance"}, {"region_seconds", 0}}), "region_seconds"));
    CHECK(mentions(refusal({{"study", "balance"}, {"noisy_cores", 99}}), "99 of 8"));
    CHECK(mentions(refusal({{"study", "balance"}, {"regions", 1}}), "regions"));
}
