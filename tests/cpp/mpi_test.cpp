// mpi.hpp on real processes: every rank runs every case; started by a launcher, see mpi.cmake.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <mpi.h>

#include <tauto/member.hpp>
#include <tauto/mpi.hpp>
#include <tauto/tauto.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "refusals.hpp"

namespace {

using tauto::detail::at;
using tauto::detail::usize;

static_assert(tauto::spmd_member<tauto::mpi_member>);
static_assert(tauto::spmd_member<tauto::hybrid_member>);

// Numbers whose sum depends on the order in which they are added.
double number(int rank, std::size_t i) {
    return 1.0 / (1.0 + 7.0 * rank + static_cast<double>(i % 1013));
}

std::vector<double> numbers(int rank, std::size_t count) {
    std::vector<double> found(count);
    for (std::size_t i = 0; i < count; ++i) found[i] = number(rank, i);
    return found;
}

// The fold of ranks first to last - 1, in their order.
double folded(int first, int last, std::size_t i) {
    double sum = number(first, i);
    for (int rank = first + 1; rank < last; ++rank) sum += number(rank, i);
    return sum;
}

std::size_t wrong_bits(std::span<const double> found, const std::function<double(std::size_t)>& expected) {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double right = expected(i);
        wrong += std::memcmp(&found[i], &right, sizeof right) == 0 ? 0U : 1U;
    }
    return wrong;
}

// x -> a x + b: composing them is associative and does not commute.
struct affine {
    double a;
    double b;
    friend affine operator*(const affine& first, const affine& then) {
        return {first.a * then.a, first.b * then.a + then.b};
    }
};

std::string message_of(const std::function<void()>& action) {
    return tauto::testing::message_of<tauto::error>(action);
}

std::string on_rank(const tauto::mpi_member& me, const char* operation) {
    return std::string{operation} + " on rank " + std::to_string(me.rank());
}

template <class Body>
void with_threads(int count, Body&& body) {
    tauto::mpi_member processes;
    tauto::team team{{.size = count, .pin = false}};
    tauto::run_hybrid(team, processes, [&](tauto::hybrid_member& me) { body(me, processes); });
}

// Ranks inside a process first, then the processes: the order that hybrid_member promises.
double folded_in_two_levels(int processes, int threads, std::size_t i) {
    double sum = folded(0, threads, i);
    for (int q = 1; q < processes; ++q) sum += folded(q * threads, (q + 1) * threads, i);
    return sum;
}

}  // namespace

TEST_CASE("reductions_have_the_bits_of_a_fold_in_rank_order_at_every_length") {
    tauto::mpi_member me;
    for (const std::size_t length : {0U, 1U, 7U, 2047U, 4099U, 20011U}) {
        std::vector<double> data = numbers(me.rank(), length);
        me.all_reduce(std::span<double>{data}, std::plus<>{});
        CHECK(wrong_bits(data, [&](std::size_t i) { return folded(0, me.size(), i); }) == 0);
    }
    CHECK(me.all_reduce(number(me.rank(), 5), std::plus<>{}) == folded(0, me.size(), 5));
    CHECK(me.all_reduce(me.rank(), [](int a, int b) { return std::max(a, b); }) == me.size() - 1);
}

TEST_CASE("operations_that_do_not_commute_are_folded_in_rank_order") {
    tauto::mpi_member me;
    const auto of = [](int rank) { return affine{2.0 + rank, 1.0 - rank}; };
    affine expected = of(0);
    affine up_to_me = of(0);
    for (int rank = 1; rank < me.size(); ++rank) {
        expected = expected * of(rank);
        if (rank <= me.rank()) up_to_me = up_to_me * of(rank);
    }
    const affine all = me.all_reduce(of(me.rank()), std::multiplies<>{});
    const affine some = me.scan(of(me.rank()), std::multiplies<>{});
    CHECK(all.a == expected.a);
    CHECK(all.b == expected.b);
    CHECK(some.a == up_to_me.a);
    CHECK(some.b == up_to_me.b);
}

TEST_CASE("all_gather_lays_parts_in_rank_order_in_place_and_out_of_place") {
    tauto::mpi_member me;
    for (const std::size_t length : {0U, 1U, 5000U}) {
        const std::vector<double> part = numbers(me.rank(), length);
        std::vector<double> whole(length * usize(me.size()), -1.0);
        me.all_gather(std::span<const double>{part}, std::span<double>{whole});
        const auto expected = [&](std::size_t i) { return number(static_cast<int>(i / length), i % length); };
        CHECK(wrong_bits(whole, expected) == 0);
        std::vector<double> again(whole.size(), -1.0);
        const auto place = std::span<double>{again}.subspan(length * usize(me.rank()), length);
        std::ranges::copy(part, place.begin());
        me.all_gather(std::span<const double>{place}, std::span<double>{again});
        CHECK(again == whole);
    }
}

TEST_CASE("all_gather_with_bounds_takes_parts_of_any_length") {
    tauto::mpi_member me;
    std::vector<tauto::index> bounds{2};  // rank r has 3 r elements: the first has none
    for (int rank = 0; rank < me.size(); ++rank) bounds.push_back(bounds.back() + 3 * rank);
    const auto length = usize(3 * me.rank());
    const std::vector<double> part = numbers(me.rank(), length);
    std::vector<double> whole(usize(bounds.back()) + 1, -1.0);
    me.all_gather(std::span<const double>{part}, std::span<double>{whole},
                  std::span<const tauto::index>{bounds});
    CHECK(whole.front() == -1.0);
    CHECK(whole.back() == -1.0);
    for (int rank = 0; rank < me.size(); ++rank)
        for (std::size_t i = 0; i < usize(3 * rank); ++i)
            CHECK(whole[usize(at(bounds, rank)) + i] == number(rank, i));
}

