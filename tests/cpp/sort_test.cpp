// The contract of parallel_sort and parallel_stable_sort.

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <tauto/tauto.hpp>

#include "reducing.hpp"

namespace tauto {
using detail::at;
using detail::usize;
using testing::fewer_schedules;
using testing::fewer_team_sizes;
using testing::numbers;
using testing::one_to_64;
using testing::sanitized;
using testing::shared_by;

namespace {

const std::vector<std::size_t> sizes = {0, 1, 2, 40, 100, 300, 511, 512, 1024, 1025, 5000, 32'769, 50'000};

struct labelled {
    int key = 0;
    int place = 0;
    friend bool operator==(const labelled&, const labelled&) = default;
};
bool by_key(const labelled& a, const labelled& b) {
    return a.key < b.key;
}

std::vector<labelled> labels(std::size_t n, unsigned keys, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<labelled> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = {static_cast<int>(random() % keys), static_cast<int>(i)};
    return values;
}

// Inputs that sorts are known to trip over.
std::vector<std::vector<int>> shapes(std::size_t n) {
    std::mt19937 random(5);
    std::vector<std::vector<int>> all(7, std::vector<int>(n));
    for (std::size_t i = 0; i < n; ++i) {
        const int place = static_cast<int>(i);
        all[0][i] = static_cast<int>(random());  // of either sign
        all[1][i] = place;
        all[2][i] = -place;
        all[3][i] = 7;
        all[4][i] = static_cast<int>(random() % 3);
        all[5][i] = random() % 50 == 0 ? static_cast<int>(random() % 1000) : place;
        all[6][i] = i % 2 == 0 ? place : -place;
    }
    return all;
}

template <class T>
std::vector<T> random_of(std::size_t n, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<T> values(n);
    for (T& one : values) {
        const std::uint64_t bits = random();
        if constexpr (sizeof(T) > sizeof(bits)) {
            one = static_cast<T>(static_cast<std::int64_t>(bits));
        } else if constexpr (std::is_floating_point_v<T>) {
            std::memcpy(&one, &bits, sizeof(one));
            if (std::isnan(one)) one = T{0};
        } else {
            one = static_cast<T>(bits);
        }
    }
    return values;
}

// Texts that share what they begin with, end in each other, have zeros and bytes of both signs.
std::vector<std::vector<std::string>> texts(std::size_t n) {
    std::mt19937 random(13);
    const auto letters = [&](std::size_t most, int kinds) {
        std::string text(random() % (most + 1), ' ');
        for (char& one : text) one = static_cast<char>(random() % static_cast<unsigned>(kinds));
        return text;
    };
    const std::string long_start(40, 'x');
    std::vector<std::vector<std::string>> all(8, std::vector<std::string>(n));
    for (std::size_t i = 0; i < n; ++i) {
        all[0][i] = letters(20, 256);
        all[1][i] = letters(9, 2);  // zeros and ones: many are equal, or go on with zeros
        all[2][i] = long_start + letters(18, 3);
        all[3][i] = std::string(random() % 200, 'a');
        all[4][i] = "same";
        all[5][i] = "/folder/" + std::to_string(random() % 7) + "/name/" + std::to_string(random() % 1000);
        all[6][i] = i == n / 3 + 1 ? std::string("/fold") : all[5][i];  // less than a guess can see
        all[7][i] = std::to_string(i);
    }
    return all;
}

// The usual order of strings, which does something at each comparison. One type for all tests: a sort of
// strings takes the compiler seconds.
struct watched_order {
    const std::function<void()>& at_comparison;
    bool operator()(const std::string& a, const std::string& b) const {
        at_comparison();
        return a < b;
    }
};

template <class T>
void check_numbers(team& some, std::size_t n) {
    std::vector<T> wanted = random_of<T>(n, 11);
    std::vector<T> found = wanted;
    std::sort(wanted.begin(), wanted.end());
    parallel_sort(some, found);
    CHECK(found == wanted);
    std::reverse(wanted.begin(), wanted.end());
    parallel_stable_sort(some, found.begin(), found.end(), std::greater<T>{});
    CHECK(found == wanted);
}

// Sorted numbers, of which a share were put somewhere else.
std::vector<double> nearly_sorted_of(std::size_t n, double share) {
    std::vector<double> values = numbers(n, 21);
    std::sort(values.begin(), values.end());
    std::mt19937 random(22);
    for (double k = 0; k < share * static_cast<double>(n); ++k)
        std::swap(values[random() % n], values[random() % n]);
    return values;
}

template <class Compare>
void check_bits(team& some, const std::vector<double>& values, Compare before) {
    std::vector<double> wanted = values;
    std::stable_sort(wanted.begin(), wanted.end(), before);
    std::vector<double> found = values;
    parallel_sort(some, found, before);
    REQUIRE(std::memcmp(found.data(), wanted.data(), found.size() * sizeof(double)) == 0);
}
void check_bits(team& some, std::vector<double> values) {
    check_bits(some, values, std::less<>{});
    std::reverse(values.begin(), values.end());
    check_bits(some, values, std::greater<>{});
}

}  // namespace

TEST_CASE("short and nearly sorted: stable, and no element is lost where a comparison throws" *
          doctest::description("algorithms.md, promises 12 and 13")) {
    struct item {
        int key;
        int place;
        bool operator==(const item&) const = default;
    };
    team some(shared_by(2));
    std::mt19937 random(11);
    for (const int n : {2, 9, 30, 100, 511}) {
        for (int swaps = 0; swaps < 12; ++swaps) {
            std::vector<item> values;
            for (int i = 0; i < n; ++i) values.push_back({i / 3, i});
            for (int k = 0; k < swaps; ++k)
                std::swap(values[random() % values.size()], values[random() % values.size()]);
            for (int i = 0; i < n; ++i) values[usize(i)].place = i;
            const auto before = [](const item& left, const item& right) { return left.key < right.key; };
            std::vector<item> wanted = values;
            std::ranges::stable_sort(wanted, before);
            std::vector<item> found = values;
            parallel_stable_sort(some, found, before);
            CHECK(found == wanted);
            const auto by_place = [](const item& left, const item& right) {
                return left.place < right.place;
            };
            for (int calls = 0; calls < 3 * n; calls += 1 + n / 9) {
                int left = calls;
                found = values;
                try {
                    parallel_sort(some, found, [&](const item& one, const item& other) {
                        if (left-- == 0) throw std::runtime_error("enough");
                        return before(one, other);
                    });
                } catch (const std::runtime_error&) {
                }
                std::ranges::sort(found, by_place);
                CHECK(found == values);
            }
        }
    }
}

TEST_CASE("what is nearly sorted, whichever elements are out of place" *
          doctest::description("algorithms.md, promise 12")) {
    for (const int members : sanitized ? std::vector{7} : std::vector{1, 2, 7}) {
        team some(shared_by(members));
        for (const std::size_t n : {std::size_t{5000}, std::size_t{sanitized ? 40'000 : 70'000}}) {
            for (const double share : {0.00003, 0.01, 0.1}) check_bits(some, nearly_sorted_of(n, share));
            std::vector<double> values = nearly_sorted_of(n, 0);
            std::rotate(values.begin(), values.begin() + 1, values.end());  // one block's last is the least
            check_bits(some, values);
            std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n / 2), values.end());
            check_bits(some, values);  // too many leave, though there is one descent
            values = nearly_sorted_of(n, 0.01);
            std::fill(values.begin() + 5, values.begin() + 4500, values[n - 1]);  // a block is left empty
            check_bits(some, values);
            values = nearly_sorted_of(n, 0.01);
            for (std::size_t i = 0; i < n; i += 50) values[i] = i % 100 == 0 ? 0.0 : -0.0;
            check_bits(some, values);
        }
    }
}

