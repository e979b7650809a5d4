// The numeric work: right, and with bits that do not depend on who computed which rows together.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "kernels/conjugate_gradient.hpp"
#include "kernels/fnv1a.hpp"
#include "kernels/matvec.hpp"
#include "kernels/toeplitz.hpp"
#include "tests/cpp/solved.hpp"

namespace {

using tauto::aligned_floats;
using tauto::dense_matrix;

// Around every multiple of a register, of the four registers of a pass, and the smallest size of the study.
constexpr std::array<std::size_t, 17> orders{1,  2,  3,  4,  5,   15,  16,  17, 31,
                                             48, 63, 64, 65, 112, 127, 129, 500};

struct product_case {
    dense_matrix a;
    aligned_floats x;

    explicit product_case(std::size_t n) : a{n}, x{n} {
        std::mt19937 engine{static_cast<unsigned>(n)};
        std::uniform_real_distribution<float> uniform{-1.0F, 1.0F};
        for (std::size_t i = 0; i < n; ++i) {
            x[i] = uniform(engine);
            for (std::size_t j = 0; j < n; ++j) a.row(i)[j] = uniform(engine);
        }
    }
};

std::vector<std::uint32_t> bits(const aligned_floats& y) {
    std::vector<std::uint32_t> result;
    for (const float value : y.values()) result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
}

// The product with all rows of a system that outlives it.
auto whole_product(const tauto::toeplitz_system& system) {
    return [&system](const aligned_floats& x, aligned_floats& y) {
        tauto::matvec_rows(system.a, x, y, 0, x.size());
    };
}

}  // namespace

TEST_CASE("matvec_agrees_with_double_precision_for_every_instruction_set") {
    for (const auto set : tauto::available_instruction_sets())
        for (const auto n : orders) {
            const product_case given{n};
            aligned_floats y{n};
            tauto::matvec_rows(given.a, given.x, y, 0, n, set);
            for (std::size_t i = 0; i < n; ++i) {
                double exact = 0.0;
                double magnitude = 0.0;
                for (std::size_t j = 0; j < n; ++j) {
                    const double term = double{given.a.row(i)[j]} * double{given.x[j]};
                    exact += term;
                    magnitude += std::fabs(term);
                }
                CAPTURE(n);
                CAPTURE(tauto::name_of(set));
                // n/64 + 6 roundings lie on the longest path of the summation tree; 2 for the products.
                const double roundings = static_cast<double>(n) / 64.0 + 8.0;
                REQUIRE(std::fabs(double{y[i]} - exact) <= roundings * 0x1p-23 * magnitude);
            }
        }
}

TEST_CASE("the_published_kernel_is_one_chain_of_additions") {
    for (const auto n : orders) {
        const product_case given{n};
        aligned_floats y{n};
        tauto::matvec_rows(given.a, given.x, y, 0, n, tauto::kernel::published);
        for (std::size_t i = 0; i < n; ++i) {
            volatile float sum = 0.0F;  // each addition is rounded, in this order
            for (std::size_t j = 0; j < n; ++j) {
                const volatile float product = given.a.row(i)[j] * given.x[j];
                sum = sum + product;
            }
            CAPTURE(n);
            REQUIRE(y[i] == sum);
        }
    }
}

TEST_CASE("bits_of_a_row_do_not_depend_on_the_rows_computed_with_it") {
    for (const auto set : tauto::available_instruction_sets())
        for (const auto n : orders) {
            const product_case given{n};
            aligned_floats whole{n};
            tauto::matvec_rows(given.a, given.x, whole, 0, n, set);
            for (const std::size_t group : {1U, 2U, 3U, 4U, 5U, 7U, 64U}) {
                aligned_floats grouped{n};
                for (std::size_t first = 0; first < n; first += group)
                    tauto::matvec_rows(given.a, given.x, grouped, first, std::min(n, first + group), set);
                CAPTURE(n);
                CAPTURE(group);
                REQUIRE(bits(grouped) == bits(whole));
            }
        }
}

