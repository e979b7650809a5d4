// The contract of copy_if, pack, partition, histogram, find_if and min_element.

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "reducing.hpp"

namespace tauto {
using detail::at;
using detail::usize;
using testing::fewer_schedules;
using testing::fewer_team_sizes;
using testing::sanitized;
using testing::shared_by;

namespace {

const std::vector<std::size_t> sizes = {0, 1, 2, 63, 64, 65, 1000, 8192, 20'011};

std::vector<int> random_integers(std::size_t n, int below, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<int> values(n);
    for (int& one : values) one = static_cast<int>(random() % static_cast<unsigned>(below));
    return values;
}

// What a partition must keep in order.
struct labelled {
    int key = 0;
    int place = 0;
    friend bool operator==(const labelled&, const labelled&) = default;
};

// The k-th element that is not chosen but stands in front is swapped with the k-th that is and stands behind.
template <class Predicate>
std::vector<labelled> swapped_apart(std::vector<labelled> values, std::ptrdiff_t middle, Predicate chosen) {
    const auto behind = values.begin() + middle;
    auto one = values.begin();
    for (auto other = std::find_if(behind, values.end(), chosen); other != values.end();
         other = std::find_if(other + 1, values.end(), chosen)) {
        one = std::find_if_not(one, behind, chosen);
        std::iter_swap(one++, other);
    }
    return values;
}

}  // namespace

TEST_CASE("copy_if and pack: what std::copy_if gives, and nothing behind it" *
          doctest::description("algorithms.md, promise 7")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            const std::vector<int> values = random_integers(size, 100, 1);
            for (const int limit : {0, 1, 50, 100}) {
                const auto small = [&](int one) { return one < limit; };
                std::vector<int> wanted(size + 1, -1);
                const auto end =
                    std::copy_if(values.begin(), values.end(), wanted.begin(), small) - wanted.begin();
                std::vector<char> flags(size);
                for (std::size_t i = 0; i < size; ++i) flags[i] = small(values[i]) ? 1 : 0;
                for (const schedule& chosen : fewer_schedules) {
                    std::vector<int> found(size + 1, -1);
                    CHECK(parallel_copy_if(some, values.begin(), values.end(), found.begin(), small,
                                           {.schedule = chosen}) == found.begin() + end);
                    CHECK(found == wanted);
                    std::vector<int> packed(size + 1, -1);
                    CHECK(parallel_pack(some, values.begin(), values.end(), flags.begin(), packed.begin(),
                                        {.schedule = chosen}) == packed.begin() + end);
                    CHECK(packed == wanted);
                }
            }
        }
    }
}

TEST_CASE("calls that were learned to be short: the same, and nothing behind it" *
          doctest::description("algorithms.md, promises 7 and 9")) {
    team some(shared_by(2));
    index wrong = 0;
    for (int call = 0; call < 3000; ++call) {
        const std::size_t size = usize(index{1} + call % 150);
        // All are chosen, none, or some.
        const int limit = std::array{0, 100, 50, 3}[usize(call % 4)];
        const std::vector<int> values = random_integers(size, 100, static_cast<unsigned>(call));
        const auto small = [&](int one) { return one < limit; };
        std::vector<int> wanted(size + 1, -1);
        const auto end = std::copy_if(values.begin(), values.end(), wanted.begin(), small) - wanted.begin();
        std::vector<int> found(size + 1, -1);
        const auto found_end = parallel_copy_if(some, values, found.begin(), small);
        wrong += found != wanted || found_end - found.begin() != end ? 1 : 0;
        std::vector<std::uint64_t> counted(100);
        for (const int one : values) ++at(counted, one);
        wrong += parallel_histogram(some, values, 100) != counted ? 1 : 0;
        std::vector<std::uint64_t> many(1000);
        std::copy(counted.begin(), counted.end(), many.begin());
        wrong += parallel_histogram(some, values, 1000) != many ? 1 : 0;
    }
    CHECK(wrong == 0);
}