TEST_CASE("what is in order is looked at once, and what only begins so is sorted" *
          doctest::description("algorithms.md, promise 12")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t n : {std::size_t{600}, std::size_t{5000}, std::size_t{70'000}}) {
            std::vector<labelled> values = labels(n, 1, 1);
            for (const bool equal : {true, false}) {
                std::atomic<std::size_t> compared{0};
                const auto counted = [&](const labelled& a, const labelled& b) {
                    ++compared;
                    return equal ? by_key(a, b) : a.place < b.place;
                };
                parallel_sort(some, values, counted);
                CHECK(compared < n + 50);  // the first few twice
                CHECK(std::ranges::is_sorted(values, {}, &labelled::place));
            }
            const double nan = std::numeric_limits<double>::quiet_NaN();
            for (const std::size_t place : {std::size_t{0}, std::size_t{40}, n / 2, n - 1}) {
                for (const double one : {0.5, 2.0, nan, -nan}) {
                    std::vector<double> up(n, 1.0), down(n, 1.0);
                    up[place] = down[place] = one;
                    parallel_sort(some, up);
                    parallel_sort(some, down, std::greater<>{});
                    const bool last = one == 2.0 || (std::isnan(one) && !std::signbit(one));
                    for (const std::vector<double>* const sorted : {&up, &down}) {
                        const bool at_end = last == (sorted == &up);
                        const double there = at_end ? sorted->back() : sorted->front();
                        CHECK(std::bit_cast<std::uint64_t>(there) == std::bit_cast<std::uint64_t>(one));
                        CHECK(std::ranges::count(*sorted, 1.0) == static_cast<index>(n) - 1);
                    }
                }
            }
        }
    }
}