TEST_CASE("avx2_and_avx512_give_the_same_bits") {
    const auto sets = tauto::available_instruction_sets();
    if (sets.back() != tauto::instruction_set::avx512) return;
    for (const auto n : orders) {
        const product_case given{n};
        aligned_floats wide{n};
        aligned_floats narrow{n};
        tauto::matvec_rows(given.a, given.x, wide, 0, n, tauto::instruction_set::avx512);
        tauto::matvec_rows(given.a, given.x, narrow, 0, n, tauto::instruction_set::avx2);
        REQUIRE(bits(wide) == bits(narrow));
    }
}

TEST_CASE("matvec_writes_only_the_rows_of_its_range") {
    const product_case given{65};
    for (std::size_t first = 0; first <= 65; ++first) {
        aligned_floats y{65};
        for (float& value : y.storage()) value = -7.0F;
        const std::size_t last = std::min<std::size_t>(65, first + 6);
        tauto::matvec_rows(given.a, given.x, y, first, last);
        const auto storage = y.storage();
        for (std::size_t i = 0; i < storage.size(); ++i)
            if (i < first || i >= last) REQUIRE(storage[i] == -7.0F);
    }
}

TEST_CASE("rows_and_vectors_start_on_a_cache_line_with_zeros_behind_them") {
    for (const auto n : orders) {
        dense_matrix a{n};
        CHECK(a.pitch() % 16 == 0);
        CHECK(a.pitch() - n < 16);
        CHECK(reinterpret_cast<std::uintptr_t>(a.row(n - 1)) % 64 == 0);
        const tauto::toeplitz_system system{n};
        for (std::size_t j = n; j < a.pitch(); ++j) {
            REQUIRE(system.a.row(n - 1)[j] == 0.0F);
            REQUIRE(system.b.data()[j] == 0.0F);
        }
    }
}

TEST_CASE("toeplitz_matrix_is_symmetric_with_the_stated_elements") {
    const tauto::toeplitz_system system{37};
    for (std::size_t i = 0; i < 37; ++i)
        for (std::size_t j = 0; j < 37; ++j) {
            const double distance = std::fabs(static_cast<double>(i) - static_cast<double>(j));
            REQUIRE(system.a.row(i)[j] == doctest::Approx(1.0 / ((1.0 + distance) * (1.0 + distance))));
            REQUIRE(system.a.row(i)[j] == system.a.row(j)[i]);
        }
}

TEST_CASE("toeplitz_system_of_some_rows_has_these_alone_until_it_is_filled") {
    const tauto::toeplitz_system whole{37};
    tauto::toeplitz_system part{37, 10, 20};
    for (std::size_t i = 0; i < 37; ++i) {
        const bool held = i >= 10 && i < 20;
        REQUIRE(part.b[i] == (held ? whole.b[i] : 0.0F));
        REQUIRE(part.a.row(i)[i] == (held ? 1.0F : 0.0F));
    }
    part.fill_rows(0, 37);
    for (std::size_t i = 0; i < 37; ++i)
        for (std::size_t j = 0; j < 37; ++j) REQUIRE(part.a.row(i)[j] == whole.a.row(i)[j]);
}

TEST_CASE("conjugate_gradient_finds_the_known_solution") {
    for (const auto n : orders) {
        const tauto::toeplitz_system system{n};
        const auto product = whole_product(system);
        const auto state = tauto::testing::solved(system.b, product);
        CAPTURE(n);
        CHECK(state.iterations() <= static_cast<std::int64_t>(std::min<std::size_t>(n + 1, 60)));
        // Without a limit of iterations, finished means that the residual is below the tolerance.
        CHECK(state.finished({.iterations = std::numeric_limits<std::int64_t>::max()}));
        CHECK(tauto::relative_residual(system, state.solution()) < 2e-5);
        CHECK(tauto::relative_error(system, state.solution()) <
              2e-5 * tauto::toeplitz_system::condition_bound());
    }
}

