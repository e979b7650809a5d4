// The contract of team::run and of the members' collectives, a test a sentence.

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "asleep.hpp"
#include "counted_allocations.hpp"
#include "sanitized.hpp"

namespace tauto {
namespace {

static_assert(spmd_member<solo>);
static_assert(spmd_member<member>);

// Sanitizers see as much of the protocol in fewer lengths and rounds.
#if defined(__SANITIZE_THREAD__)
constexpr index slow = 64;
#elif defined(__SANITIZE_ADDRESS__)
constexpr index slow = 24;
#else
constexpr index slow = 1;
#endif

// Up to eight members meet in rows, more in a tournament; two here have a CPU each, the others share.
const std::vector<int> sizes =
    testing::sanitized ? std::vector{1, 2, 3, 5, 8, 13} : std::vector{1, 2, 3, 4, 5, 6, 7, 8, 13, 17};

// Three bytes, so that no length but multiples of 64 fills a line, and its own order of operands counts.
struct pixel {
    std::uint8_t red, green, blue;
};

// 15 words: more than rides in a line.
struct matrix {
    std::array<double, 15> value;
    friend bool operator==(const matrix&, const matrix&) = default;
};

template <class T>
T sample(index i, int rank);
template <>
double sample<double>(index i, int rank) {
    // Of very different sizes, so that another order of additions gives other bits.
    return std::ldexp(1.0 + 0.1 * static_cast<double>((i * 7 + rank * 13) % 101),
                      static_cast<int>((i + 5 * rank) % 60));
}
template <>
int sample<int>(index i, int rank) {
    return static_cast<int>(i % 1009) * 3 + rank * 5 + 1;
}
template <>
pixel sample<pixel>(index i, int rank) {
    return {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(rank),
            static_cast<std::uint8_t>(i + rank)};
}

// Neither commutative nor associative: only one order gives this result.
struct fold_op {
    double operator()(double a, double b) const { return a + b; }
    int operator()(int a, int b) const {
        return static_cast<int>(static_cast<unsigned>(a) * 3U + static_cast<unsigned>(b));
    }
    pixel operator()(pixel a, pixel b) const {
        return {static_cast<std::uint8_t>(a.red * 3 + b.red),
                static_cast<std::uint8_t>(a.green * 5 + b.green),
                static_cast<std::uint8_t>(a.blue * 7 + b.blue)};
    }
    matrix operator()(const matrix& a, const matrix& b) const {
        matrix c{};
        for (std::size_t i = 0; i < c.value.size(); ++i) c.value[i] = 2 * a.value[i] + b.value[i];
        return c;
    }
};

template <class T>
T folded(index i, int ranks) {
    T sum = sample<T>(i, 0);
    for (int rank = 1; rank < ranks; ++rank) sum = fold_op{}(sum, sample<T>(i, rank));
    return sum;
}

template <class T>
bool same_bits(const T& a, const T& b) {
    return std::bit_cast<std::array<std::byte, sizeof(T)>>(a) ==
           std::bit_cast<std::array<std::byte, sizeof(T)>>(b);
}

template <class T>
std::vector<T> samples(index n, int rank) {
    std::vector<T> values(static_cast<std::size_t>(n));
    for (index i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = sample<T>(i, rank);
    return values;
}

void require(bool right, const std::string& what) {
    if (!right) throw std::logic_error(what);
}

// Written against the concept: every length n of every operation, on any engine.
template <class T, class Member>
void try_all_operations(Member& me, index n) {
    const std::string where = " n=" + std::to_string(n) + " rank=" + std::to_string(me.rank());
    std::vector<T> data = samples<T>(n, me.rank());
    me.all_reduce(std::span<T>(data), fold_op{});
    for (index i = 0; i < n; ++i)
        require(same_bits(data[static_cast<std::size_t>(i)], folded<T>(i, me.size())), "all_reduce" + where);

    const std::vector<T> part = samples<T>(n, me.rank());
    std::vector<T> whole(part.size() * static_cast<std::size_t>(me.size()));
    me.all_gather(std::span<const T>(part), std::span<T>(whole));
    const auto right_whole = [&] {
        for (int rank = 0; rank < me.size(); ++rank) {
            for (index i = 0; i < n; ++i)
                require(same_bits(whole[static_cast<std::size_t>(n * rank + i)], sample<T>(i, rank)),
                        "all_gather" + where);
        }
    };
    right_whole();

    // In place: the part lies where it belongs.
    std::fill(whole.begin(), whole.end(), T{});
    const std::span<T> own =
        std::span<T>(whole).subspan(static_cast<std::size_t>(n * me.rank()), part.size());
    std::copy(part.begin(), part.end(), own.begin());
    me.all_gather(std::span<const T>(own), std::span<T>(whole));
    right_whole();

    // Parts of different lengths, and elements around them that nobody touches.
    std::vector<index> bounds{2};
    for (int rank = 0; rank < me.size(); ++rank) bounds.push_back(bounds.back() + n * (rank % 3) / 2);
    const index mine =
        bounds[static_cast<std::size_t>(me.rank()) + 1] - bounds[static_cast<std::size_t>(me.rank())];
    whole.assign(static_cast<std::size_t>(bounds.back()) + 1, sample<T>(77, 3));
    const std::vector<T> unequal = samples<T>(mine, me.rank());
    me.all_gather(std::span<const T>(unequal), std::span<T>(whole), std::span<const index>(bounds));
    for (int rank = 0; rank < me.size(); ++rank) {
        const index begin = bounds[static_cast<std::size_t>(rank)];
        for (index i = begin; i < bounds[static_cast<std::size_t>(rank) + 1]; ++i)
            require(same_bits(whole[static_cast<std::size_t>(i)], sample<T>(i - begin, rank)),
                    "all_gather v" + where);
    }
    require(same_bits(whole[1], sample<T>(77, 3)) && same_bits(whole.back(), sample<T>(77, 3)),
            "around" + where);

    const range share = equal_share(n, me.size(), me.rank());
    std::vector<T> reduced(static_cast<std::size_t>(share.size()));
    me.reduce_scatter(std::span<const T>(part), std::span<T>(reduced), fold_op{});
    for (index i = share.begin; i < share.end; ++i)
        require(same_bits(reduced[static_cast<std::size_t>(i - share.begin)], folded<T>(i, me.size())),
                "reduce_scatter" + where);

    const int root = static_cast<int>(n % me.size());
    data = samples<T>(n, me.rank());
    me.broadcast(std::span<T>(data), root);
    for (index i = 0; i < n; ++i)
        require(same_bits(data[static_cast<std::size_t>(i)], sample<T>(i, root)), "broadcast" + where);

    require(same_bits(me.all_reduce(sample<T>(n, me.rank()), fold_op{}), folded<T>(n, me.size())),
            "value" + where);
    require(same_bits(me.scan(sample<T>(n, me.rank()), fold_op{}), folded<T>(n, me.rank() + 1)),
            "scan" + where);
}

// Every operation once, in a few bytes; for seeing that a team works.
bool works(team& members) {
    std::atomic<int> right{0};
    members.run([&](member& me) {
        try_all_operations<double>(me, 5);
        try_all_operations<double>(me, 600);
        ++right;
    });
    return right == members.size();
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

}  // namespace

TEST_CASE("the body runs once on every member at the same time, and the caller is rank 0" *
          doctest::description("runtime.md, promise 9")) {
    for (const int size : sizes) {
        team members{team_options{.size = size}};
        const auto caller = std::this_thread::get_id();
        std::mutex mutex;
        std::set<int> ranks;
        std::set<std::thread::id> threads;
        members.run([&](member& me) {
            CHECK(me.size() == size);
            if (me.rank() == 0) CHECK(std::this_thread::get_id() == caller);
            const std::lock_guard lock(mutex);
            ranks.insert(me.rank());
            threads.insert(std::this_thread::get_id());
        });
        CHECK(std::ssize(ranks) == size);
        CHECK(*ranks.rbegin() == size - 1);
        CHECK(std::ssize(threads) == size);
        // Between those the members try out which one is faster.
        if (size <= 2 || static_cast<unsigned>(size) > std::thread::hardware_concurrency())
            CHECK(members.barrier_shape() == (size > 8 ? barrier_shape::tournament : barrier_shape::rows));
    }
}

TEST_CASE("every operation is right at every length, on every number of members" *
          doctest::description("collectives.md, promise 1")) {
    for (const int size : sizes) {
        team members{team_options{.size = size}};
        const index step = (size <= 2 ? 1 : size <= 8 ? 17 : 173) * slow;
        // Members that share CPUs take turns in each operation.
        const index small_step = slow > 1 || size <= 4 ? slow : 3;
        members.run([&](member& me) {
            for (index n = 0; n < 70; n += small_step) try_all_operations<double>(me, n);
            for (index n = 0; n < 70; n += small_step) try_all_operations<pixel>(me, n);
            for (index n = 70; n < 1400; n += step) try_all_operations<double>(me, n);
            for (index n = 71; n < 3000; n += 3 * step) try_all_operations<pixel>(me, n);
            for (index n = 72; n < 3000; n += 3 * step) try_all_operations<int>(me, n);
            try_all_operations<double>(me, 1399);  // read where it lies, whatever the step
        });
    }
}

TEST_CASE("lengths of many pieces are right") {
    for (const int size : {2, 3, 9}) {
        if (size > 2 && slow > 1) continue;  // more members have many pieces where an operator throws
        team members{team_options{.size = size}};
        members.run([&](member& me) {
            const index piece = static_cast<index>(detail::share_bytes / sizeof(double)) * me.size();
            for (const index n : {piece - 1, piece, piece + 1, 2 * piece + 5}) {
                if (size > 3 && n > piece + 1) continue;
                std::vector<double> data = samples<double>(n, me.rank());
                me.all_reduce(std::span<double>(data), fold_op{});
                for (index i = 0; i < n; ++i)
                    require(same_bits(data[static_cast<std::size_t>(i)], folded<double>(i, me.size())),
                            "pieces");
            }
        });
    }
}

TEST_CASE("values of any size are reduced and scanned in rank order" *
          doctest::description("collectives.md, promise 1")) {
    const auto own = [](int rank) {
        matrix m{};
        for (std::size_t i = 0; i < m.value.size(); ++i) m.value[i] = static_cast<double>(i) + rank;
        return m;
    };
    for (const int size : sizes) {
        team members{team_options{.size = size}};
        members.run([&](member& me) {
            matrix sum = own(0);
            for (int rank = 1; rank <= me.rank(); ++rank) sum = fold_op{}(sum, own(rank));
            require(me.scan(own(me.rank()), fold_op{}) == sum, "scan");
            for (int rank = me.rank() + 1; rank < size; ++rank) sum = fold_op{}(sum, own(rank));
            require(me.all_reduce(own(me.rank()), fold_op{}) == sum, "all_reduce");
            require(me.all_reduce(static_cast<char>(me.rank()), [](char, char b) { return b; }) == size - 1,
                    "char");
        });
    }
}

TEST_CASE("solo does what a team of one does") {
    solo alone;
    CHECK(alone.size() == 1);
    for (const index n : {0, 1, 7, 8, 100, 5000}) {
        try_all_operations<double>(alone, n);
        try_all_operations<pixel>(alone, n);
    }
    const std::vector<int> mine{1, 2, 3};
    CHECK(alone.peers(std::span<const int>(mine))[0].data() == mine.data());
    alone.barrier();
    CHECK_THROWS_WITH_AS(alone.broadcast(std::span<const int>(mine), 1), doctest::Contains("root 1"), error);
    arrival token = alone.arrive();
    CHECK_THROWS_WITH_AS(alone.barrier(), doctest::Contains("must call wait"), error);
    alone.wait(token);
    CHECK_THROWS_WITH_AS(alone.wait(token), doctest::Contains("without an arrive"), error);
}

TEST_CASE("what was written before a barrier is seen after it" *
          doctest::description("collectives.md, promise 3")) {
    for (const int size : sizes) {
        team members{team_options{.size = size}};
        std::vector<int> at(static_cast<std::size_t>(size));
        const int rounds = size == 2 ? 20'000 : 300;
        members.run([&](member& me) {
            for (int round = 1; round <= rounds; ++round) {
                at[static_cast<std::size_t>(me.rank())] = round;
                me.barrier();
                for (const int seen : at) require(seen == round, "barrier");
                me.barrier();
            }
        });
    }
}

// Short data ride in a line, long data are read in place.
TEST_CASE("what was written before any operation is seen after it" *
          doctest::description("collectives.md, promise 3")) {
    for (const int size : {2, 3, 9, 13}) {
        team members{team_options{.size = size}};
        std::vector<int> rounds(static_cast<std::size_t>(size));
        members.run([&](member& me) {
            std::vector<int> few(3);
            std::vector<int> many(5000);
            std::vector<int> whole(3 * static_cast<std::size_t>(size));
            const std::array<std::function<void()>, 8> operations = {
                [&] { me.barrier(); },
                [&] { static_cast<void>(me.all_reduce(1, std::plus<>{})); },
                [&] { me.all_reduce(std::span<int>(few), fold_op{}); },
                [&] { me.all_reduce(std::span<int>(many), fold_op{}); },
                [&] { me.all_gather(std::span<const int>(few), std::span<int>(whole)); },
                [&] { me.reduce_scatter(std::span<const int>(whole), std::span<int>(few), fold_op{}); },
                [&] { me.broadcast(std::span<int>(few), size - 1); },
                [&] { static_cast<void>(me.scan(1, std::plus<>{})); },
            };
            for (int round = 1; round <= (slow > 1 ? 32 : 400); ++round) {
                rounds[static_cast<std::size_t>(me.rank())] = round;
                operations[static_cast<std::size_t>(round) % operations.size()]();
                for (const int seen : rounds) require(seen == round, "operation");
                me.barrier();
            }
        });
    }
}

TEST_CASE("nothing is allocated in a collective" * doctest::description("collectives.md, promise 11")) {
    for (const int size : {1, 2, 3, 9}) {
        team members{team_options{.size = size}};
        members.run([&](member& me) {
            std::vector<matrix> values(400);
            std::vector<matrix> whole(values.size() * static_cast<std::size_t>(size));
            const auto first = [](const matrix& a, const matrix&) { return a; };
            me.barrier();
            const int before = allocations.load();
            me.barrier();
            for (const std::size_t n : {std::size_t{1}, std::size_t{30}, values.size()}) {
                const std::span<matrix> some(values.data(), n);
                me.all_reduce(some, first);
                me.all_gather(std::span<const matrix>(some),
                              std::span<matrix>(whole.data(), n * static_cast<std::size_t>(size)));
                me.reduce_scatter(std::span<const matrix>(whole.data(), n * static_cast<std::size_t>(size)),
                                  some, first);
                me.broadcast(some, 0);
                static_cast<void>(me.scan(some[0], first));
                me.wait(me.arrive());
            }
            me.barrier();
            require(allocations.load() == before, "allocation");
            me.barrier();
        });
    }
}

TEST_CASE("arrive never waits, and wait returns when all have arrived") {
    for (const int size : sizes) {
        team members{team_options{.size = size}};
        std::atomic<int> arrived{0};
        std::atomic<bool> go{false};
        members.run([&](member& me) {
            for (int round = 1; round <= 100; ++round) {
                ++arrived;
                const arrival token = me.arrive();
                if (round == 1 && size > 1) {
                    // The caller has passed its arrive although nobody else has come yet.
                    if (me.rank() == 0) go = true;
                    if (me.rank() == size - 1)
                        while (!go) std::this_thread::yield();
                }
                me.wait(token);
                require(arrived >= round * size, "split phase");
                if (round % 3 == 0) me.barrier();
                me.barrier();
            }
        });
    }
}

TEST_CASE("a collective between arrive and wait, and a wait of nothing, are refused") {
    team members{team_options{.size = 2}};
    members.run([](member& me) {
        const arrival token = me.arrive();
        CHECK_THROWS_WITH_AS(me.barrier(), doctest::Contains("must call wait"), error);
        CHECK_THROWS_WITH_AS((void)me.arrive(), doctest::Contains("must call wait"), error);
        me.wait(token);
        CHECK_THROWS_WITH_AS(me.wait(token), doctest::Contains("without an arrive"), error);
        me.barrier();
    });
}

TEST_CASE("peers reads the others' data in place" * doctest::description("collectives.md, promise 2")) {
    for (const int size : sizes) {
        team members{team_options{.size = size}};
        std::vector<const double*> where(static_cast<std::size_t>(size));
        members.run([&](member& me) {
            for (index round = 0; round < (slow > 1 ? 10 : 50); ++round) {
                const std::vector<double> mine = samples<double>(round * me.rank(), me.rank());
                where[static_cast<std::size_t>(me.rank())] = mine.data();
                const peers_view<double> view = me.peers(std::span<const double>(mine));
                require(view.size() == size, "size");
                for (int rank = 0; rank < size; ++rank) {
                    require(view[rank].data() == where[static_cast<std::size_t>(rank)], "in place");
                    require(std::ssize(view[rank]) == round * rank, "length");
                    for (index i = 0; i < round * rank; ++i)
                        require(view[rank][static_cast<std::size_t>(i)] == sample<double>(i, rank), "data");
                }
                me.barrier();
            }
        });
    }
}

TEST_CASE("data may be changed as soon as an operation returns, however late the others read" *
          doctest::description("collectives.md, promise 2")) {
    for (const int size : {2, 3, 5, 9}) {
        team members{team_options{.size = size}};
        members.run([&](member& me) {
            std::minstd_rand random(static_cast<unsigned>(me.rank()) + 1);
            for (index round = 0; round < 300 / slow; ++round) {
                for (const index n : {3, 100, 400, 3000}) {
                    std::vector<int> data = samples<int>(n, me.rank());
                    if (random() % 4 == 0)
                        std::this_thread::sleep_for(std::chrono::microseconds(random() % 100));
                    me.all_reduce(std::span<int>(data), fold_op{});
                    for (index i = 0; i < n; i += 7)
                        require(data[static_cast<std::size_t>(i)] == folded<int>(i, size), "all_reduce");
                    std::fill(data.begin(), data.end(), me.rank());
                    std::vector<int> whole(data.size() * static_cast<std::size_t>(size));
                    me.all_gather(std::span<const int>(data), std::span<int>(whole));
                    std::fill(data.begin(), data.end(), -1);
                    for (std::size_t i = 0; i < whole.size(); i += 5)
                        require(whole[i] == static_cast<int>(i / data.size()), "all_gather");
                }
            }
        });
    }
}

TEST_CASE("members that come at random times in random operations agree") {
    for (const int size : {2, 4, 7, 13}) {
        team members{team_options{.size = size}};
        members.run([&](member& me) {
            std::minstd_rand choices(42);  // the same on all
            std::minstd_rand delays(static_cast<unsigned>(me.rank()) + 7);
            for (int round = 0; round < 1500 / slow; ++round) {
                const auto choice = choices() % 6;
                const auto n = static_cast<index>(choices() % (round % 50 == 0 ? 5000 : 300));
                if (delays() % 16 == 0)
                    std::this_thread::sleep_for(std::chrono::microseconds(delays() % 300));
                if (choice == 0) me.barrier();
                if (choice == 1) me.wait(me.arrive());
                if (choice == 2)
                    require(me.all_reduce(me.rank() + round, std::plus<>{}) ==
                                size * round + size * (size - 1) / 2,
                            "value");
                if (choice == 3) {
                    std::vector<int> data = samples<int>(n, me.rank());
                    me.all_reduce(std::span<int>(data), fold_op{});
                    for (index i = 0; i < n; i += 3)
                        require(data[static_cast<std::size_t>(i)] == folded<int>(i, size), "all_reduce");
                }
                if (choice == 4) require(me.scan(1, std::plus<>{}) == me.rank() + 1, "scan");
                if (choice == 5) {
                    std::vector<int> data = samples<int>(n, me.rank());
                    me.broadcast(std::span<int>(data), static_cast<int>(n) % size);
                    for (index i = 0; i < n; i += 3)
                        require(
                            data[static_cast<std::size_t>(i)] == sample<int>(i, static_cast<int>(n) % size),
                            "broadcast");
                }
            }
        });
    }
}

TEST_CASE("the first exception comes out of run, whatever the others wait in, and the team stays usable" *
          doctest::description("collectives.md, promise 4")) {
    using operation = std::function<void(member&)>;
    const auto with = [](index n, auto use) {
        return [=](member& me) {
            std::vector<double> data(static_cast<std::size_t>(n), 1.0);
            std::vector<double> whole(static_cast<std::size_t>(n * me.size()));
            use(me, std::span<double>(data), std::span<double>(whole));
        };
    };
    std::vector<operation> operations{
        [](member& me) { me.barrier(); },
        [](member& me) { me.wait(me.arrive()); },
        [](member& me) { (void)me.all_reduce(1.0, std::plus<>{}); },
        [](member& me) { (void)me.scan(1.0, std::plus<>{}); },
        [](member& me) {
            const double x = 1;
            (void)me.peers(std::span<const double>(&x, 1));
        },
    };
    for (const index n : {3, 100, 3000}) {
        operations.push_back(
            with(n, [](member& me, auto data, auto) { me.all_reduce(data, std::plus<>{}); }));
        operations.push_back(with(n, [](member& me, auto data, auto) { me.broadcast(data); }));
        operations.push_back(with(n, [](member& me, auto data, auto whole) {
            me.all_gather(std::span<const double>(data), whole);
        }));
        operations.push_back(with(n, [](member& me, auto data, auto whole) {
            me.reduce_scatter(
                std::span<const double>(whole.first(data.size() * static_cast<std::size_t>(me.size()))), data,
                std::plus<>{});
        }));
    }
    const int stride = slow > 1 ? 8 : 3;
    for (const int size : {1, 2, 4, 9, 17}) {
        if (size > 9 && slow > 1) continue;
        team members{team_options{.size = size}};
        for (const operation& op : operations) {
            for (int thrower = 0; thrower < size; thrower += stride) {
                std::atomic<int> passed{0};
                const auto body = [&](member& me) {
                    op(me);
                    if (me.rank() == thrower) throw std::out_of_range("from " + std::to_string(thrower));
                    op(me);
                    ++passed;
                };
                CHECK_THROWS_WITH_AS(members.run(body), ("from " + std::to_string(thrower)).c_str(),
                                     std::out_of_range);
                CHECK(passed == 0);
            }
        }
        CHECK(works(members));
    }
}

TEST_CASE("all members may throw at once; the exception of the lowest rank comes out" *
          doctest::description("runtime.md, promise 3")) {
    team members{team_options{.size = 4}};
    for (int round = 0; round < 100; ++round) {
        CHECK_THROWS_WITH_AS(members.run([&](member& me) {
            me.barrier();
            if (me.rank() >= round % 4) throw std::out_of_range(std::to_string(me.rank()));
        }),
                             std::to_string(round % 4).c_str(), std::out_of_range);
        CHECK_THROWS_WITH_AS(members.run([&](member& me) {
            std::vector<double> own(10'000);
            me.all_reduce(std::span<double>(own), [&](double, double) -> double {
                throw std::out_of_range(std::to_string(me.rank()));
            });
        }),
                             "0", std::out_of_range);
    }
    CHECK(works(members));
}

TEST_CASE("a release is no std::exception, and a body that swallows it cannot go on meeting" *
          doctest::description("collectives.md, promise 4")) {
    team members{team_options{.size = 2}};
    bool seen_as_exception = false;
    int swallowed = 0;
    CHECK_THROWS_WITH_AS(members.run([&](member& me) {
        if (me.rank() == 1) throw std::runtime_error("first");
        for (int again = 0; again < 3; ++again) {
            try {
                me.barrier();
            } catch (const std::exception&) {
                seen_as_exception = true;
            } catch (...) {
                ++swallowed;
            }
        }
    }),
                         "first", std::runtime_error);
    CHECK_FALSE(seen_as_exception);
    CHECK(swallowed == 3);
    CHECK(works(members));
}

namespace {

// More than the team's buffers hold.
struct wide {
    std::array<double, 700> value;
};

struct bad_element : std::runtime_error {
    bad_element() : std::runtime_error("bad element") {}
};

// An operation on data of a member's own whose operator throws on `thrower`. They end with the call, as a
// body's do that are on its stack.
using throwing_operation = void (*)(member& me, int thrower);

void reduce_long(member& me, int thrower) {
    std::vector<double> data(std::size_t{1} << 16, 1.0);
    me.all_reduce(std::span<double>(data), [&](double a, double b) {
        if (me.rank() == thrower) throw bad_element();
        return a + b;
    });
}

void reduce_wide(member& me, int thrower) {
    const auto mine = std::make_unique<wide>();
    (void)me.all_reduce(*mine, [&](const wide& a, const wide&) {
        if (me.rank() == thrower) throw bad_element();
        return a;
    });
}

void scan_wide(member& me, int thrower) {
    const auto mine = std::make_unique<wide>();
    (void)me.scan(*mine, [&](const wide& a, const wide&) {
        if (me.rank() == thrower) throw bad_element();
        return a;
    });
}

void scatter_long(member& me, int thrower) {
    const std::vector<double> whole(std::size_t{1} << 16, 1.0);
    const range share = equal_share(std::ssize(whole), me.size(), me.rank());
    std::vector<double> part(static_cast<std::size_t>(share.size()));
    me.reduce_scatter(std::span<const double>(whole), std::span<double>(part), [&](double a, double b) {
        if (me.rank() == thrower) throw bad_element();
        return a + b;
    });
}

}  // namespace

// What the others read must last until they have read it (AddressSanitizer sees whether it does).
TEST_CASE("an operator that throws on one member ends the run with its exception, and the others read on" *
          doctest::description("collectives.md, promise 5")) {
    for (const int size : {2, 3, 9, 13}) {
        if (size > 9 && slow > 1) continue;
        team members{team_options{.size = size}};
        for (const throwing_operation operation : {reduce_long, reduce_wide, scan_wide, scatter_long}) {
            for (int round = 0; round < (slow > 1 ? 1 : 4); ++round) {
                // The operator of a scan is not called on rank 0, nor for a wide value on the last ranks.
                const int thrower = operation == reduce_wide ? 0 : 1;
                std::atomic<int> went_on{0};
                CHECK_THROWS_AS(members.run([&](member& me) {
                    operation(me, thrower);
                    ++went_on;
                }),
                                bad_element);
                CHECK(went_on == 0);
                CHECK(works(members));
            }
        }
    }
}

TEST_CASE("a body cannot go on after an operator has thrown on data that others read" *
          doctest::description("collectives.md, promise 5")) {
    team members{team_options{.size = 3}};
    for (const throwing_operation operation : {reduce_long, scan_wide, scatter_long}) {
        std::atomic<int> went_on{0};
        CHECK_THROWS_AS(members.run([&](member& me) {
            try {
                operation(me, 1);
                ++went_on;
            } catch (const std::exception&) {
                ++went_on;
            } catch (...) {
            }
            me.barrier();
            ++went_on;
        }),
                        bad_element);
        CHECK(went_on == 0);
        CHECK(works(members));
    }
}

TEST_CASE("a member that leaves is heard after more than half the circle of epochs") {
    for (const barrier_shape shape : {barrier_shape::rows, barrier_shape::tournament}) {
        for (int leaver = 0; leaver < 3; ++leaver) {
            detail::collectives shared(3, false, wait_policy::balanced);
            shared.shape = shape;
            // As if they had met 2^29 + 5 times since the run began.
            const std::uint32_t begun = shared.start_epoch;
            shared.start_epoch = (begun + (std::uint32_t{1} << 29) + 5) & detail::epoch_mask;
            member first(shared, 0);
            member second(shared, 1);
            member third(shared, 2);
            shared.start_epoch = begun;
            std::atomic<int> released{0};
            const auto body = [&](member& me) {
                for (int meeting = 0; meeting < 3; ++meeting) me.barrier();
                if (me.rank() == leaver) {
                    shared.fail(leaver, std::make_exception_ptr(std::runtime_error("left")));
                } else {
                    try {
                        me.barrier();
                    } catch (const detail::released&) {
                        ++released;
                    }
                }
                me.leave();
            };
            std::thread one([&] { body(second); });
            std::thread two([&] { body(third); });
            body(first);
            one.join();
            two.join();
            CHECK(released == 2);
        }
    }
}

TEST_CASE("a member that returns while others wait for it is an error that says so" *
          doctest::description("collectives.md, promise 6")) {
    for (const int size : {2, 5, 9, 17}) {
        team members{team_options{.size = size}};
        for (int round = 0; round < (slow > 1 ? 1 : 20); ++round) {
            CHECK_THROWS_WITH_AS(members.run([&](member& me) {
                me.barrier();
                if (me.rank() != size - 1) me.barrier();
            }),
                                 doctest::Contains("has returned from the body"), error);
            CHECK(works(members));
        }
    }
}

TEST_CASE("members that end a run at different times do not disturb the next") {
    for (const int size : {2, 3, 13}) {
        team members{team_options{.size = size}};
        for (int round = 0; round < 300; ++round) {
            members.run([&](member& me) {
                for (int i = 0; i < round % 4; ++i) me.barrier();
                if (me.rank() == round % size) std::this_thread::sleep_for(std::chrono::microseconds(50));
            });
        }
        CHECK(works(members));
    }
}

TEST_CASE("members with different elements, or lengths that differ far up, are refused" *
          doctest::description("collectives.md, promise 6")) {
    team members{team_options{.size = 2}};
    const auto reduces = [&](auto zero, auto other_zero, std::size_t n) {
        const auto of_type = [&](member& me, auto value) {
            std::vector<decltype(value)> data(n, value);
            me.all_reduce(std::span(data), std::plus<>{});
        };
        members.run([&](member& me) {
            if (me.rank() == 0) return of_type(me, zero);
            of_type(me, other_zero);
        });
    };
    struct wide {
        double x[3];
        wide operator+(const wide&) const { return *this; }
    };
    for (const std::size_t n : {std::size_t{2}, std::size_t{200}, std::size_t{50'000}}) {
        CHECK_THROWS_WITH_AS(reduces(0.0, 0.0F, n), doctest::Contains("8-byte floats"), error);
        CHECK_THROWS_WITH_AS(reduces(0.0, std::int64_t{0}, n), doctest::Contains("8-byte elements"), error);
        CHECK_THROWS_WITH_AS(reduces(wide{}, 0, n), doctest::Contains("large elements"), error);
        reduces(0.0, 0.0, n);
    }
    std::set<std::uint32_t> tags;
    for (int bits = 22; bits < 64; ++bits) {
        for (const std::size_t off : {0U, 1U, 2U})
            tags.insert(detail::tag_of(detail::operation::all_reduce, (std::size_t{1} << bits) + off));
    }
    CHECK(tags.size() == std::size_t{42} * 3);
    CHECK(works(members));
}

TEST_CASE("a wrong length names operation, rank, length and expected length, and nothing is written" *
          doctest::description("collectives.md, promise 6")) {
    for (const int size : {2, 3, 9}) {
        team members{team_options{.size = size}};
        const auto refused = [&](auto body, std::vector<std::string> words) {
            try {
                members.run(body);
                FAIL("not refused");
            } catch (const error& problem) {
                for (const std::string& word : words) {
                    INFO(problem.what());
                    CHECK(std::string(problem.what()).find(word) != std::string::npos);
                }
            }
        };
        // Sees on every member that only zeros are left.
        const auto untouched = [](const std::vector<double>& data, auto call) {
            try {
                call();
            } catch (...) {
                if (std::any_of(data.begin(), data.end(), [](double x) { return x != 0; }))
                    throw std::logic_error("written");
                throw;
            }
        };
        refused(
            [&](member& me) {
                const std::vector<double> part(4, 1.0);
                std::vector<double> whole(4 * static_cast<std::size_t>(size) - (me.rank() == 1 ? 1 : 0));
                untouched(whole,
                          [&] { me.all_gather(std::span<const double>(part), std::span<double>(whole)); });
            },
            {"all_gather", "rank 1", std::to_string(4 * size - 1), std::to_string(4 * size)});
        for (const std::size_t n : {4U, 200U, 5000U}) {
            refused(
                [&](member& me) {
                    std::vector<double> data(n + (me.rank() == 1 ? 2 : 0));
                    untouched(data, [&] {
                        me.all_reduce(std::span<double>(data), [](double, double) { return 1.0; });
                    });
                },
                {"all_reduce", "rank 1", std::to_string(n), std::to_string(n + 2)});
            refused(
                [&](member& me) {
                    std::vector<double> data(n + (me.rank() == 1 ? 2 : 0), me.rank() == 0 ? 1.0 : 0.0);
                    if (me.rank() == 0)
                        me.broadcast(std::span<double>(data));
                    else
                        untouched(data, [&] { me.broadcast(std::span<double>(data)); });
                },
                {"broadcast", "rank 1", std::to_string(n), std::to_string(n + 2)});
            refused(
                [&](member& me) {
                    const std::vector<double> part(n + (me.rank() == 1 ? 2 : 0), 1.0);
                    std::vector<double> whole(part.size() * static_cast<std::size_t>(size));
                    untouched(whole, [&] {
                        me.all_gather(std::span<const double>(part), std::span<double>(whole));
                    });
                },
                {"all_gather", "rank 1", std::to_string(n), std::to_string(n + 2)});
        }
        refused(
            [&](member& me) {
                const std::vector<double> whole(static_cast<std::size_t>(4 * size), 1.0);
                std::vector<double> part(me.rank() == 1 ? 3 : 4);
                untouched(part, [&] {
                    me.reduce_scatter(std::span<const double>(whole), std::span<double>(part), std::plus<>{});
                });
            },
            {"reduce_scatter", "rank 1", "3", "4"});
        refused(
            [&](member& me) {
                const std::vector<double> part(2, 1.0);
                std::vector<double> whole(2 * static_cast<std::size_t>(size));
                std::vector<index> bounds(static_cast<std::size_t>(size) + 1);
                for (std::size_t i = 0; i < bounds.size(); ++i) bounds[i] = static_cast<index>(2 * i);
                if (me.rank() == 1) bounds[1] = 3;
                untouched(whole, [&] {
                    me.all_gather(std::span<const double>(part), std::span<double>(whole),
                                  std::span<const index>(bounds));
                });
            },
            {"all_gather", "rank 1", "2", "1"});
        refused(
            [&](member& me) {
                if (me.rank() == 1)
                    me.barrier();
                else
                    (void)me.all_reduce(1, std::plus<>{});
            },
            {"barrier", "all_reduce", "rank 1"});
        for (const std::size_t n : {4U, 200U, 5000U}) {
            refused(
                [&](member& me) {
                    std::vector<double> data(n);
                    untouched(data, [&] { me.broadcast(std::span<double>(data), me.rank() == 1 ? 1 : 0); });
                },
                {"broadcast from rank 0", "broadcast from rank 1", "on rank"});
        }
        for (const int odd : {0, 1, size - 1}) {
            refused(
                [&](member& me) {
                    if (me.rank() == odd)
                        me.wait(me.arrive());
                    else
                        me.barrier();
                },
                {"barrier", "arrive", "rank " + std::to_string(odd)});
        }
        // Bounds that end alike, and give each rank a part of its length.
        for (const index length : {1, 100, 1000}) {
            refused(
                [&](member& me) {
                    const std::vector<double> part(static_cast<std::size_t>(length), 1.0);
                    std::vector<double> whole(part.size() * static_cast<std::size_t>(size + 1));
                    std::vector<index> bounds(static_cast<std::size_t>(size) + 1);
                    for (std::size_t i = 0; i < bounds.size(); ++i)
                        bounds[i] = static_cast<index>(i) * length;
                    // The others think that the last rank has two parts.
                    bounds.back() += length;
                    if (me.rank() == size - 1)
                        for (int i = 1; i < size; ++i) bounds[static_cast<std::size_t>(i)] += length;
                    untouched(whole, [&] {
                        me.all_gather(std::span<const double>(part), std::span<double>(whole),
                                      std::span<const index>(bounds));
                    });
                },
                {"all_gather", "bounds", "rank " + std::to_string(size - 1)});
        }
        refused(
            [&](member& me) {
                double x = 0;
                me.broadcast(std::span<double>(&x, 1), size);
            },
            {"broadcast", "root " + std::to_string(size)});
        CHECK(works(members));
    }
    solo alone;
    std::vector<double> data(3);
    CHECK_THROWS_WITH_AS(alone.all_gather(std::span<const double>(data), std::span<double>(data).first(2)),
                         doctest::Contains("length of 2, expected 3"), error);
    const std::vector<index> bounds{3, 1};
    CHECK_THROWS_WITH_AS(alone.all_gather(std::span<const double>(data), std::span<double>(data),
                                          std::span<const index>(bounds)),
                         doctest::Contains("bounds[1] is 1"), error);
}

TEST_CASE("inside a body a parallel_for runs inline and a run has one member" *
          doctest::description("collectives.md, promise 7")) {
    team members{team_options{.size = 2}};
    team other{team_options{.size = 2}};
    std::atomic<int> inner{0};
    members.run([&](member& me) {
        const auto self = std::this_thread::get_id();
        parallel_for(members, 100, [&](range r) {
            inner += static_cast<int>(r.size());
            require(std::this_thread::get_id() == self, "inline");
        });
        for (team* nested : {&members, &other}) {
            nested->run([&](member& alone) {
                require(std::this_thread::get_id() == self, "same thread");
                require(alone.size() == 1 && alone.rank() == 0, "alone");
                try_all_operations<double>(alone, 500);
            });
        }
        me.barrier();
    });
    CHECK(inner == 200);
    parallel_for(members, 2, [&](range) { members.run([&](member& alone) { inner += alone.size(); }); },
                 {.schedule = static_{}});
    CHECK(inner == 202);
    CHECK_THROWS_WITH_AS(
        members.run([&](member&) { members.run([](member&) { throw std::runtime_error("inner"); }); }),
        "inner", std::runtime_error);
}

TEST_CASE("threads that use one team take turns, runs and loops alike" *
          doctest::description("collectives.md, promise 8")) {
    team members{team_options{.size = 3}};
    std::atomic<int> users{0};
    const auto user = [&] {
        for (int round = 0; round < 100; ++round) {
            members.run([&](member& me) {
                if (me.rank() == 0) ++users;
                me.barrier();
                require(users == 1, "turns");
                require(me.all_reduce(1, std::plus<>{}) == 3, "sum");
                if (me.rank() == 0) --users;
                me.barrier();
            });
            parallel_for(members, 100, [](range) {});
        }
    };
    std::thread second(user);
    std::thread third(user);
    user();
    second.join();
    third.join();
    CHECK(users == 0);
}

TEST_CASE("a body may be move-only and is never copied") {
    team members{team_options{.size = 2}};
    auto owned = std::make_unique<std::atomic<int>>(0);
    auto body = [counter = std::move(owned)](member&) { ++*counter; };
    members.run(body);
    members.run(std::move(body));
    members.run([counter = std::make_unique<int>(3)](member&) { CHECK(*counter == 3); });
}

TEST_CASE("a stop request ends the run at the next collectives, and run says so" *
          doctest::description("collectives.md, promise 10")) {
    for (const int size : {1, 2, 5, 9}) {
        team members{team_options{.size = size}};
        std::stop_source source;
        std::atomic<int> rounds{0};
        const auto body = [&](member& me) {
            for (;;) {
                me.barrier();
                if (me.rank() == 0 && ++rounds == 50) source.request_stop();
            }
        };
        CHECK_THROWS_AS(members.run(body, {.stop = source.get_token()}), stopped);
        CHECK(rounds == 50);
        CHECK_THROWS_AS(members.run(body, {.stop = source.get_token()}), stopped);
        CHECK(rounds == 50);
        std::stop_source quiet;
        members.run([](member& me) { me.barrier(); }, {.stop = quiet.get_token()});
        CHECK(works(members));
    }
}

TEST_CASE("members that wait long sleep") {
    team members{team_options{.size = 4}};
    members.run([](member& me) {
        me.barrier();
        if (me.rank() == 2) CHECK(testing::others_fall_asleep());
        me.barrier();
    });
}

TEST_CASE("more members than CPUs: a meeting costs a few turns of the scheduler, not its time slices") {
    team members{team_options{.size = 8}};
    const double before = cpu_seconds();
    members.run([](member& me) {
        for (int round = 0; round < 1000; ++round) me.barrier();
    });
    // CPU time, which other programs do not add to. Members that spin for time slices of 3 ms would use 10 s.
    CHECK(cpu_seconds() - before < 2.0 * slow);
}

TEST_CASE("after fork the child may run on the team" * doctest::description("collectives.md, promise 9")) {
    team members{team_options{.size = 3}};
    CHECK(works(members));
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        bool right = false;
        try {
            right = works(members) && works(members);
        } catch (...) {
        }
        _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
    CHECK(works(members));
}

TEST_CASE("fork inside a body: the child's run ends with an error instead of hanging") {
    team members{team_options{.size = 2}};
    int child_status = -1;
    bool refused = false;
    const pid_t parent = getpid();
    try {
        members.run([&](member& me) {
            if (me.rank() == 0) {
                const pid_t child = fork();
                if (child == 0)
                    alarm(20);
                else
                    waitpid(child, &child_status, 0);
            }
            me.barrier();
        });
    } catch (const error& problem) {
        refused = std::string(problem.what()).find("fork()") != std::string::npos;
    }
    if (getpid() != parent) _exit(refused ? 0 : 1);
    CHECK(child_status == 0);
    CHECK(works(members));
}

TEST_CASE("a run is in the trace under its name") {
    const std::string file = "collectives_test_trace.json";
    trace::start(file);
    team members{team_options{.size = 2}};
    members.run([](member& me) { me.barrier(); }, {.name = "steps"});
    CHECK(trace::stop() >= 2);
    std::remove(file.c_str());
}

}  // namespace tauto
