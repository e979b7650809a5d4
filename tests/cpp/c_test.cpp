// The library for C, called as C does, beside the same calls in C++. The two have teams of their own: this
// program has a copy of the runtime in it.

#include <doctest/doctest.h>

#include <tauto.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <tauto/tauto.hpp>

#include "reducing.hpp"
#include "refusals.hpp"

namespace tauto {
using testing::mentions;
using testing::numbers;
using testing::shared_by;
using testing::team_sizes;

namespace {

// A team of the C library.
class c_team {
  public:
    explicit c_team(int members) {
        const std::vector<int> cpus = shared_by(1).cpus;
        tauto_team_options options = TAUTO_TEAM_OPTIONS;
        options.cpus = cpus.data();
        options.cpu_count = cpus.size();
        options.members = members;
        REQUIRE(tauto_team_create(&options, &team_) == TAUTO_OK);
    }
    ~c_team() { tauto_team_destroy(team_); }
    c_team(const c_team&) = delete;
    c_team& operator=(const c_team&) = delete;
    operator tauto_team*() const { return team_; }

  private:
    tauto_team* team_ = nullptr;
};

tauto_options with_schedule(int kind, const tauto_stop* stop = nullptr) {
    tauto_options options = TAUTO_OPTIONS;
    options.schedule = kind;
    options.chunk = 3;
    options.stop = stop;
    return options;
}

bool refused(tauto_status status, const char* part) {
    return status == TAUTO_REFUSED && mentions(tauto_message(), part);
}

std::int64_t length(const auto& values) {
    return std::ssize(values);
}

// The call of each index, counted.
struct counted {
    std::vector<std::atomic<int>> calls;
    std::int64_t first = 0;
    int members = 1;
    std::atomic<bool> ranks_are_right{true};

    static void range(void* self, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) index(self, i);
    }
    static void index(void* self, std::int64_t i) {
        auto& own = *static_cast<counted*>(self);
        ++own.calls[static_cast<std::size_t>(i - own.first)];
        if (tauto_rank() < 0 || tauto_rank() >= own.members) own.ranks_are_right = false;
    }
};

double sum_of_range(void* context, std::int64_t begin, std::int64_t end) {
    const auto* const values = static_cast<const double*>(context);
    return std::accumulate(values + begin, values + end, 0.0);
}

// A product of matrices does not commute.
using matrix = std::array<std::uint64_t, 4>;
matrix product(const matrix& a, const matrix& b) {
    return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
            a[2] * b[1] + a[3] * b[3]};
}
matrix factor(std::int64_t i) {
    const auto k = static_cast<std::uint64_t>(i);
    return {k % 7 + 1, k % 5, k % 3, k % 11 + 1};
}
// Three of them: more than the library keeps without memory of its own.
struct matrices {
    std::array<matrix, 3> each;
};
matrices product_of_range(std::int64_t begin, std::int64_t end) {
    matrices all{{factor(begin), factor(begin), factor(begin)}};
    for (std::int64_t i = begin + 1; i < end; ++i)
        for (matrix& one : all.each) one = product(one, factor(i));
    return all;
}
constexpr matrix unit = {1, 0, 0, 1};

struct keyed {
    int key;
    int place;
    bool operator==(const keyed&) const = default;
};
template <std::size_t Bytes>
struct padded : keyed {
    std::array<char, Bytes - sizeof(keyed)> rest;
};

// As qsort_r's; counts its calls in the context.
int by_key(const void* left, const void* right, void* calls) {
    ++*static_cast<std::atomic<long>*>(calls);
    const int a = static_cast<const keyed*>(left)->key;
    const int b = static_cast<const keyed*>(right)->key;
    return (a > b) - (a < b);
}

template <class Element>
bool sorts_stably(tauto_team* team, int n) {
    std::vector<Element> elements(static_cast<std::size_t>(n));
    std::mt19937 random(3);
    for (int i = 0; i < n; ++i) {
        keyed& one = elements[static_cast<std::size_t>(i)];
        one = {static_cast<int>(random() % 100), i};
    }
    std::atomic<long> calls = 0;
    if (tauto_stable_sort(team, elements.data(), n, sizeof(Element), by_key, &calls, nullptr) != TAUTO_OK)
        return false;
    const auto in_order = [](const keyed& a, const keyed& b) {
        return std::pair(a.key, a.place) < std::pair(b.key, b.place);
    };
    return std::is_sorted(elements.begin(), elements.end(), in_order) && (n < 2 || calls > 0);
}