TEST_CASE("copy_if of strings, from a deque, into another type" *
          doctest::description("algorithms.md, promise 7")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        std::deque<std::string> words;
        for (int i = 0; i < 3000; ++i) words.push_back(std::to_string(i));
        std::vector<std::string> found(3000);
        const auto end =
            parallel_copy_if(some, words, found.begin(), [](const std::string& s) { return s.size() < 3; },
                             {.schedule = dynamic{1}});
        REQUIRE(end - found.begin() == 100);
        for (int i = 0; i < 100; ++i) CHECK(at(found, i) == std::to_string(i));
        const std::vector<int> values = random_integers(3000, 10, 2);
        std::vector<double> wide(3000);
        CHECK(parallel_copy_if(some, values, wide.begin(), [](int one) { return one == 3; }) - wide.begin() ==
              std::count(values.begin(), values.end(), 3));
    }
}

TEST_CASE("both partitions have one order for every team and schedule; move-only elements too" *
          doctest::description("algorithms.md, promise 7")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            const std::vector<int> keys = random_integers(size, 100, 3);
            std::vector<labelled> values(size);
            for (std::size_t i = 0; i < size; ++i) values[i] = {keys[i], static_cast<int>(i)};
            for (const int limit : {0, 30, 100}) {
                const auto small = [&](const labelled& one) { return one.key < limit; };
                std::vector<labelled> wanted = values;
                const auto middle =
                    std::stable_partition(wanted.begin(), wanted.end(), small) - wanted.begin();
                for (const schedule& chosen : fewer_schedules) {
                    std::vector<labelled> found = values;
                    CHECK(parallel_stable_partition(some, found.begin(), found.end(), small,
                                                    {.schedule = chosen}) == found.begin() + middle);
                    CHECK(found == wanted);
                    found = values;
                    CHECK(parallel_partition(some, found, small, {.schedule = chosen}) ==
                          found.begin() + middle);
                    CHECK(found == swapped_apart(values, middle, small));
                }
            }
            std::deque<std::unique_ptr<int>> owners;
            for (const int key : keys) owners.push_back(std::make_unique<int>(key));
            const auto middle = parallel_stable_partition(
                some, owners, [](const std::unique_ptr<int>& one) { return *one % 2 == 0; },
                {.schedule = dynamic{1}});
            std::vector<int> even_first = keys;
            std::stable_partition(even_first.begin(), even_first.end(), [](int key) { return key % 2 == 0; });
            CHECK(middle - owners.begin() ==
                  std::ranges::count_if(keys, [](int key) { return key % 2 == 0; }));
            for (std::size_t i = 0; i < size; ++i) REQUIRE(*owners[i] == even_first[i]);
            CHECK(
                parallel_partition(some, owners, [](const std::unique_ptr<int>& one) { return *one > 50; }) -
                    owners.begin() ==
                std::ranges::count_if(keys, [](int key) { return key > 50; }));
            std::vector<int> large_first(size);
            std::ranges::transform(owners, large_first.begin(), [](const auto& one) { return *one; });
            CHECK(std::ranges::is_partitioned(large_first, [](int key) { return key > 50; }));
        }
    }
}

