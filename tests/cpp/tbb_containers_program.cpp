// A program with oneTBB's containers, built once with its headers and once with tauto/tbb_containers.hpp: it
// prints the same.
#ifdef TAUTO_IN_PLACE_OF_TBB
#include <tauto/tbb_containers.hpp>
#else
#include <oneapi/tbb.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

struct by_letters {
    static std::size_t hash(const std::string& text) {
        std::size_t sum = 0;
        for (const char letter : text) sum = sum * 17 ^ static_cast<unsigned char>(letter);
        return sum;
    }
    static bool equal(const std::string& one, const std::string& other) { return one == other; }
};
using table = tbb::concurrent_hash_map<std::string, int, by_letters>;

void words() {
    std::vector<std::string> text(100'000);
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = std::to_string(i * i % 1009);
    table counts;
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, text.size(), 1000), [&](const auto& range) {
        for (std::size_t i = range.begin(); i != range.end(); ++i) {
            table::accessor place;
            counts.insert(place, text[i]);
            ++place->second;
        }
    });
    std::atomic<int> all{0};
    std::atomic<int> most{0};
    tbb::parallel_for(counts.range(), [&](const table::range_type& range) {
        for (const auto& [word, count] : range) {
            all += count;
            for (int seen = most; seen < count && !most.compare_exchange_weak(seen, count);) {
            }
        }
    });
    std::printf("words: %zu, %d in all, %d at most\n", counts.size(), all.load(), most.load());
}

void vectors() {
    tbb::concurrent_vector<int> numbers;
    tbb::parallel_for(0, 10'000, [&](int i) { numbers.push_back(i); });
    numbers.grow_by(5, 1);
    std::atomic<long> sum{0};
    tbb::parallel_for(numbers.range(10), [&](const auto& range) {
        long part = 0;
        for (const int number : range) part += number;
        sum += part;
    });
    bool is_refused = false;
    try {
        static_cast<void>(numbers.at(1'000'000));
    } catch (const std::out_of_range&) {
        is_refused = true;
    }
    std::printf("vector: %zu, sum %ld, refused %d\n", numbers.size(), sum.load(), is_refused);
}

void maps() {
    tbb::concurrent_unordered_map<int, int> squares;
    tbb::concurrent_map<int, int, std::greater<>> falling;
    tbb::concurrent_set<int> ordered;
    tbb::concurrent_unordered_multiset<int> many;
    tbb::parallel_for(0, 1000, [&](int i) {
        squares.emplace(i, i * i);
        falling.emplace(i, i);
        ordered.insert(i % 100);
        many.insert(i % 10);
    });
    long sum = 0;
    for (const auto& [number, square] : squares) sum += number + square;
    std::printf("maps: %zu, %ld, first %d, %zu, %zu\n", squares.size(), sum, falling.begin()->first,
                ordered.size(), many.count(3));
}

void queues() {
    tbb::concurrent_bounded_queue<int> few;
    few.set_capacity(4);
    tbb::concurrent_queue<int> any;
    tbb::concurrent_priority_queue<int> greatest;
    tbb::task_group group;
    group.run([&] {
        for (int i = 0; i < 1000; ++i) few.push(i);
    });
    long sum = 0;
    for (int i = 0; i < 1000; ++i) {
        int got = 0;
        few.pop(got);
        sum += got;
        any.push(got);
        greatest.push(got * 7 % 1000);
    }
    group.wait();
    int first = 0;
    int top = 0;
    const bool some = any.try_pop(first);
    const bool greater = greatest.try_pop(top);
    std::printf("queues: %ld, %d %d, %d %d\n", sum, some, first, greater, top);
}

}  // namespace

int main() {
    words();
    vectors();
    maps();
    queues();
    std::vector<int, tbb::cache_aligned_allocator<int>> aligned(100, 1);
    std::printf("aligned: %zu, %d\n", aligned.size(),
                reinterpret_cast<std::size_t>(aligned.data()) % 64 == 0);
}