struct fibonacci_call {
    tauto_team* team;
    int n;
    long result = 0;

    static void run(void* self) {
        auto& own = *static_cast<fibonacci_call*>(self);
        if (own.n < 2) {
            own.result = own.n;
            return;
        }
        fibonacci_call left{own.team, own.n - 1};
        fibonacci_call right{own.team, own.n - 2};
        if (tauto_parallel_invoke(own.team, run, &left, run, &right) == TAUTO_OK)
            own.result = left.result + right.result;
    }
};

// Each task adds two, as deep as `left` says.
struct tree {
    tauto_task_group* group = nullptr;
    std::atomic<int> tasks{0};
    std::atomic<int> seen_by_wait{0};
    int depth = 0;
    struct node {
        tree* whole;
        int left;
    };
    std::array<node, 8> nodes{};

    static void task(void* context) {
        const node own = *static_cast<node*>(context);
        ++own.whole->tasks;
        if (own.left == 0) return;
        node& next = own.whole->nodes[static_cast<std::size_t>(own.left - 1)];
        for (int k = 0; k < 2; ++k)
            if (tauto_task_group_run(own.whole->group, task, &next) != TAUTO_OK) return;
    }
    static void body(void* self, tauto_task_group* group) {
        auto& own = *static_cast<tree*>(self);
        own.group = group;
        for (std::size_t k = 0; k < own.nodes.size(); ++k) own.nodes[k] = {&own, static_cast<int>(k)};
        task(&own.nodes[static_cast<std::size_t>(own.depth)]);
        if (tauto_task_group_wait(group) == TAUTO_OK) own.seen_by_wait = own.tasks.load();
    }
};

void nothing(void*, std::int64_t, std::int64_t) {}

}  // namespace

TEST_CASE("a structure of an older header ends sooner: what it lacks has its default, and is not read" *
          doctest::description("bindings.md, promise 1")) {
    // The last bytes are not there, for a sanitizer to see.
    const auto shorter = [](const auto& whole, std::size_t bytes) {
        auto memory = std::make_unique<std::byte[]>(bytes);
        std::memcpy(memory.get(), &whole, bytes);
        std::memcpy(memory.get(), &bytes, sizeof bytes);
        return memory;
    };
    tauto_team_options wide = TAUTO_TEAM_OPTIONS;
    wide.members = 2;
    wide.stack_bytes = 1;  // beyond the end
    const auto older = shorter(wide, offsetof(tauto_team_options, stack_bytes));
    tauto_team* team = nullptr;
    CHECK(tauto_team_create(reinterpret_cast<const tauto_team_options*>(older.get()), &team) == TAUTO_OK);
    CHECK(tauto_team_size(team) == 2);

    const std::array<double, 3> x = {3, 1, 2};
    double sum = 0;
    tauto_options options = with_schedule(TAUTO_DYNAMIC);
    options.chunk = 2;
    options.grain = -1;  // beyond the end
    for (const std::size_t bytes : {offsetof(tauto_options, stop), offsetof(tauto_options, grain)}) {
        const auto short_options = shorter(options, bytes);
        CHECK(tauto_sum_double(team, x.data(), 3, &sum,
                               reinterpret_cast<const tauto_options*>(short_options.get())) == TAUTO_OK);
        CHECK(sum == 6);
    }
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{20}, sizeof options + 8}) {
        options.bytes = bytes;
        CHECK(refused(tauto_sum_double(team, x.data(), 3, &sum, &options), "TAUTO_OPTIONS"));
    }
    tauto_team_destroy(team);
}

TEST_CASE("a limit of members, and a low priority" * doctest::description("bindings.md, promise 1")) {
    const c_team team(3);
    tauto_options options = with_schedule(TAUTO_DYNAMIC);
    options.members = 1;
    std::set<std::thread::id> threads;
    const auto note = [](void* context, std::int64_t) {
        static_cast<std::set<std::thread::id>*>(context)->insert(std::this_thread::get_id());
    };
    CHECK(tauto_parallel_for_each(team, 0, 1000, 1, note, &threads, &options) == TAUTO_OK);
    CHECK(threads == std::set<std::thread::id>{std::this_thread::get_id()});
    options.members = 0;
    options.priority = TAUTO_LOW;
    std::array<double, 3> x = {3, 1, 2};
    double sum = 0;
    CHECK(tauto_sum_double(team, x.data(), 3, &sum, &options) == TAUTO_OK);
    CHECK(sum == 6);
    CHECK(tauto_sort_double(team, x.data(), 3, &options) == TAUTO_OK);
    CHECK(x == std::array<double, 3>{1, 2, 3});
}