TEST_CASE("a predicate that throws, or a stop, leaves a sequence as it was" *
          doctest::description("algorithms.md, promise 8")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const schedule& chosen : fewer_schedules) {
            std::vector<std::string> words;
            for (int i = 0; i < 5000; ++i) words.push_back(std::to_string(i) + " and more than fits inside");
            const std::vector<std::string> before = words;
            const auto failing = [](const std::string& one) {
                if (one[0] == '4' && one[1] == '0') throw std::runtime_error("forty");
                return one[0] == '1';
            };
            CHECK_THROWS_WITH(parallel_stable_partition(some, words, failing, {.schedule = chosen}), "forty");
            CHECK(words == before);
            CHECK_THROWS_WITH(parallel_partition(some, words, failing, {.schedule = chosen}), "forty");
            CHECK(words == before);
            std::vector<int> values = random_integers(20'000, 50, 4);
            const std::vector<int> unchanged = values;
            std::stop_source source;
            const auto stopping = [&](int one) {
                source.request_stop();
                return one > 10;
            };
            // All blocks may have begun before the stop; then it comes too late.
            try {
                parallel_partition(some, values, stopping, {.schedule = chosen, .stop = source.get_token()});
                values = unchanged;
            } catch (const stopped&) {
            }
            CHECK(values == unchanged);
            CHECK_THROWS_AS(
                parallel_partition(some, values, stopping, {.schedule = chosen, .stop = source.get_token()}),
                stopped);
            CHECK(values == unchanged);
            CHECK_THROWS_WITH(
                parallel_copy_if(some, values, std::vector<int>(values.size()).begin(),
                                 [](int one) -> bool { throw std::runtime_error(one < 50 ? "any" : "none"); },
                                 {.schedule = chosen}),
                "any");
        }
    }
}