TEST_CASE("reduce_scatter_gives_each_rank_its_equal_share") {
    tauto::mpi_member me;
    for (const std::size_t length : {0U, 5U, 4099U}) {
        const std::vector<double> whole = numbers(me.rank(), length);
        const tauto::range share =
            tauto::equal_share(static_cast<tauto::index>(length), me.size(), me.rank());
        std::vector<double> part(usize(share.size()), -1.0);
        me.reduce_scatter(std::span<const double>{whole}, std::span<double>{part}, std::plus<>{});
        CHECK(wrong_bits(part, [&](std::size_t i) { return folded(0, me.size(), usize(share.begin) + i); }) ==
              0);
    }
}

TEST_CASE("broadcast_copies_from_every_root") {
    tauto::mpi_member me;
    for (int root = 0; root < me.size(); ++root) {
        std::vector<double> data = numbers(me.rank(), 1000);
        me.broadcast(std::span<double>{data}, root);
        CHECK(data == numbers(root, 1000));
    }
}

TEST_CASE("barriers_in_one_and_in_two_phases_let_all_pass") {
    tauto::mpi_member me;
    for (int i = 0; i < 3; ++i) {
        me.barrier();
        auto entered = me.arrive();
        me.wait(std::move(entered));
    }
}

TEST_CASE("wrong_lengths_are_refused_with_operation_rank_length_and_expected_length") {
    tauto::mpi_member me;
    std::vector<double> part(3), whole(4);
    const std::span<const double> mine{part};
    const std::span<double> all{whole};
    const std::string gathered = message_of([&] { me.all_gather(mine, all); });
    CHECK(gathered.starts_with(on_rank(me, "all_gather")));
    CHECK(gathered.find('4') != std::string::npos);
    CHECK(gathered.find(std::to_string(3 * me.size())) != std::string::npos);
    const std::vector<tauto::index> falling(usize(me.size()) + 1, 9);
    CHECK(message_of([&] {
              me.all_gather(mine, all, std::span<const tauto::index>{falling});
          }).starts_with(on_rank(me, "all_gather")));
    CHECK(message_of([&] {
              me.reduce_scatter(std::span<const double>{whole}, std::span<double>{part}.first(0),
                                std::plus<>{});
          }).starts_with(on_rank(me, "reduce_scatter")));
    CHECK(message_of([&] { me.broadcast(all, me.size()); }).starts_with(on_rank(me, "broadcast")));
    me.barrier();  // nobody has begun anything
}

TEST_CASE("hybrid_members_count_through_and_agree") {
    for (const int threads : {1, 2}) {
        with_threads(threads, [&](tauto::hybrid_member& me, tauto::mpi_member& processes) {
            const int members = processes.size() * threads;
            CHECK(me.size() == members);
            CHECK(me.rank() / threads == processes.rank());
            for (const std::size_t length : {1U, 3000U, 20011U}) {
                std::vector<double> data = numbers(me.rank(), length);
                me.all_reduce(std::span<double>{data}, std::plus<>{});
                CHECK(wrong_bits(data, [&](std::size_t i) {
                          return folded_in_two_levels(processes.size(), threads, i);
                      }) == 0);
            }
            CHECK(me.all_reduce(1, std::plus<>{}) == members);
            CHECK(me.scan(me.rank(), std::plus<>{}) == me.rank() * (me.rank() + 1) / 2);
            me.barrier();
            auto entered = me.arrive();
            me.wait(std::move(entered));
        });
    }
}

TEST_CASE("hybrid_members_gather_scatter_and_broadcast") {
    with_threads(2, [&](tauto::hybrid_member& me, tauto::mpi_member&) {
        const auto members = usize(me.size());
        const std::vector<double> part = numbers(me.rank(), 11);
        std::vector<double> whole(11 * members, -1.0);
        me.all_gather(std::span<const double>{part}, std::span<double>{whole});
        CHECK(wrong_bits(whole, [](std::size_t i) { return number(static_cast<int>(i / 11), i % 11); }) == 0);
        const std::vector<double> mine = numbers(0, 103);  // the same on all: a sum without an order
        const tauto::range share = tauto::equal_share(103, me.size(), me.rank());
        std::vector<double> sums(usize(share.size()), -1.0);
        me.reduce_scatter(std::span<const double>{mine}, std::span<double>{sums},
                          [](double a, double b) { return std::max(a, b); });
        CHECK(wrong_bits(sums, [&](std::size_t i) { return number(0, usize(share.begin) + i); }) == 0);
        for (int root = 0; root < me.size(); ++root) {
            std::vector<double> data = numbers(me.rank(), 300);
            me.broadcast(std::span<double>{data}, root);
            CHECK(data == numbers(root, 300));
        }
    });
}

// Last: MPI's state is not to be used after an error.
TEST_CASE("members_that_disagree_on_a_length_are_told_so") {
    tauto::mpi_member me;
    if (me.size() != 2) return;
    std::vector<double> data(me.rank() == 0 ? 5 : 6);
    const std::string said = message_of([&] { me.all_reduce(std::span<double>{data}, std::plus<>{}); });
    CHECK(said.starts_with(on_rank(me, "all_reduce")));
}

int main(int argc, char** argv) {
    return tauto::run_mpi(argc, argv, [&](tauto::mpi_member& me) {
        if (argc > 1 && std::string_view{argv[1]} == "--throw") {
            if (me.rank() == me.size() - 1) throw std::runtime_error("the last rank gives up");
            me.barrier();
        }
        doctest::Context context{argc, argv};
        // One summary is enough; a failure is printed by the rank that sees it.
        if (me.rank() != 0) context.setOption("minimal", true);
        return context.run();
    });
}