TEST_CASE("what cannot be done is refused in words, and nothing is done" *
          doctest::description("bindings.md, promise 1")) {
    const c_team team(2);
    std::array<double, 3> x = {3, 1, 2};
    double sum = 7;
    CHECK(refused(tauto_sum_double(nullptr, x.data(), 3, &sum, nullptr), "got NULL as `team`"));
    CHECK(refused(tauto_sum_double(team, nullptr, 3, &sum, nullptr), "got NULL as `values`"));
    CHECK(refused(tauto_sum_double(team, x.data(), -1, &sum, nullptr), "of -1 elements"));
    CHECK(refused(tauto_sum_double(team, x.data(), 3, nullptr, nullptr), "got NULL as `sum`"));
    CHECK(refused(tauto_sort_double(team, x.data(), (std::int64_t{1} << 56) + 1, nullptr), "0 to 2^56"));
    CHECK(refused(tauto_parallel_for(team, 0, 5, nullptr, nullptr, nullptr), "got NULL as `body`"));
    CHECK(refused(tauto_parallel_for_each(team, 0, 5, 0, counted::index, nullptr, nullptr), "stride"));
    CHECK(refused(tauto_stable_sort(team, x.data(), 3, 0, by_key, nullptr, nullptr), "0 bytes"));
    CHECK(refused(tauto_stable_sort(team, x.data(), 3, SIZE_MAX / 2, by_key, nullptr, nullptr),
                  "address space"));
    tauto_options options = with_schedule(6);
    CHECK(refused(tauto_sum_double(team, x.data(), 3, &sum, &options), "the schedule 6"));
    options = with_schedule(TAUTO_DYNAMIC);
    options.chunk = -2;
    CHECK(refused(tauto_sum_double(team, x.data(), 3, &sum, &options), "chunks of -2"));
    options.chunk = 1;
    options.members = -1;
    CHECK(refused(tauto_sum_double(team, x.data(), 3, &sum, &options), "limit of -1"));
    options.members = 0;
    options.priority = 2;
    CHECK(refused(tauto_sum_double(team, x.data(), 3, &sum, &options), "the priority 2"));
    options.priority = TAUTO_NORMAL;
    options.grain = -1;
    CHECK(refused(tauto_sum_double(team, x.data(), 3, &sum, &options), "blocks of -1"));
    options.bytes = 0;
    CHECK(refused(tauto_sum_double(team, x.data(), 3, &sum, &options), "TAUTO_OPTIONS"));
    CHECK(sum == 7);
    CHECK(x == std::array<double, 3>{3, 1, 2});

    tauto_team* made = nullptr;
    tauto_team_options wrong = TAUTO_TEAM_OPTIONS;
    const int cpus[] = {1 << 20};
    wrong.cpus = cpus;
    CHECK(refused(tauto_team_create(&wrong, &made), "0 CPUs"));
    wrong.cpu_count = 1;
    CHECK(refused(tauto_team_create(&wrong, &made), std::to_string(cpus[0]).c_str()));
    wrong = TAUTO_TEAM_OPTIONS;
    wrong.members = -1;
    CHECK(refused(tauto_team_create(&wrong, &made), "-1"));
    wrong.wait = 9;
    CHECK(refused(tauto_team_create(&wrong, &made), "the wait 9"));
    wrong.bytes = 4;
    CHECK(refused(tauto_team_create(&wrong, &made), "TAUTO_TEAM_OPTIONS"));
    CHECK(made == nullptr);
    CHECK(refused(tauto_team_create(nullptr, nullptr), "got NULL as `team`"));

    // The words are those of a thread, and stay where a call succeeds.
    CHECK(tauto_sum_double(team, x.data(), 3, &sum, nullptr) == TAUTO_OK);
    CHECK(sum == 6);
    CHECK(mentions(tauto_message(), "got NULL as `team`"));
    std::string of_other = "not asked";
    std::thread([&] { of_other = tauto_message(); }).join();
    CHECK(of_other.empty());
    // Nothing to do needs nothing.
    CHECK(tauto_sort_double(team, nullptr, 0, nullptr) == TAUTO_OK);
    CHECK(tauto_parallel_for(team, 5, 5, nothing, nullptr, nullptr) == TAUTO_OK);
    tauto_team_destroy(nullptr);
    tauto_stop_destroy(nullptr);
    CHECK(tauto_team_size(nullptr) == 0);
    CHECK(tauto_team_cpu(team, 2) == -1);
}