TEST_CASE("histograms: every element in its bin, few bins and many, all types of counts" *
          doctest::description("algorithms.md, promise 9")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            for (const int bins : {1, 7, 256, 2049, 100'000}) {
                const std::vector<int> values = random_integers(size, bins, 5);
                std::vector<std::uint64_t> wanted(usize(bins));
                for (const int one : values) ++at(wanted, one);
                for (const schedule& chosen : fewer_schedules) {
                    CHECK(parallel_histogram(some, values, usize(bins), {}, {.schedule = chosen}) == wanted);
                    if (bins > 300) break;
                }
            }
        }
        const std::vector<int> values = random_integers(10'000, 1000, 6);
        std::vector<std::uint16_t> counts(10, 77);
        parallel_histogram(some, values.begin(), values.end(), std::span(counts),
                           [](int one) { return one / 100; });
        CHECK(std::accumulate(counts.begin(), counts.end(), 0) == 10'000);
        const std::vector<int> same(50'000, 3);
        CHECK(parallel_histogram(some, same, 5)[3] == 50'000);
    }
}

TEST_CASE("a bin that is not there is an error" * doctest::description("algorithms.md, promise 9")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        // Powers of two and others, of which tables have more than they need; and those with a table of each
        // kind.
        for (const std::size_t bins : {4U, 5U, 2048U, 3000U, 100'000U}) {
            std::vector<int> values(20'000);
            values[700] = -3;
            const std::string minus = "parallel_histogram: an element has the bin -3; there are " +
                                      std::to_string(bins) + " bins, counted from 0";
            CHECK_THROWS_WITH_AS(static_cast<void>(parallel_histogram(some, values, bins)), minus.c_str(),
                                 error);
            values[700] = static_cast<int>(bins);
            CHECK_THROWS_AS(static_cast<void>(parallel_histogram(some, values, bins)), error);
        }
        CHECK_THROWS_AS(static_cast<void>(parallel_histogram(some, std::vector{0, 0}, 0)), error);
        // Nothing is written where there is no bin, whatever the function says the next time.
        std::atomic<int> asked = 0;
        const auto once = [&asked](int) { return ++asked == 1000 ? 1'000'000 : 1; };
        CHECK_THROWS_AS(static_cast<void>(parallel_histogram(some, std::vector<int>(20'000), 4, once)),
                        error);
    }
}

TEST_CASE("histograms of several threads, after failed ones too: a kept table begins with zeros") {
    std::atomic<int> wrong = 0;
    const auto count = [&wrong](int thread) {
        team some(shared_by(3));
        for (const int bins : {5'000, 40'000, 1000, 40'000}) {
            std::vector<int> values = random_integers(70'000, bins, static_cast<unsigned>(thread));
            std::fill_n(values.begin(), 20'000, 3);  // more than fit into a byte
            std::vector<std::uint64_t> wanted(usize(bins));
            for (const int one : values) ++at(wanted, one);
            for (int k = 0; k < 3; ++k)
                if (parallel_histogram(some, values, usize(bins)) != wanted) ++wrong;
            values[40'000] = -1;
            CHECK_THROWS_AS(static_cast<void>(parallel_histogram(some, values, usize(bins))), error);
        }
    };
    std::thread other(count, 8);
    count(9);
    other.join();
    CHECK(wrong == 0);
}

TEST_CASE("find_if: the first element, on every team and schedule" *
          doctest::description("algorithms.md, promise 10")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            std::vector<int> values(size, 0);
            for (const std::size_t first : {std::size_t{0}, std::size_t{1}, size / 2, size - 1, size}) {
                if (first < size) values[first] = 1;
                if (first + 5 < size) values[first + 5] = 1;
                for (const schedule& chosen : fewer_schedules) {
                    const auto found = parallel_find_if(some, values, [](int one) { return one == 1; },
                                                        {.schedule = chosen});
                    CHECK(found == std::find(values.begin(), values.end(), 1));
                    CHECK(parallel_find(some, values.begin(), values.end(), 1, {.schedule = chosen}) ==
                          found);
                }
                std::ranges::fill(values, 0);
            }
        }
    }
}

TEST_CASE("find_if ends early: members search at the front together" *
          doctest::description("algorithms.md, promise 10")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        const std::vector<int> values(1'000'000);
        for (const schedule& chosen : fewer_schedules) {
            std::atomic<index> calls{0};
            std::atomic<bool> matched{false};
            const auto found = parallel_find_if(some, values,
                                                [&](const int& one) {
                                                    ++calls;
                                                    const index place = &one - values.data();
                                                    // Whoever is ahead of the match waits for it.
                                                    while (place >= 40'960 && !matched.load())
                                                        std::this_thread::yield();
                                                    if (place == 40'000) matched = true;
                                                    return place == 40'000;
                                                },
                                                {.schedule = chosen});
            CHECK(found - values.begin() == 40'000);
            CHECK(calls.load() > 40'000);
            // A member may be in a block, and about to begin one.
            CHECK(calls.load() <= 40'001 + 2 * members * 4096);
        }
    }
}

TEST_CASE("find_if asks once of each element before the found one, and at most once of others" *
          doctest::description("algorithms.md, promise 10")) {
    // Members take several blocks at a time from 262,144 on.
    const std::vector<int> values(sanitized ? 300'000 : 600'000);
    std::vector<std::atomic<unsigned char>> calls(values.size());
    for (const int members : {1, 2, 5}) {
        team some(shared_by(members));
        for (const schedule& chosen : fewer_schedules) {
            for (const std::size_t match : {usize(6), usize(262'143), usize(290'003), values.size() - 1}) {
                for (auto& one : calls) one.store(0, std::memory_order_relaxed);
                const auto asked = [&](const int& one) {
                    const auto place = usize(&one - values.data());
                    calls[place].fetch_add(1, std::memory_order_relaxed);
                    return place == match;
                };
                const auto found = parallel_find_if(some, values, asked, {.schedule = chosen});
                CHECK(found - values.begin() == static_cast<index>(match));
                const auto once = [](const auto& one) { return one.load() == 1; };
                CHECK(std::all_of(calls.begin(), calls.begin() + (found - values.begin()) + 1, once));
                CHECK(std::ranges::none_of(calls, [](const auto& one) { return one.load() > 1; }));
            }
        }
    }
}

TEST_CASE("find_if: the exception that a serial search would meet, and no other" *
          doctest::description("algorithms.md, promise 10")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        std::vector<int> values(20'000);
        std::iota(values.begin(), values.end(), 0);
        for (const schedule& chosen : fewer_schedules) {
            const auto throwing_from = [](int from, int match) {
                return [=](int one) {
                    if (one >= from) throw std::runtime_error(std::to_string(one));
                    return one == match;
                };
            };
            CHECK_THROWS_WITH(static_cast<void>(parallel_find_if(some, values, throwing_from(11'111, 15'000),
                                                                 {.schedule = chosen})),
                              "11111");
            CHECK(*parallel_find_if(some, values, throwing_from(11'111, 11'110), {.schedule = chosen}) ==
                  11'110);
        }
        std::stop_source source;
        const auto stopping = [&](int) {
            source.request_stop();
            return false;
        };
        CHECK_THROWS_AS(static_cast<void>(parallel_find_if(
                            some, values, stopping, {.schedule = dynamic{1}, .stop = source.get_token()})),
                        stopped);
    }
}

#if defined(__x86_64__)
namespace {

template <class T>
void check_steps() {
    constexpr index most = 300;
    std::vector<T> values(most, T(1));
    const T* in = values.data();
    for (index n = 0; n <= most; n += n < 70 ? 1 : 23) {
        for (index first = 0; first <= n; ++first) {
            if (first < n) values[usize(first)] = T(2);
            if (first + 3 < n) values[usize(first + 3)] = T(2);
            index calls = 0;
            const auto counted = [&](index i) { return ++calls, in[i] > T(1); };
            const auto plain = [in](index i) { return in[i] > T(1); };
            CHECK(detail::search_wide<sizeof(T)>({0, n}, counted) == first);
            CHECK(calls <= n);
            CHECK(detail::search_wide<sizeof(T)>({0, n}, plain) == first);
            std::ranges::fill(values, T(1));
        }
    }
    // Of two places of one step the later one throws, or the earlier one.
    const auto throwing_at = [](index bad, index good) {
        return [=](index i) { return i == bad ? throw std::runtime_error("bad") : i == good; };
    };
    const auto finds = throwing_at(7, 5);
    CHECK(detail::search_wide<sizeof(T)>({0, most}, finds) == 5);
    const auto throws = throwing_at(5, 7);
    CHECK_THROWS_WITH(static_cast<void>(detail::search_wide<sizeof(T)>({0, most}, throws)), "bad");
}

}  // namespace

TEST_CASE("find_if: steps of many places find the first one, ask once, and throw as a serial search" *
          doctest::description("algorithms.md, promise 10")) {
    if (!detail::has_wide()) return;
    check_steps<double>();
    check_steps<float>();
    check_steps<std::int64_t>();
    check_steps<std::uint32_t>();
    check_steps<short>();
    check_steps<unsigned char>();
}
#endif

TEST_CASE("find_if: the faster way is kept, and long calls are never made in steps") {
    using way = detail::search_ways::way;
    const double tick = detail::ticks_per_nanosecond();
    const auto decided = [&](double one_by_one, double wide) {
        detail::search_ways ways;
        int steps = 0;
        while (!ways.is_decided()) {
            const way next = ways.next();
            steps += next == way::wide ? 1 : 0;
            CHECK(ways.best() == way::one_by_one);
            // The first looks are slow: the elements are not in the cache.
            ways.tried(next, (next == way::wide ? wide : one_by_one) * tick * (steps < 2 ? 3 : 1));
        }
        return std::pair{ways.best(), steps};
    };
    CHECK(decided(0.15, 0.05).first == way::wide);
    CHECK(decided(0.15, 0.152).first == way::wide);
    CHECK(decided(0.15, 0.17).first == way::one_by_one);
    CHECK(decided(0.15, 0.3).first == way::one_by_one);
    CHECK(decided(5, 0.1) == std::pair{way::one_by_one, 0});
    // What one type of predicate calls may become long: a pointer to a function.
    detail::search_ways ways;
    while (!ways.is_decided()) ways.tried(ways.next(), 0.1 * tick);
    CHECK(ways.best() == way::wide);
    ways.keep_pace(100 * tick);
    CHECK(ways.best() == way::one_by_one);
}

TEST_CASE("min_element and max_element: the first of the least, of every order and type" *
          doctest::description("algorithms.md, promise 11")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t size : sizes) {
            const std::vector<int> values = random_integers(size, 500, 7);
            const std::vector<double> doubles(values.begin(), values.end());
            std::deque<std::string> words;
            for (const int one : values) words.push_back(std::to_string(one));
            const auto by_last_digit = [](int a, int b) { return a % 10 < b % 10; };
            for (const schedule& chosen : fewer_schedules) {
                const algorithm_options options{.schedule = chosen};
                CHECK(parallel_min_element(some, values, std::less<>{}, options) ==
                      std::ranges::min_element(values));
                CHECK(parallel_min_element(some, values, by_last_digit, options) ==
                      std::ranges::min_element(values, by_last_digit));
                CHECK(parallel_max_element(some, values, by_last_digit, options) ==
                      std::ranges::max_element(values, by_last_digit));
                CHECK(parallel_max_element(some, doubles.begin(), doubles.end(), std::less<>{}, options) ==
                      std::ranges::max_element(doubles));
                CHECK(parallel_min_element(some, doubles, std::greater<>{}, options) ==
                      std::ranges::min_element(doubles, std::greater<>{}));
                CHECK(parallel_min_element(some, words, std::less<>{}, options) ==
                      std::ranges::min_element(words));
            }
        }
        std::vector<double> odd(10'000, 1.0);
        odd[77] = std::numeric_limits<double>::quiet_NaN();
        CHECK(parallel_min_element(some, odd) != odd.end());
        const std::vector<double> zeros = {1, 0.0, -0.0};
        CHECK(parallel_min_element(some, zeros) - zeros.begin() == 1);
        const auto failing = [](int, int) -> bool { throw std::runtime_error("no order"); };
        CHECK_THROWS_WITH(static_cast<void>(parallel_min_element(some, random_integers(5000, 9, 8), failing)),
                          "no order");
    }
}

TEST_CASE("move-only predicates, and algorithms inside bodies" *
          doctest::description("algorithms.md, promise 3")) {
    team some(shared_by(3));
    std::atomic<int> right{0};
    parallel_for(
        some, 6,
        [&](index) {
            std::vector<int> values = random_integers(3000, 10, 9);
            auto odd = [own = std::make_unique<int>(2)](int one) { return one % *own == 1; };
            const auto is_odd = [&](int one) { return odd(one); };
            const auto count = std::ranges::count_if(values, is_odd);
            std::vector<int> copy(values.size());
            right += parallel_copy_if(some, values, copy.begin(), odd) - copy.begin() == count ? 1 : 0;
            right += parallel_find_if(some, values, odd) == std::ranges::find_if(values, is_odd) ? 1 : 0;
            right += parallel_partition(some, values, odd) - values.begin() == count ? 1 : 0;
        },
        {.schedule = dynamic{1}});
    CHECK(right.load() == 18);
}

TEST_CASE("few elements, each of which takes long to choose, are shared" *
          doctest::description("algorithms.md, promise 7")) {
    team some(shared_by(2));
    std::mutex noting;
    std::set<std::thread::id> threads;
    const auto slow = [&](int one) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        const std::lock_guard lock(noting);
        threads.insert(std::this_thread::get_id());
        return one % 2 == 1;
    };
    const std::vector<int> values = random_integers(40, 10, 9);
    const auto odd = std::ranges::count_if(values, [](int one) { return one % 2 == 1; });
    const auto by_two = [&](auto&& choose) {
        threads.clear();
        for (int call = 0; call < 20 && threads.size() < 2; ++call) {
            std::vector<int> copy = values;
            CHECK(choose(copy) == odd);
        }
        CHECK(threads.size() == 2);
    };
    by_two([&](std::vector<int>& copy) {
        std::vector<int> kept(copy.size());
        return parallel_copy_if(some, copy, kept.begin(), slow) - kept.begin();
    });
    by_two(
        [&](std::vector<int>& copy) { return parallel_stable_partition(some, copy, slow) - copy.begin(); });
    by_two([&](std::vector<int>& copy) { return parallel_partition(some, copy, slow) - copy.begin(); });
}

}  // namespace tauto