TEST_CASE("the memory of a large buffer serves the next one, and two at once are apart") {
    using buffer = detail::raw_buffer<double>;
    constexpr index n = 1 << 19;
    {
        const buffer one(n);
        const buffer other(n);
        CHECK((one.data() + n <= other.data() || other.data() + n <= one.data()));
    }
    // Threads that take and give: each finds what it wrote.
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t, &wrong] {
            for (int k = 0; k < 200; ++k) {
                const buffer own(n + (k % 3) * n);
                own.data()[0] = own.data()[n - 1] = t;
                std::this_thread::yield();
                if (own.data()[0] != t || own.data()[n - 1] != t) ++wrong;
            }
        });
    }
    for (std::thread& one : threads) one.join();
    CHECK(wrong == 0);
#if !defined(__SANITIZE_ADDRESS__)
    { const buffer last(n); }
    CHECK(buffer(n).new_pages() == 0);
    CHECK(buffer(n / 2).new_pages() == 0);
    CHECK(buffer(index{1} << 27).new_pages() == 512);  // not kept: it is too large
    CHECK(buffer(index{1} << 27).new_pages() == 512);
    CHECK(buffer(n).new_pages() == 0);
#endif
}

TEST_CASE("numbers of every type, up and down" * doctest::description("algorithms.md, promise 12")) {
    for (const int members : {1, 3, 64}) {
        team some(shared_by(members));
        for (const std::size_t n : {std::size_t{100}, std::size_t{5000}, std::size_t{40'000}}) {
            check_numbers<double>(some, n);
            check_numbers<long double>(some, n);
#if !defined(__SANITIZE_THREAD__)  // to which types are alike, and take long to compile
            check_numbers<float>(some, n);
            check_numbers<std::int64_t>(some, n);
            check_numbers<std::uint64_t>(some, n);
            check_numbers<int>(some, n);
            check_numbers<unsigned short>(some, n);
            check_numbers<signed char>(some, n);
            check_numbers<char>(some, n);
#endif
        }
    }
}

TEST_CASE("every shape of input, on every team and schedule, by digits and by comparisons" *
          doctest::description("algorithms.md, promise 12")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const std::size_t n : sizes) {
            for (const std::vector<int>& shape : shapes(n)) {
                std::vector<int> wanted = shape;
                std::sort(wanted.begin(), wanted.end());
                for (const schedule& chosen : fewer_schedules) {
                    std::vector<int> found = shape;
                    parallel_sort(some, found.begin(), found.end(), std::less<>{}, {.schedule = chosen});
                    REQUIRE(found == wanted);
                    found = shape;
                    parallel_sort(some, found, [](int a, int b) { return a < b; }, {.schedule = chosen});
                    REQUIRE(found == wanted);
                    if (n > 5000) break;
                }
            }
        }
    }
}