TEST_CASE("a team has the members, CPUs and hook that it is asked for" *
          doctest::description("bindings.md, promise 2")) {
    const c_team three(3);
    CHECK(tauto_team_size(three) == 3);
    CHECK(tauto_team_cpu(three, 0) == shared_by(1).cpus[0]);
    int pinned = -1;
    CHECK(tauto_team_pinned(three, &pinned) == TAUTO_OK);
    CHECK((pinned == 0 || pinned == 1));

    std::atomic<unsigned> ranks = 0;
    tauto_team_options options = TAUTO_TEAM_OPTIONS;
    options.members = 4;
    options.pin = 0;
    options.wait = TAUTO_WAIT_PASSIVE;
    options.name = "mine";
    options.on_start = [](void* context, int rank) {
        *static_cast<std::atomic<unsigned>*>(context) |= 1U << rank;
    };
    options.context = &ranks;
    tauto_team* four = nullptr;
    REQUIRE(tauto_team_create(&options, &four) == TAUTO_OK);
    CHECK(tauto_team_pinned(four, &pinned) == TAUTO_OK);
    tauto_team_destroy(four);
    CHECK(ranks == 0b1110U);
    CHECK(tauto_version() == TAUTO_VERSION);
}

TEST_CASE("loops hand out every index once" * doctest::description("bindings.md, promise 3")) {
    for (const int members : team_sizes) {
        const c_team team(members);
        for (int kind = TAUTO_ADAPTIVE; kind <= TAUTO_WEIGHTED; ++kind) {
            const tauto_options options = with_schedule(kind);
            counted all{std::vector<std::atomic<int>>(1000), -100, members};
            CHECK(tauto_parallel_for(team, -100, 900, counted::range, &all, &options) == TAUTO_OK);
            CHECK(tauto_parallel_for_each(team, 899, -101, -1, counted::index, &all, &options) == TAUTO_OK);
            CHECK(tauto_parallel_for_each(team, -100, 900, 2, counted::index, &all, nullptr) == TAUTO_OK);
            int wrong = 0;
            for (std::size_t i = 0; i < all.calls.size(); ++i) wrong += all.calls[i] != (i % 2 == 0 ? 3 : 2);
            CHECK(wrong == 0);
            CHECK(all.ranks_are_right);
        }
    }
}

