// Schedules hand out each index exactly once: exhaustively for small loops, in every order of asking that the
// drivers below can think of, and with real threads racing.

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <tauto/schedule.hpp>

#include "sanitized.hpp"

namespace tauto {
using detail::as_double;
using detail::at;
using detail::usize;
using testing::sanitized;

namespace {

const std::vector<schedule> every_schedule = {
    adaptive{}, static_{},  weighted{},   static_chunk{1}, static_chunk{3}, static_chunk{100},
    dynamic{1}, dynamic{2}, dynamic{100}, guided{1},       guided{4},
};

std::vector<std::vector<double>> speed_patterns(int members) {
    const auto size = usize(members);
    std::vector<double> equal(size, 1.0);
    std::vector<double> fast_first(size, 0.25);
    fast_first[0] = 1;
    std::vector<double> slow_first(size, 4.0);
    slow_first[0] = 0.5;
    std::vector<double> steep(size);
    for (std::size_t rank = 0; rank < size; ++rank) steep[rank] = 1e-3 + as_double(rank * rank);
    return {equal, fast_first, slow_first, steep};
}

// In what order the members ask: which rank asks next, given those that have not been told to stop.
using chooser = int (*)(const std::vector<int>& asking, std::mt19937& random, int step);

const std::vector<chooser> orders = {
    [](const std::vector<int>& asking, std::mt19937&, int step) {
        return asking[usize(step) % asking.size()];
    },
    [](const std::vector<int>& asking, std::mt19937&, int) { return asking.front(); },
    [](const std::vector<int>& asking, std::mt19937&, int) { return asking.back(); },
    [](const std::vector<int>& asking, std::mt19937& random, int) {
        return asking[random() % asking.size()];
    },
};

// Returns how often each index was handed out when members ask in the given order until all are told to stop.
std::vector<int> hand_out(worksharing& loop, int members, index n, chooser choose, std::mt19937& random) {
    std::vector<int> count(usize(n), 0);
    std::vector<int> asking;
    for (int rank = 0; rank < members; ++rank) asking.push_back(rank);
    for (int step = 0; !asking.empty(); ++step) {
        const int rank = choose(asking, random, step);
        const range chunk = loop.next(rank);
        if (chunk.empty()) {
            std::erase(asking, rank);
            continue;
        }
        REQUIRE(chunk.begin >= 0);
        REQUIRE(chunk.end <= n);
        for (index i = chunk.begin; i < chunk.end; ++i) ++at(count, i);
    }
    return count;
}

// The shares as the adaptive schedule asks for them.
auto by_rank(auto& shares) {
    return [&shares](int rank) -> auto& {
        return at(shares, rank);
    };
}

}  // namespace

TEST_CASE("every index is handed out exactly once for all n <= 64 and members <= 8") {
    std::mt19937 random(7);
    constexpr index step = sanitized ? 9 : 1;
    worksharing loop(8);
    for (const schedule& chosen : every_schedule) {
        for (int members = 1; members <= 8; ++members) {
            for (const auto& speeds : speed_patterns(members)) {
                for (index n = 0; n <= 64; n += n < 10 ? 1 : step) {
                    for (const chooser choose : orders) {
                        loop.reset(chosen, n, speeds);
                        const std::vector<int> count = hand_out(loop, members, n, choose, random);
                        INFO(name_of(chosen), " n=", n, " members=", members);
                        REQUIRE(count == std::vector<int>(usize(n), 1));
                    }
                }
            }
        }
    }
}

TEST_CASE("loops beyond 2^32 iterations are covered without a gap") {
    worksharing loop(3);
    const std::vector<double> speeds = {1.0, 0.3, 2.0};
    for (const index n : {(index{1} << 32) + 1, (index{1} << 33) - 3, (index{1} << 45) + 12345}) {
        for (const schedule& chosen :
             {schedule{adaptive{}}, schedule{static_{}}, schedule{weighted{}}, schedule{guided{1 << 20}}}) {
            loop.reset(chosen, n, speeds);
            std::vector<range> pieces;
            std::vector<int> asking = {0, 1, 2};
            for (std::size_t step = 0; !asking.empty(); ++step) {
                const int rank = asking[step % asking.size()];
                const range chunk = loop.next(rank);
                if (chunk.empty()) {
                    std::erase(asking, rank);
                } else {
                    pieces.push_back(chunk);
                }
            }
            std::sort(pieces.begin(), pieces.end(), [](range a, range b) { return a.begin < b.begin; });
            index reached = 0;
            for (const range& piece : pieces) {
                REQUIRE(piece.begin == reached);
                reached = piece.end;
            }
            CHECK(reached == n);
            CHECK(pieces.size() < 100'000);
        }
    }
}

TEST_CASE("a dynamic loop near the largest n does not overflow however often members ask") {
    worksharing loop(2);
    const std::vector<double> speeds = {1.0, 1.0};
    const index n = index{1} << 56;
    loop.reset(dynamic{n - 1}, n, speeds);
    CHECK(loop.next(0) == range{0, n - 1});
    CHECK(loop.next(1) == range{n - 1, n});
    for (int again = 0; again < 1000; ++again) CHECK(loop.next(again % 2).empty());
}

TEST_CASE("all members of the largest team may ask for the largest chunk at once") {
    constexpr index n = index{1} << 56;
    constexpr int members = 4096;
    worksharing loop(members);
    loop.reset(dynamic{n}, n, std::vector<double>(members, 1.0));
    CHECK(loop.next(0).size() <= (std::numeric_limits<index>::max() - n) / members);
}

TEST_CASE("equal shares differ by at most one and keep the order of the ranks") {
    for (index n = 0; n <= 40; ++n) {
        for (int members = 1; members <= 8; ++members) {
            index reached = 0;
            for (int rank = 0; rank < members; ++rank) {
                const range share = equal_share(n, members, rank);
                CHECK(share.begin == reached);
                CHECK(share.size() >= n / members);
                CHECK(share.size() <= n / members + 1);
                reached = share.end;
            }
            CHECK(reached == n);
        }
    }
}

TEST_CASE("weighted shares follow the speeds within one rounding step") {
    const std::vector<double> speeds = {4.0, 1.0, 2.0, 1.0};
    std::vector<index> bounds(5);
    weighted_bounds(80'000, {speeds}, bounds);
    CHECK(std::abs(bounds[1] - 40'000) <= 16);
    CHECK(std::abs(bounds[2] - 50'000) <= 16);
    CHECK(std::abs(bounds[3] - 70'000) <= 16);
    CHECK(bounds[4] == 80'000);
    SUBCASE("inner bounds of long shares fall on cache lines of floats") {
        for (std::size_t i = 1; i < 4; ++i) CHECK(bounds[i] % 16 == 0);
    }
}

TEST_CASE("dynamic and static_chunk hand out the chunk that was asked for") {
    worksharing loop(2);
    const std::vector<double> speeds = {1.0, 1.0};
    loop.reset(dynamic{8}, 20, speeds);
    CHECK(loop.next(1) == range{0, 8});
    CHECK(loop.next(0) == range{8, 16});
    CHECK(loop.next(1) == range{16, 20});
    loop.reset(static_chunk{5}, 20, speeds);
    CHECK(loop.next(1) == range{5, 10});
    CHECK(loop.next(0) == range{0, 5});
    CHECK(loop.next(0) == range{10, 15});
    CHECK(loop.next(1) == range{15, 20});
}

TEST_CASE("guided chunks shrink and never fall below the least chunk before the end") {
    worksharing loop(4);
    const std::vector<double> speeds(4, 1.0);
    loop.reset(guided{10}, 10'000, speeds);
    index last = 10'000;
    index sum = 0;
    for (range chunk = loop.next(0); !chunk.empty(); chunk = loop.next(0)) {
        CHECK(chunk.size() <= last);
        CHECK((chunk.size() >= 10 || chunk.end == 10'000));
        last = chunk.size();
        sum += chunk.size();
    }
    CHECK(sum == 10'000);
}

TEST_CASE("adaptive: an idle fast member takes from the share that would finish last, in proportion") {
    // Rank 2 is fast and has an empty share; rank 1 is slow and has the most time left.
    std::array<std::atomic<std::uint64_t>, 3> shares{};
    const std::array<double, 3> speeds = {1.0, 0.25, 1.0};
    shares[0] = detail::pack_share(0, 100);
    shares[1] = detail::pack_share(100, 200);
    shares[2] = detail::pack_share(200, 200);
    adaptive_plan plan{
        .n = 200, .unit_shift = 0, .members = 3, .grain = 4, .divisor = 2, .speeds = speeds.data()};
    const auto share_of = by_rank(shares);
    CHECK(last_to_finish(plan, share_of, 2) == 1);
    int steals = 0;
    const range chunk = adaptive_next(plan, share_of, 2, steals);
    CHECK(steals == 1);
    // 100 units shared 1 : 0.25 leave 20 for the slow one.
    CHECK(detail::share_end(shares[1]) == 120);
    CHECK(chunk.begin == 120);
    CHECK(chunk.size() == 40);
    CHECK(detail::share_end(shares[2]) == 200);
}

TEST_CASE("adaptive: a thief does not leave a rest that is worth less than a steal") {
    std::array<std::atomic<std::uint64_t>, 2> shares{};
    const std::array<double, 2> speeds = {1.0, 1.0};
    shares[0] = detail::pack_share(0, 9);
    adaptive_plan plan{
        .n = 9, .unit_shift = 0, .members = 2, .grain = 8, .divisor = 2, .speeds = speeds.data()};
    const auto share_of = by_rank(shares);
    int steals = 0;
    CHECK(adaptive_next(plan, share_of, 1, steals) == range{0, 9});
    CHECK(detail::share_size(shares[0]) == 0);
}

TEST_CASE("an adaptive loop with known speeds ends within a grain of the ideal in virtual time") {
    // Four members in virtual time, one iteration costs 1/speed; claims are free.
    const std::vector<double> speeds = {1.0, 1.0, 0.25, 0.125};
    const double total = 2.375;
    const index n = 100'000;
    for (const bool speeds_known : {true, false}) {
        worksharing loop(4);
        loop.reset(adaptive{}, n, speeds_known ? speeds : std::vector<double>(4, 1.0));
        std::vector<double> clock(4, 0.0);
        std::vector<bool> done(4, false);
        while (std::count(done.begin(), done.end(), true) < 4) {
            std::size_t next = 4;
            for (std::size_t rank = 0; rank < 4; ++rank) {
                if (!done[rank] && (next == 4 || clock[rank] < clock[next])) next = rank;
            }
            const range chunk = loop.next(static_cast<int>(next));
            if (chunk.empty()) {
                done[next] = true;
            } else {
                clock[next] += as_double(chunk.size()) / speeds[next];
            }
        }
        const double end = *std::max_element(clock.begin(), clock.end());
        const double ideal = as_double(n) / total;
        CHECK(end >= ideal * 0.999);
        // Unknown speeds: the slowest is eight times slower than assumed and sits on a quarter of its share.
        CHECK(end <= ideal * (speeds_known ? 1.001 : 1.5));
    }
}

TEST_CASE("racing members and thieves never hand out an index twice or lose one") {
    constexpr int members = 4;
    worksharing loop(members);
    std::mt19937 random(11);
    for (int round = 0; round < 400; ++round) {
        const auto n = static_cast<index>(random() % 3000);
        const auto patterns = speed_patterns(members);
        const auto& speeds = patterns[usize(round) % patterns.size()];
        const schedule& chosen =
            every_schedule[usize(round) % 2 == 0 ? 0 : usize(round / 2) % every_schedule.size()];
        loop.reset(chosen, n, speeds);
        std::vector<std::atomic<int>> count(usize(n));
        std::atomic<int> ready{0};
        std::vector<std::thread> threads;
        for (int rank = 0; rank < members; ++rank) {
            threads.emplace_back([&, rank] {
                ready.fetch_add(1);
                while (ready.load() < members) std::this_thread::yield();
                for (range chunk = loop.next(rank); !chunk.empty(); chunk = loop.next(rank)) {
                    for (index i = chunk.begin; i < chunk.end; ++i) {
                        at(count, i).fetch_add(1, std::memory_order_relaxed);
                    }
                }
            });
        }
        for (std::thread& thread : threads) thread.join();
        for (index i = 0; i < n; ++i) REQUIRE(at(count, i).load() == 1);
    }
}

namespace {

// An adaptive loop in virtual time with members that may leave early; begins[rank] is when a member starts.
// Each iteration is handed out once: checked here. What is left when all have come to their end is run by
// member 0. Returns the time of the end.
struct virtual_loop {
    std::vector<double> speeds;
    std::vector<double> margins;
    std::vector<double> begins;
    std::uint32_t grain = 1;
    index swept = 0;

    double run(index n) {
        const auto members = static_cast<int>(speeds.size());
        std::vector<std::atomic<std::uint64_t>> shares(speeds.size());
        std::vector<index> bounds(speeds.size() + 1);
        weighted_bounds(n, {speeds}, bounds);
        for (std::size_t rank = 0; rank < speeds.size(); ++rank)
            shares[rank] = detail::pack_share(static_cast<std::uint32_t>(bounds[rank]),
                                              static_cast<std::uint32_t>(bounds[rank + 1]));
        const adaptive_plan plan{.n = n,
                                 .unit_shift = 0,
                                 .members = members,
                                 .grain = grain,
                                 .divisor = 2,
                                 .speeds = speeds.data(),
                                 .margins = margins.data()};
        const auto share_of = by_rank(shares);
        std::vector<int> count(usize(n), 0);
        const auto mark = [&](range chunk) {
            for (index i = chunk.begin; i < chunk.end; ++i) ++at(count, i);
        };
        std::vector<double> clock = begins;
        std::vector<bool> done(speeds.size(), false);
        int steals = 0;
        for (;;) {
            std::size_t next = speeds.size();
            for (std::size_t rank = 0; rank < speeds.size(); ++rank)
                if (!done[rank] && (next == speeds.size() || clock[rank] < clock[next])) next = rank;
            if (next == speeds.size()) break;
            const range chunk = leaves_early(plan, share_of, static_cast<int>(next))
                                    ? range{}
                                    : adaptive_next(plan, share_of, static_cast<int>(next), steals);
            done[next] = chunk.empty();
            clock[next] += as_double(chunk.size()) / speeds[next];
            mark(chunk);
        }
        double end = 0;
        for (std::size_t rank = 0; rank < speeds.size(); ++rank)
            if (clock[rank] > begins[rank]) end = std::max(end, clock[rank]);
        swept = 0;
        for (const auto& share : shares) {
            const range rest = plan.iterations(detail::share_begin(share), detail::share_end(share));
            swept += rest.size();
            mark(rest);
        }
        for (const int times : count) REQUIRE(times == 1);
        return end + as_double(swept) / speeds[0];
    }
};

}  // namespace

TEST_CASE("a slow member leaves a long iteration to a fast one that would end it sooner") {
    // 50 iterations, the second member four times slower and late by up to the length of one of its own.
    for (double late = 0; late <= 4; late += 0.125) {
        virtual_loop loop{.speeds = {1.0, 0.25}, .margins = {0, 0}, .begins = {0, late}};
        const double end = loop.run(50);
        double best = 1e9;
        for (int slow = 0; slow <= 50; ++slow)
            best = std::min(best, std::max(50.0 - slow, slow > 0 ? late + 4.0 * slow : 0.0));
        CAPTURE(late);
        // Within one iteration of the fast member of the best that any split of whole iterations takes.
        CHECK(end <= best + 1.0);
        CHECK(loop.swept == 0);
    }
}

TEST_CASE("a member with a margin stops that long before the end and the others take what it leaves") {
    virtual_loop loop{.speeds = {1.0, 0.125}, .margins = {0, 60}, .begins = {0, 0}};
    const double without = 9000 / 1.125;
    const double end = loop.run(9000);
    CHECK(end >= without);
    // The slow one's part of 60 to 130 units of time is done by the fast one.
    CHECK(end <= without + 130 * 0.125 / 1.125 + 2);
    CHECK(loop.swept == 0);
}

TEST_CASE("members that leave early lose nothing: every index still runs once") {
    std::mt19937 random(5);
    index swept = 0;
    for (int round = 0; round < (sanitized ? 2000 : 20'000); ++round) {
        const auto members = 1 + random() % 4;
        virtual_loop loop;
        for (std::size_t rank = 0; rank < members; ++rank) {
            loop.speeds.push_back(1.0 / as_double(1 + random() % 8));
            loop.margins.push_back(random() % 2 == 0 ? 0.0 : as_double(random() % 100));
            loop.begins.push_back(as_double(random() % 16));
        }
        loop.grain = 1 + random() % 4;
        loop.run(static_cast<index>(random() % 100));
        swept += loop.swept;
    }
    CHECK(swept > 0);  // so the last part of run_what_was_left's duty was seen here
}

TEST_CASE("members of equal speed and no margin never leave early and never turn a steal down") {
    for (const index n : {1, 2, 7, 50, 1000}) {
        virtual_loop loop{.speeds = {1, 1, 1, 1}, .margins = {0, 0, 0, 0}, .begins = {0, 3, 5, 40}};
        const double end = loop.run(n);
        CHECK(loop.swept == 0);
        if (n == 1000) CHECK(end <= 1048.0 / 4 + 2);
    }
}

}  // namespace tauto
