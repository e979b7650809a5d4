// The loop runners' check of the answer, and of the memory.

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/matvec.hpp"
#include "runners/loop/check.hpp"
#include "runners/loop/request.hpp"
#include "runners/loop/waiting.hpp"
#include "tests/cpp/runner_testing.hpp"
#include "tests/cpp/solved.hpp"

namespace {

using namespace tauto::runner;

loop_request asking_for(std::int64_t size) {
    auto asked = asking<loop_request>({0}, 1);
    asked.size = size;
    return asked;
}

}  // namespace

TEST_CASE("too_large_a_system_is_refused_with_what_is_asked_and_what_is_there") {
    const std::string message = message_of([] { require_memory_for(1e9); });
    CHECK(message.find("takes 4 EB of memory") != std::string::npos);
    CHECK(message.find("use --size up to about") != std::string::npos);
    CHECK(message_of([] { require_memory_for(100.0); }).empty());
}

TEST_CASE("right_and_wrong_answers_are_told_apart") {
    const tauto::toeplitz_system system{200};
    const auto product = [&](const tauto::aligned_floats& x, tauto::aligned_floats& y) {
        tauto::matvec_rows(system.a, x, y, 0, 200);
    };
    const auto wrong_product = [&](const tauto::aligned_floats& x, tauto::aligned_floats& y) {
        tauto::matvec_rows(system.a, x, y, 0, 199);
    };
    loop_request asked = asking_for(200);
    CHECK(check_answer(asked, system, tauto::testing::solved(system.b, product, limits_of(asked))).passed);
    CHECK_FALSE(check_answer(asked, system, tauto::testing::solved(system.b, wrong_product, limits_of(asked)))
                    .passed);
    asked.solution_iterations = 3;
    const auto early =
        check_answer(asked, system, tauto::testing::solved(system.b, product, limits_of(asked)));
    CHECK(early.iterations == 3);
    CHECK(early.passed);
    CHECK_FALSE(check_answer(asked, system, tauto::testing::solved(system.b, wrong_product, limits_of(asked)))
                    .passed);
}

TEST_CASE("an_answer_that_is_not_a_number_does_not_pass") {
    const tauto::toeplitz_system system{50};
    const auto product = [](const tauto::aligned_floats&, tauto::aligned_floats& y) {
        for (float& value : y.values()) value = std::numeric_limits<float>::quiet_NaN();
    };
    const loop_request asked = asking_for(50);
    CHECK_FALSE(
        check_answer(asked, system, tauto::testing::solved(system.b, product, limits_of(asked))).passed);
}

TEST_CASE("work_of_each_loop_is_what_was_added_since_the_last") {
    work_account account;
    waiting_account waiting;
    account.add(10, 300);
    waiting.add(1000, account);
    account.add(10, 500);
    account.add(5, 100);
    waiting.add(2000, account);
    const auto shown = waiting.shown();
    REQUIRE(shown.size() == 2);
    const auto worker = static_cast<std::size_t>(this_worker());
    CHECK(shown[0].working.at(worker) / shown[0].seconds == doctest::Approx(0.3));
    CHECK(shown[1].working.at(worker) / shown[1].seconds == doctest::Approx(0.3));
    CHECK(waiting.loops() == 2);
    CHECK(shown[1].seconds / shown[0].seconds == doctest::Approx(2));
}