TEST_CASE("sums, scans and reductions have the bits of the calls in C++, for every team" *
          doctest::description("bindings.md, promise 4")) {
    team other;
    for (const std::int64_t n : {1, 100, 2177, 50'000}) {
        std::vector<double> x = numbers(static_cast<std::size_t>(n), 5);
        std::vector<std::int64_t> k(x.size());
        for (std::size_t i = 0; i < k.size(); ++i) k[i] = std::bit_cast<std::int64_t>(x[i]);
        const auto value = [&](index i) { return detail::at(x, i); };
        const double sum = parallel_reduce(other, n, 0.0, value, std::plus<>{});
        const auto of_range = [&](range r) { return sum_of_range(x.data(), r.begin, r.end); };
        const double by_range = parallel_reduce(other, n, 0.5, of_range, std::plus<>{});
        std::vector<double> inclusive(x.size());
        std::vector<double> exclusive(x.size());
        parallel_inclusive_scan(other, x, inclusive.begin());
        parallel_exclusive_scan(other, x, exclusive.begin(), 0.25);
        std::vector<std::uint64_t> whole(k.begin(), k.end());
        std::inclusive_scan(whole.begin(), whole.end(), whole.begin());
        matrices all = product_of_range(0, n);
        for (matrix& one : all.each) one = product(unit, one);
        for (const int members : team_sizes) {
            const c_team team(members);
            double result = 0;
            CHECK(tauto_sum_double(team, x.data(), n, &result, nullptr) == TAUTO_OK);
            CHECK(std::bit_cast<std::uint64_t>(result) == std::bit_cast<std::uint64_t>(sum));
            CHECK(tauto_exact_sum(team, x.data(), n, &result, nullptr) == TAUTO_OK);
            CHECK(result == exact_sum(other, x));
            CHECK(tauto_reduce_double(team, 0, n, 0.5, sum_of_range, nullptr, x.data(), &result, nullptr) ==
                  TAUTO_OK);
            CHECK(std::bit_cast<std::uint64_t>(result) == std::bit_cast<std::uint64_t>(by_range));
            std::vector<double> scanned = x;
            CHECK(tauto_inclusive_scan_double(team, x.data(), n, scanned.data(), nullptr) == TAUTO_OK);
            CHECK(scanned == inclusive);
            scanned = x;
            CHECK(tauto_exclusive_scan_double(team, scanned.data(), n, 0.25, scanned.data(), nullptr) ==
                  TAUTO_OK);
            CHECK(scanned == exclusive);
            std::vector<std::int64_t> counts = k;
            CHECK(tauto_inclusive_scan_int64(team, counts.data(), n, counts.data(), nullptr) == TAUTO_OK);
            CHECK(std::equal(
                counts.begin(), counts.end(), whole.begin(),
                [](std::int64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(a) == b; }));
            CHECK(tauto_exclusive_scan_int64(team, k.data(), n, 3, counts.data(), nullptr) == TAUTO_OK);
            CHECK(counts[0] == 3);
            CHECK(static_cast<std::uint64_t>(counts.back()) ==
                  3 + whole.back() - static_cast<std::uint64_t>(k.back()));
            std::int64_t of_all = 0;
            CHECK(tauto_sum_int64(team, k.data(), n, &of_all, nullptr) == TAUTO_OK);
            CHECK(static_cast<std::uint64_t>(of_all) == whole.back());

            matrix small = unit;
            const auto one_map = [](void*, std::int64_t begin, std::int64_t end, void* to) {
                *static_cast<matrix*>(to) = product_of_range(begin, end).each[0];
            };
            const auto one_product = [](void*, void* left, const void* right) {
                auto& to = *static_cast<matrix*>(left);
                to = product(to, *static_cast<const matrix*>(right));
            };
            CHECK(tauto_reduce(team, 0, n, sizeof small, one_map, one_product, nullptr, &small, nullptr) ==
                  TAUTO_OK);
            CHECK(small == all.each[0]);
            matrices large{{unit, unit, unit}};
            const auto map = [](void*, std::int64_t begin, std::int64_t end, void* to) {
                *static_cast<matrices*>(to) = product_of_range(begin, end);
            };
            const auto combine = [](void*, void* left, const void* right) {
                for (std::size_t j = 0; j < 3; ++j) {
                    matrix& to = static_cast<matrices*>(left)->each[j];
                    to = product(to, static_cast<const matrices*>(right)->each[j]);
                }
            };
            tauto_options blocks = with_schedule(TAUTO_DYNAMIC);
            blocks.grain = 64;
            CHECK(tauto_reduce(team, 0, n, sizeof large, map, combine, nullptr, &large, &blocks) == TAUTO_OK);
            CHECK(large.each == all.each);
        }
    }
}

TEST_CASE("sorts are those of C++, stable where elements are the caller's" *
          doctest::description("bindings.md, promise 5")) {
    for (const int members : {1, 2, 7}) {
        const c_team team(members);
        for (const std::size_t n : {0, 1, 300, 40'000}) {
            std::vector<double> x = numbers(n, 9);
            std::vector<std::int64_t> k(n);
            std::vector<std::uint64_t> u(n);
            for (std::size_t i = 0; i < n; ++i) {
                u[i] = std::bit_cast<std::uint64_t>(x[i]);
                k[i] = static_cast<std::int64_t>(u[i]);
            }
            CHECK(tauto_sort_double(team, x.data(), length(x), nullptr) == TAUTO_OK);
            CHECK(tauto_sort_int64(team, k.data(), length(k), nullptr) == TAUTO_OK);
            CHECK(tauto_sort_uint64(team, u.data(), length(u), nullptr) == TAUTO_OK);
            CHECK(std::is_sorted(x.begin(), x.end()));
            CHECK(std::is_sorted(k.begin(), k.end()));
            CHECK(std::is_sorted(u.begin(), u.end()));
            std::vector<float> f(n);
            std::vector<std::int32_t> i(n);
            std::vector<std::uint32_t> v(n);
            for (std::size_t place = 0; place < n; ++place) {
                f[place] = static_cast<float>(x[(place * 7919) % n]);
                v[place] = std::bit_cast<std::uint32_t>(f[place]);
                i[place] = static_cast<std::int32_t>(v[place]);
            }
            CHECK(tauto_sort_float(team, f.data(), length(f), nullptr) == TAUTO_OK);
            CHECK(tauto_sort_int32(team, i.data(), length(i), nullptr) == TAUTO_OK);
            CHECK(tauto_sort_uint32(team, v.data(), length(v), nullptr) == TAUTO_OK);
            CHECK(std::is_sorted(f.begin(), f.end()));
            CHECK(std::is_sorted(i.begin(), i.end()));
            CHECK(std::is_sorted(v.begin(), v.end()));
        }
        for (const int n : {0, 1, 2, 300, 20'000}) {
            CHECK(sorts_stably<keyed>(team, n));
            CHECK(sorts_stably<padded<16>>(team, n));
            CHECK(sorts_stably<padded<52>>(team, n));
        }
    }
    // At an address that is not a multiple of 8.
    alignas(8) std::array<int, 2 * 1000 + 1> unaligned{};
    for (std::size_t i = 0; i < 1000; ++i) {
        unaligned[1 + 2 * i] = static_cast<int>(i % 7);
        unaligned[2 + 2 * i] = static_cast<int>(i);
    }
    std::atomic<long> calls = 0;
    const c_team two(2);
    CHECK(tauto_stable_sort(two, unaligned.data() + 1, 1000, 8, by_key, &calls, nullptr) == TAUTO_OK);
    for (std::size_t i = 1; i < 1000; ++i) {
        CHECK(std::pair(unaligned[2 * i - 1], unaligned[2 * i]) <
              std::pair(unaligned[2 * i + 1], unaligned[2 * i + 2]));
    }
}

TEST_CASE("the first of several is found, and the last bin has its upper edge" *
          doctest::description("bindings.md, promise 6")) {
    const c_team team(3);
    std::vector<double> x(30'000);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i % 1001) / 10;
    std::int64_t place = 0;
    CHECK(tauto_min_double(team, x.data(), length(x), &place, nullptr) == TAUTO_OK);
    CHECK(place == 0);
    CHECK(tauto_max_double(team, x.data(), length(x), &place, nullptr) == TAUTO_OK);
    CHECK(place == 1000);
    x[17'001] = -1;
    x[17'002] = -1;
    CHECK(tauto_min_double(team, x.data(), length(x), &place, nullptr) == TAUTO_OK);
    CHECK(place == 17'001);
    CHECK(tauto_min_double(team, nullptr, 0, &place, nullptr) == TAUTO_OK);
    CHECK(place == -1);
    const auto is_negative = [](void* values, std::int64_t i) -> int {
        return static_cast<const double*>(values)[i] < 0;
    };
    CHECK(tauto_find(team, 5, length(x), is_negative, x.data(), &place, nullptr) == TAUTO_OK);
    CHECK(place == 17'001);
    CHECK(tauto_find(team, 17'003, length(x), is_negative, x.data(), &place, nullptr) == TAUTO_OK);
    CHECK(place == length(x));

    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> some = {0, 0.1, 0.2, 0.3, 0.7, 0.999, 1, -0.1, 1.1, nan, 0.6, 0.6};
    std::array<std::uint64_t, 10> counts{};
    CHECK(tauto_histogram_double(team, some.data(), length(some), 0, 1, 10, counts.data(), nullptr) ==
          TAUTO_OK);
    // 0.7 is less than 7 * 0.1, and 0.6 than 6 * 0.1: 0.3 is less than 3 * 0.1 too.
    CHECK(counts == std::array<std::uint64_t, 10>{1, 1, 2, 0, 0, 2, 1, 0, 0, 2});
    const std::vector<std::int64_t> bins = {2, 0, 2, 1, 2};
    CHECK(tauto_histogram_int64(team, bins.data(), length(bins), 3, counts.data(), nullptr) == TAUTO_OK);
    CHECK(counts[0] == 1);
    CHECK(counts[1] == 1);
    CHECK(counts[2] == 3);
    CHECK(
        refused(tauto_histogram_int64(team, bins.data(), length(bins), 2, counts.data(), nullptr), "bin 2"));
    CHECK(
        refused(tauto_histogram_double(team, some.data(), 3, 1, 1, 3, counts.data(), nullptr), "less than"));
    CHECK(refused(tauto_histogram_double(team, some.data(), 3, 0, nan, 3, counts.data(), nullptr), "finite"));
    CHECK(refused(tauto_histogram_double(team, some.data(), 3, 0, 1, 0, counts.data(), nullptr), "0 bins"));
}

TEST_CASE("a stop ends a call, and there is no result" * doctest::description("bindings.md, promise 7")) {
    const c_team team(2);
    tauto_stop* stop = nullptr;
    REQUIRE(tauto_stop_create(&stop) == TAUTO_OK);
    const tauto_options options = with_schedule(TAUTO_DYNAMIC, stop);
    CHECK(tauto_parallel_for(team, 0, 1000, nothing, nullptr, &options) == TAUTO_OK);
    CHECK(tauto_stop_requested(stop) == 0);
    const auto stop_at_500 = [](void* context, std::int64_t begin, std::int64_t) {
        if (begin >= 500) tauto_stop_request(static_cast<tauto_stop*>(context));
    };
    CHECK(tauto_parallel_for(team, 0, 1'000'000, stop_at_500, stop, &options) == TAUTO_STOPPED);
    CHECK(tauto_stop_requested(stop) == 1);
    CHECK(mentions(tauto_message(), "stopped"));
    std::vector<double> x(10'000, 1.0);
    double sum = -1;
    CHECK(tauto_sum_double(team, x.data(), length(x), &sum, &options) == TAUTO_STOPPED);
    CHECK(sum == -1);
    CHECK(tauto_sum_double(team, x.data(), length(x), &sum, nullptr) == TAUTO_OK);
    CHECK(sum == 1e4);
    tauto_stop_destroy(stop);
}

TEST_CASE("what a callback in C++ throws becomes a code, and the team stays usable" *
          doctest::description("bindings.md, promise 8")) {
    const c_team team(3);
    const auto throws = [](void*, std::int64_t begin, std::int64_t) {
        if (begin > 100) throw std::runtime_error("bad cell");
    };
    const tauto_options options = with_schedule(TAUTO_DYNAMIC);
    CHECK(tauto_parallel_for(team, 0, 1000, throws, nullptr, &options) == TAUTO_THROWN);
    CHECK(mentions(tauto_message(), "bad cell"));
    const auto throws_a_number = [](void*) { throw 5; };
    const auto other = [](void*) {};
    CHECK(tauto_parallel_invoke(team, throws_a_number, nullptr, other, nullptr) == TAUTO_THROWN);
    CHECK(mentions(tauto_message(), "no std::exception"));
    const auto has_no_memory = [](void*, tauto_task_group*) { throw std::bad_alloc(); };
    CHECK(tauto_task_group_run_all(team, has_no_memory, nullptr) == TAUTO_NO_MEMORY);
    CHECK(tauto_parallel_for(team, 0, 1000, nothing, nullptr, nullptr) == TAUTO_OK);
}

TEST_CASE("recursion and groups of tasks" * doctest::description("bindings.md, promise 9")) {
    for (const int members : team_sizes) {
        const c_team team(members);
        fibonacci_call of_18{team, 18};
        fibonacci_call::run(&of_18);
        CHECK(of_18.result == 2584);
        tree whole;
        whole.depth = 7;
        CHECK(tauto_task_group_run_all(team, tree::body, &whole) == TAUTO_OK);
        CHECK(whole.tasks == 255);
        CHECK(whole.seen_by_wait == 255);
    }
}

TEST_CASE("calls of several threads, and calls inside a callback" *
          doctest::description("bindings.md, promise 10")) {
    struct nested {
        tauto_team* team;
        std::atomic<std::int64_t> indices{0};
    } outer{nullptr};
    const c_team team(2);
    outer.team = team;
    const auto inner = [](void* context, std::int64_t begin, std::int64_t end) {
        static_cast<nested*>(context)->indices += end - begin;
    };
    static constexpr auto call_inner = inner;
    const auto body = [](void* context, std::int64_t) {
        auto& own = *static_cast<nested*>(context);
        if (tauto_parallel_for(own.team, 0, 10, call_inner, context, nullptr) != TAUTO_OK) own.indices = -1;
    };
    const auto loops = [&] {
        for (int k = 0; k < 20; ++k)
            if (tauto_parallel_for_each(team, 0, 50, 1, body, &outer, nullptr) != TAUTO_OK)
                outer.indices = -1;
    };
    std::thread other(loops);
    loops();
    other.join();
    CHECK(outer.indices == 2 * 20 * 50 * 10);
}

}  // namespace tauto