TEST_CASE("the same order of equal elements for every team of 1 to 64 and schedule; stable keeps it" *
          doctest::description("algorithms.md, promise 12")) {
    for (const unsigned keys : {1U, 10U, 1000U}) {
        const std::vector<labelled> values = labels(30'000, keys, 3);
        std::vector<labelled> stable = values;
        std::stable_sort(stable.begin(), stable.end(), by_key);
        std::vector<labelled> first;
        for (const int members : one_to_64) {
            team some(shared_by(members));
            for (const schedule& chosen : fewer_schedules) {
                std::vector<labelled> found = values;
                parallel_sort(some, found, by_key, {.schedule = chosen});
                if (first.empty()) first = found;
                REQUIRE(found == first);
                found = values;
                parallel_stable_sort(some, found, by_key, {.schedule = chosen});
                REQUIRE(found == stable);
            }
        }
        CHECK(std::is_sorted(first.begin(), first.end(), by_key));
    }
}

TEST_CASE("zeros of both signs keep their order, and NaN has a place" *
          doctest::description("algorithms.md, promise 12")) {
    for (const std::size_t n : {std::size_t{200}, std::size_t{3000}, std::size_t{40'000}}) {
        std::mt19937 random(9);
        std::vector<double> values(n);
        for (double& one : values) one = random() % 3 == 0 ? -1.0 : random() % 2 == 0 ? 0.0 : -0.0;
        std::vector<double> wanted = values;
        std::stable_sort(wanted.begin(), wanted.end());
        for (const int members : {1, 2, 7}) {
            team some(shared_by(members));
            std::vector<double> found = values;
            parallel_stable_sort(some, found);
            for (std::size_t i = 0; i < n; ++i)
                REQUIRE(std::bit_cast<std::uint64_t>(found[i]) == std::bit_cast<std::uint64_t>(wanted[i]));
        }
    }
    // In arrays that are sorted by digits, in short ones, which are so without NaN by comparisons, and
    // elsewhere.
    team some(shared_by(2));
    for (const std::size_t n : {std::size_t{4}, std::size_t{40}, std::size_t{3000}, std::size_t{50'000}}) {
        std::vector<double> values = numbers(n, 4);
        for (std::size_t i = 0; i < n / 4; ++i) values[4 * i] = std::numeric_limits<double>::quiet_NaN();
        values[1] = -std::numeric_limits<double>::quiet_NaN();
        values[2] = std::numeric_limits<double>::infinity();
        std::deque<double> same(values.begin(), values.end());
        std::vector<double> down = values;
        parallel_sort(some, values);
        parallel_sort(some, same);
        parallel_sort(some, down, std::greater<>{});
        const auto last = values.end() - static_cast<std::ptrdiff_t>(n / 4);
        CHECK(std::isnan(values.front()));
        CHECK(std::isinf(*(last - 1)));
        CHECK(std::is_sorted(values.begin() + 1, last));
        CHECK(std::all_of(last, values.end(), [](double one) { return std::isnan(one); }));
        const auto same_bits = [](double left, double right) {
            return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
        };
        CHECK(std::equal(same.begin(), same.end(), values.begin(), same_bits));
        CHECK(std::equal(down.rbegin(), down.rend(), values.begin(), same_bits));
    }
}

TEST_CASE("strings, move-only elements, a deque, a reversed range" *
          doctest::description("algorithms.md, promise 12")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        std::mt19937 random(6);
        std::deque<std::string> words;
        for (int i = 0; i < 6000; ++i)
            words.push_back("a word that does not fit inside " + std::to_string(random() % 900));
        std::deque<std::string> wanted = words;
        std::sort(wanted.begin(), wanted.end());
        parallel_sort(some, words, std::less<>{}, {.schedule = dynamic{1}});
        CHECK(words == wanted);
        std::vector<std::unique_ptr<int>> owners;
        for (int i = 0; i < 6000; ++i)
            owners.push_back(std::make_unique<int>(static_cast<int>(random() % 100)));
        parallel_stable_sort(some, owners, [](const auto& a, const auto& b) { return *a < *b; },
                             {.schedule = dynamic{1}});
        for (std::size_t i = 1; i < owners.size(); ++i) REQUIRE(*owners[i - 1] <= *owners[i]);
        std::vector<int> values = random_of<int>(3000, 7);
        parallel_sort(some, values.rbegin(), values.rend());
        CHECK(std::is_sorted(values.rbegin(), values.rend()));
    }
}

TEST_CASE("texts: std's order, and equal ones keep theirs, on every team and schedule" *
          doctest::description("algorithms.md, promise 12")) {
    const std::size_t long_enough = sanitized ? 4500 : 9000;  // for several blocks
    for (const std::size_t n : {std::size_t{33}, std::size_t{700}, long_enough}) {
        for (const std::vector<std::string>& words : texts(n)) {
            std::vector<std::string> wanted = words;
            std::stable_sort(wanted.begin(), wanted.end());
            // Where a view's text lies tells which of several equal ones it is.
            std::vector<std::string_view> views(words.begin(), words.end());
            std::stable_sort(views.begin(), views.end(), std::greater<>{});
            for (const int members : sanitized ? std::vector{7} : fewer_team_sizes) {
                team some(shared_by(members));
                for (const schedule& chosen : fewer_schedules) {
                    std::vector<std::string> found = words;
                    parallel_sort(some, found, std::less<>{}, {.schedule = chosen});
                    REQUIRE(found == wanted);
                    std::vector<std::string_view> seen(words.begin(), words.end());
                    parallel_stable_sort(some, seen, std::greater<>{}, {.schedule = chosen});
                    const auto same = [](std::string_view a, std::string_view b) {
                        return a.data() == b.data() && a.size() == b.size();
                    };
                    REQUIRE(std::equal(seen.begin(), seen.end(), views.begin(), views.end(), same));
                }
            }
        }
    }
}

TEST_CASE("elements that may only be moved, though a copy of their bytes would do" *
          doctest::description("algorithms.md, promise 12")) {
    struct handle {
        int key = 0;
        explicit handle(int number) : key(number) {}
        handle(const handle&) = delete;
        handle(handle&&) = default;
        handle& operator=(const handle&) = delete;
        handle& operator=(handle&&) = default;
    };
    static_assert(std::is_trivially_copyable_v<handle>);
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const int size : {300, 5000}) {
            std::vector<handle> handles;
            for (int i = 0; i < size; ++i) handles.emplace_back(i * 7919 % size);
            parallel_sort(some, handles, [](const handle& a, const handle& b) { return a.key < b.key; });
            for (int i = 0; i < size; ++i) REQUIRE(at(handles, i).key == i);
            const auto odd = [](const handle& one) { return one.key % 2 == 1; };
            CHECK(parallel_stable_partition(some, handles, odd) - handles.begin() == size / 2);
            for (int i = 0; i < size; ++i)
                REQUIRE(at(handles, i).key == (i < size / 2 ? 2 * i + 1 : 2 * (i - size / 2)));
        }
    }
}

TEST_CASE("a comparison that throws: the elements are still objects, and the team is usable" *
          doctest::description("algorithms.md, promise 13")) {
    const std::vector<int> throws = sanitized ? std::vector{0, 20'000, 100'000}
                                              : std::vector{0, 100, 20'000, 60'000, 90'000, 100'000, 110'000};
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const int after : throws) {
            std::vector<std::string> words;
            for (int i = 0; i < 8192; ++i)
                words.push_back(std::to_string(i * 7919 % 8192) + " longer than what fits inside");
            std::atomic<int> calls{0};
            const std::function<void()> fails = [&] {
                if (++calls > after) throw std::runtime_error("no order");
            };
            bool failed = false;
            try {
                parallel_sort(some, words, watched_order{fails}, {.schedule = dynamic{1}});
            } catch (const std::runtime_error&) {
                failed = true;
            }
            CHECK(failed == (calls.load() > after));
            for (std::string& one : words) one += "!";
            parallel_sort(some, words);
            CHECK(std::is_sorted(words.begin(), words.end()));
        }
    }
}

TEST_CASE("merging loses no element when a comparison throws" *
          doctest::description("algorithms.md, promise 13")) {
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        // The runs are sorted already: their comparisons are counted first.
        for (const int level : {0, 1, 2, 3}) {
            std::vector<std::string> words(4096);
            for (int i = 0; i < 4096; ++i)
                at(words, i) = std::to_string(100'000 + i % 256 * 16 + i / 256) + " and more";
            std::vector<std::string> wanted = words;
            std::sort(wanted.begin(), wanted.end());
            std::atomic<int> calls{0};
            const std::function<void()> fails = [&] {
                if (++calls > 4096 + 4096 * level + 2000) throw std::runtime_error("no order");
            };
            CHECK_THROWS_AS(parallel_sort(some, words, watched_order{fails}, {.schedule = dynamic{1}}),
                            std::runtime_error);
            std::sort(words.begin(), words.end());
            CHECK(words == wanted);
        }
    }
}

TEST_CASE("a sort that is stopped leaves all elements" * doctest::description("algorithms.md, promise 13")) {
    std::vector<std::string> before;
    for (int i = 0; i < 20'000; ++i) before.push_back(std::to_string(i * 7919 % 20'011));
    std::vector<std::string> wanted = before;
    std::sort(wanted.begin(), wanted.end());
    const std::vector<double> random = numbers(sanitized ? 60'000 : 200'000, 8);
    std::vector<double> wanted_numbers = random;
    std::sort(wanted_numbers.begin(), wanted_numbers.end());
    const std::vector<int> after_comparisons =
        sanitized ? std::vector{1, 150'000} : std::vector{1, 30'000, 150'000, 200'000};
    for (const int members : fewer_team_sizes) {
        team some(shared_by(members));
        for (const int after : after_comparisons) {
            std::stop_source source;
            std::atomic<int> calls{0};
            std::vector<std::string> words = before;
            const std::function<void()> stops = [&] {
                if (++calls > after) source.request_stop();
            };
            CHECK_THROWS_AS(parallel_sort(some, words, watched_order{stops},
                                          {.schedule = dynamic{1}, .stop = source.get_token()}),
                            stopped);
            std::sort(words.begin(), words.end());
            CHECK(words == wanted);
        }
        // Texts and numbers: from another thread, at any moment.
        for (int trial = 0; trial < (sanitized ? 2 : 5); ++trial) {
            std::vector<std::string> words = before;
            std::stop_source source;
            std::thread other([&] { source.request_stop(); });
            try {
                parallel_sort(some, words, std::less<>{}, {.stop = source.get_token()});
            } catch (const stopped&) {
            }
            other.join();
            std::sort(words.begin(), words.end());
            CHECK(words == wanted);
        }
        for (int trial = 0; trial < (sanitized ? 2 : 5); ++trial) {
            std::vector<double> values = random;
            std::stop_source source;
            std::thread other([&] { source.request_stop(); });
            try {
                parallel_sort(some, values, std::less<>{}, {.stop = source.get_token()});
            } catch (const stopped&) {
            }
            other.join();
            std::sort(values.begin(), values.end());
            CHECK(values == wanted_numbers);
        }
    }
}