TEST_CASE("conjugate_gradient_converges_at_least_as_fast_as_its_bound") {
    // ||r_k|| / ||r_0|| <= 2 sqrt(c) ((sqrt(c) - 1) / (sqrt(c) + 1))^k for condition number c.
    constexpr std::size_t n = 500;
    const tauto::toeplitz_system system{n};
    const auto product = whole_product(system);
    const double root = std::sqrt(tauto::toeplitz_system::condition_bound());
    tauto::conjugate_gradient state{system.b};
    double bound = 2.0 * root;
    for (int k = 1; k <= 8; ++k) {
        state.iterate(product);
        bound *= (root - 1.0) / (root + 1.0);
        CAPTURE(k);
        CHECK(tauto::relative_residual(system, state.solution()) <= bound + 1e-6);
    }
}

TEST_CASE("conjugate_gradient_runs_exactly_the_iterations_asked_for") {
    constexpr std::size_t n = 200;
    const tauto::toeplitz_system system{n};
    std::int64_t products = 0;
    const auto product = [&](const aligned_floats& x, aligned_floats& y) {
        ++products;
        tauto::matvec_rows(system.a, x, y, 0, n);
    };
    const auto state = tauto::testing::solved(system.b, product, {.iterations = 3, .tolerance = 0.0});
    CHECK(state.iterations() == 3);
    CHECK(products == 3);
}

TEST_CASE("conjugate_gradient_never_yields_nan") {
    SUBCASE("when_it_is_asked_to_go_on_long_after_convergence") {
        for (const auto n : orders) {
            const tauto::toeplitz_system system{n};
            const auto product = whole_product(system);
            const auto state =
                tauto::testing::solved(system.b, product, {.iterations = 10'000, .tolerance = 0.0});
            CHECK(state.iterations() < 60);
            for (const float value : state.solution().values()) REQUIRE(std::isfinite(value));
        }
    }
    SUBCASE("when_the_right_hand_side_is_zero") {
        const aligned_floats zero{10};
        const auto never = [](const aligned_floats&, aligned_floats&) { FAIL("there is nothing to solve"); };
        const auto state = tauto::testing::solved(zero, never);
        CHECK(state.iterations() == 0);
        for (const float value : state.solution().values()) CHECK(value == 0.0F);
    }
}

TEST_CASE("a_wrong_solution_has_a_large_residual") {
    const tauto::toeplitz_system system{100};
    aligned_floats x{100};
    CHECK(tauto::relative_residual(system, x) == doctest::Approx(1.0));
    CHECK(tauto::relative_error(system, x) == doctest::Approx(1.0));
    x[3] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(tauto::relative_residual(system, x) < 1.0);
}

TEST_CASE("a_restarted_solve_repeats_its_bits") {
    const tauto::toeplitz_system system{333};
    const auto product = whole_product(system);
    tauto::conjugate_gradient state{system.b};
    for (int k = 0; k < 5; ++k) state.iterate(product);
    const auto first = tauto::fnv1a(state.solution().values());
    state.restart();
    for (int k = 0; k < 5; ++k) state.iterate(product);
    CHECK(tauto::fnv1a(state.solution().values()) == first);
}

TEST_CASE("fnv1a_gives_the_published_vectors") {
    // RFC 9923 (and before it the test suite of the authors): the empty string, "a", "foobar".
    CHECK(tauto::fnv1a("") == 0xcbf29ce484222325U);
    CHECK(tauto::fnv1a("a") == 0xaf63dc4c8601ec8cU);
    CHECK(tauto::fnv1a("foobar") == 0x85944171f73967e8U);
    CHECK(tauto::fnv1a("bar", tauto::fnv1a("foo")) == tauto::fnv1a("foobar"));
    CHECK(tauto::fnv1a_text(0x00000000000001b3U) == "00000000000001b3");
    static_assert(tauto::fnv1a("a") == 0xaf63dc4c8601ec8cU);
}

TEST_CASE("fnv1a_of_floats_sees_every_bit") {
    const std::array<float, 2> plus{0.0F, 1.0F};
    const std::array<float, 2> minus{-0.0F, 1.0F};
    CHECK(tauto::fnv1a(std::span<const float>{plus}) != tauto::fnv1a(std::span<const float>{minus}));
}