TEST_CASE("a sort inside a body, with a move-only comparison" *
          doctest::description("algorithms.md, promise 3")) {
    team some(shared_by(3));
    std::atomic<int> right{0};
    parallel_for(some, 6,
                 [&](index) {
                     std::vector<double> values = numbers(40'000, 2);
                     parallel_sort(some, values);
                     std::vector<int> integers = random_of<int>(5000, 2);
                     parallel_sort(some, integers,
                                   [own = std::make_unique<int>(1)](int a, int b) { return a / *own < b; });
                     right += std::is_sorted(values.begin(), values.end()) &&
                                      std::is_sorted(integers.begin(), integers.end())
                                  ? 1
                                  : 0;
                 },
                 {.schedule = dynamic{1}});
    CHECK(right.load() == 6);
}

TEST_CASE("splits of a merge: every length of the left run, with equal elements") {
    std::mt19937 random(8);
    const auto less = [](int a, int b) { return a < b; };
    for (int trial = 0; trial < 200; ++trial) {
        const auto left = static_cast<index>(random() % 20);
        const auto right = static_cast<index>(random() % 20);
        std::vector<int> both;
        for (index i = 0; i < left + right; ++i) both.push_back(static_cast<int>(random() % 6));
        std::sort(both.begin(), both.begin() + left);
        std::sort(both.begin() + left, both.end());
        index from_left = 0;
        for (index count = 0; count <= left + right; ++count) {
            const index split =
                detail::merge_split(both.data(), range{0, left}, range{left, left + right}, count, less);
            // One element more each time, and of equal ones the left one first.
            CHECK((split == from_left || split == from_left + 1));
            const bool took_left = split == from_left + 1;
            const index l = from_left;
            const index r = left + count - 1 - from_left;
            if (count > 0 && l < left && r < left + right) CHECK(took_left == !(at(both, r) < at(both, l)));
            from_left = split;
        }
    }
}

}  // namespace tauto
