// A program in the shapes of oneTBB, built once with its headers and once with tauto/tbb.hpp: it prints the
// same.
#ifdef TAUTO_IN_PLACE_OF_TBB
#include <tauto/tbb.hpp>
#else
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/blocked_range3d.h>
#include <tbb/combinable.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_for_each.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#include <tbb/tick_count.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using number = std::uint64_t;

std::vector<number> drawn(std::size_t count) {
    std::vector<number> all(count);
    number state = 1;
    for (number& one : all) one = (state = state * 6364136223846793005U + 1442695040888963407U) >> 40;
    return all;
}

// Adds where it is, and keeps the largest place of the smallest number.
struct smallest {
    explicit smallest(const std::vector<number>& from) : all(&from) {}
    smallest(smallest& other, tbb::split) : all(other.all) {}
    void operator()(const tbb::blocked_range<std::size_t>& part) {
        for (std::size_t i = part.begin(); i != part.end(); ++i)
            if ((*all)[i] < value) value = (*all)[i], place = i;
    }
    void join(const smallest& right) {
        if (right.value < value) value = right.value, place = right.place;
    }

    const std::vector<number>* all;
    number value = ~number{0};
    std::size_t place = 0;
};

number fibonacci(number n) {
    if (n < 2) return n;
    if (n < 12) return fibonacci(n - 1) + fibonacci(n - 2);
    number left = 0;
    number right = 0;
    tbb::task_group both;
    both.run([&left, n] { left = fibonacci(n - 1); });
    both.run([&right, n] { right = fibonacci(n - 2); });
    both.wait();
    return left + right;
}

void sort_quickly(number* first, number* last) {
    if (last - first < 500) {
        for (number* i = first; i < last; ++i)
            for (number* k = i; k > first && k[0] < k[-1]; --k) std::swap(k[0], k[-1]);
        return;
    }
    number* low = first;
    number* high = last - 1;
    const number pivot = first[(last - first) / 2];
    while (low <= high) {
        while (*low < pivot) ++low;
        while (pivot < *high) --high;
        if (low <= high) std::swap(*low++, *high--);
    }
    tbb::parallel_invoke([=] { sort_quickly(first, high + 1); }, [=] { sort_quickly(low, last); });
}

void loops(const std::vector<number>& all) {
    std::vector<number> squares(all.size());
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, all.size()),
                      [&](const tbb::blocked_range<std::size_t>& part) {
                          for (std::size_t i = part.begin(); i < part.end(); ++i)
                              squares[i] = all[i] * all[i];
                      });
    tbb::parallel_for(std::size_t{1}, all.size(), std::size_t{3}, [&](std::size_t i) { squares[i] += 7; });
    std::atomic<number> pieces{0};
    std::atomic<number> too_long{0};
    tbb::parallel_for(
        tbb::blocked_range<number*>(squares.data(), squares.data() + squares.size(), 100),
        [&](const tbb::blocked_range<number*>& part) {
            ++pieces;
            if (part.size() > 100) ++too_long;
            for (number& one : part) one ^= 5;
        },
        tbb::simple_partitioner());
    std::printf("loops %zu %llu, %s\n", squares.size(), (unsigned long long)squares[squares.size() / 2],
                too_long == 0 && pieces >= squares.size() / 100 ? "in grains" : "not in grains");

    constexpr int rows = 300;
    constexpr int columns = 200;
    std::vector<int> cells(rows * columns);
    tbb::parallel_for(tbb::blocked_range2d<int>(0, rows, 0, columns), [&](const auto& tile) {
        for (int y = tile.rows().begin(); y < tile.rows().end(); ++y)
            for (int x = tile.cols().begin(); x < tile.cols().end(); ++x)
                cells[std::size_t(y * columns + x)] += y - x;
    });
    tbb::parallel_for(tbb::blocked_range3d<int>(0, 3, 0, 100, 0, columns), [&](const auto& box) {
        for (int z = box.pages().begin(); z < box.pages().end(); ++z)
            for (int y = box.rows().begin(); y < box.rows().end(); ++y)
                for (int x = box.cols().begin(); x < box.cols().end(); ++x)
                    cells[std::size_t((z * 100 + y) * columns + x)] *= 2;
    });
    long sum = 0;
    for (const int one : cells) sum += one;
    std::printf("cells %ld\n", sum);
}

void reductions(const std::vector<number>& all) {
    const number total = tbb::parallel_reduce(
        tbb::blocked_range<std::size_t>(0, all.size(), 1000), number{0},
        [&](const tbb::blocked_range<std::size_t>& part, number sum) {
            for (std::size_t i = part.begin(); i < part.end(); ++i) sum += all[i];
            return sum;
        },
        [](number left, number right) { return left + right; });
    smallest found(all);
    tbb::parallel_reduce(tbb::blocked_range<std::size_t>(0, all.size()), found);
    std::vector<number> sums(all.size());
    const number scanned = tbb::parallel_scan(
        tbb::blocked_range<std::size_t>(0, all.size()), number{0},
        [&](const tbb::blocked_range<std::size_t>& part, number sum, bool writes) {
            for (std::size_t i = part.begin(); i < part.end(); ++i) {
                sum += all[i];
                if (writes) sums[i] = sum;
            }
            return sum;
        },
        [](number left, number right) { return left + right; });
    std::printf("sums %llu %llu %llu, smallest %llu at %zu\n", (unsigned long long)total,
                (unsigned long long)scanned, (unsigned long long)sums[sums.size() / 3],
                (unsigned long long)found.value, found.place);
}

void sorts(std::vector<number> all) {
    std::vector<number> other = all;
    tbb::parallel_sort(all.begin(), all.end());
    sort_quickly(other.data(), other.data() + other.size());
    std::printf("sorted %s, %llu\n", all == other ? "alike" : "otherwise",
                (unsigned long long)all[all.size() / 7]);
    tbb::parallel_sort(other, [](number left, number right) { return left > right; });
    std::printf("first %llu\n", (unsigned long long)other.front());
}

void tasks() {
    std::printf("fibonacci %llu\n", (unsigned long long)fibonacci(22));
    std::list<int> listed{1, 2, 3, 4, 5};
    std::atomic<int> product{1};
    tbb::parallel_for_each(listed.begin(), listed.end(), [&](int one) {
        int before = product;
        while (!product.compare_exchange_weak(before, before * one)) {
        }
    });
    std::atomic<int> nodes{0};
    const std::vector<int> roots{6, 6};
    tbb::parallel_for_each(roots.begin(), roots.end(), [&](int depth, tbb::feeder<int>& more) {
        ++nodes;
        for (int child = 0; child < 2 && depth > 0; ++child) more.add(depth - 1);
    });
    std::string thrown = "nothing";
    try {
        tbb::parallel_for(0, 1000, [](int i) {
            if (i == 500) throw std::runtime_error("the one at 500");
        });
    } catch (const std::runtime_error& error) {
        thrown = error.what();
    }
    std::printf("product %d, nodes %d, thrown: %s\n", product.load(), nodes.load(), thrown.c_str());
}

// In an arena, and with a limit for all.
void arenas(const std::vector<number>& all) {
    const auto sum = [&] {
        return tbb::parallel_reduce(
            tbb::blocked_range<std::size_t>(0, all.size()), number{0},
            [&](const tbb::blocked_range<std::size_t>& part, number found) {
                for (std::size_t i = part.begin(); i < part.end(); ++i) found += all[i];
                return found;
            },
            std::plus<>{});
    };
    tbb::task_arena one(1);
    int limit = 0;
    const number found = one.execute([&] {
        limit = tbb::this_task_arena::max_concurrency();
        return sum();
    });
    std::printf("in an arena of %d: %llu\n", limit, (unsigned long long)found);
    tbb::task_arena any;
    std::printf("in any arena: %llu\n", (unsigned long long)any.execute(sum));
    try {
        any.execute([] { throw std::runtime_error("out of an arena"); });
    } catch (const std::runtime_error& problem) {
        std::puts(problem.what());
    }
    {
        const tbb::global_control limited(tbb::global_control::max_allowed_parallelism, 1);
        const auto limit_of_all =
            tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
        std::printf("with a limit of %zu: %llu\n", limit_of_all, (unsigned long long)sum());
    }
    std::printf("without: %llu\n", (unsigned long long)sum());
}

// A scan by a body, as the documentation of oneTBB has it.
class running_sum {
  public:
    running_sum(const std::vector<number>& from, std::vector<number>& to, number before)
        : from_(&from), to_(&to), sum_(before) {}
    running_sum(running_sum& other, tbb::split) : from_(other.from_), to_(other.to_) {}
    template <class Tag>
    void operator()(const tbb::blocked_range<std::size_t>& part, Tag) {
        for (std::size_t i = part.begin(); i < part.end(); ++i) {
            sum_ += (*from_)[i];
            if (Tag::is_final_scan()) (*to_)[i] = sum_;
        }
    }
    void reverse_join(running_sum& left) { sum_ += left.sum_; }
    void assign(running_sum& other) { sum_ = other.sum_; }
    [[nodiscard]] number sum() const { return sum_; }

  private:
    const std::vector<number>* from_;
    std::vector<number>* to_;
    number sum_ = 0;
};

void scans_by_a_body(const std::vector<number>& all) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, all.size()}) {
        std::vector<number> sums(count + 1);
        running_sum body(all, sums, 7);
        tbb::parallel_scan(tbb::blocked_range<std::size_t>(0, count), body);
        number mixed = 0;
        for (const number one : sums) mixed = mixed * 31 + one;
        std::printf("scan of %zu by a body: %llu, %llu\n", count, (unsigned long long)body.sum(),
                    (unsigned long long)mixed);
    }
}

void locks_and_contexts() {
    tbb::spin_mutex guard;
    tbb::spin_rw_mutex shared;
    long count = 0;
    long seen = 0;
    tbb::parallel_for(0, 1000, [&](int) {
        {
            const tbb::spin_rw_mutex::scoped_lock reading(shared, false);
            const tbb::spin_mutex::scoped_lock held(guard);
            ++count;
        }
        tbb::spin_rw_mutex::scoped_lock writing;
        writing.acquire(shared);
        ++seen;
        writing.release();
    });
    tbb::spin_mutex::scoped_lock tried;
    std::printf("locked %ld and %ld times, %s\n", count, seen, tried.try_acquire(guard) ? "free" : "held");
    tbb::task_group_context canceled;
    const bool first = canceled.cancel_group_execution();
    std::atomic<int> ran{0};
    tbb::parallel_for(
        0, 100, [&](int) { ++ran; }, canceled);
    tbb::parallel_for(
        tbb::blocked_range<int>(0, 100), [&](const tbb::blocked_range<int>&) { ++ran; },
        tbb::auto_partitioner{}, canceled);
    tbb::task_group_context whole;
    tbb::parallel_for(
        tbb::blocked_range<int>(0, 100),
        [&](const tbb::blocked_range<int>& part) { ran += part.end() - part.begin(); }, whole);
    std::printf("canceled %d %d, ran %d\n", first ? 1 : 0, canceled.is_group_execution_cancelled() ? 1 : 0,
                ran.load());
}

// Items that are read and written in order, and worked on at the same time.
void pipelines() {
    number written = 0;
    int next = 0;
    tbb::parallel_pipeline(
        6,
        tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order,
                                    [&](tbb::flow_control& control) {
                                        if (next == 500) control.stop();
                                        return next++;
                                    }) &
            tbb::make_filter<int, std::string>(tbb::filter_mode::parallel,
                                               [](int value) { return std::to_string(value * value); }) &
            tbb::make_filter<std::string, std::string>(tbb::filter_mode::serial_out_of_order,
                                                       [](const std::string& text) { return text + "."; }) &
            tbb::make_filter<std::string, void>(
                tbb::filter_mode::serial_in_order, [&](const std::string& text) {
                    for (const char c : text) written = written * 131 + static_cast<unsigned char>(c);
                }));
    std::printf("written %llu\n", (unsigned long long)written);
}

// A histogram and a sum, of which each thread has its own part.
void values_of_threads(const std::vector<number>& all) {
    using table = std::vector<int>;
    const auto began = tbb::tick_count::now();
    tbb::enumerable_thread_specific<table> counts([] { return table(16); });
    tbb::combinable<number> sums([] { return number{0}; });
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, all.size()), [&](const auto& part) {
        table& own = counts.local();
        for (std::size_t i = part.begin(); i != part.end(); ++i) {
            ++own[all[i] % 16];
            sums.local() += all[i];
        }
    });
    table whole(16);
    for (const table& one : counts)
        for (std::size_t bin = 0; bin < one.size(); ++bin) whole[bin] += one[bin];
    for (const int one : whole) std::printf("%d ", one);
    std::printf("%llu\n",
                static_cast<unsigned long long>(sums.combine([](number a, number b) { return a + b; })));
    const double seconds = (tbb::tick_count::now() - began).seconds();
    std::printf("%s\n", seconds > 0 && seconds < 60 ? "took its time" : "has no clock");
}

}  // namespace

int main() {
    const std::vector<number> all = drawn(200'000);
    loops(all);
    reductions(all);
    sorts(all);
    tasks();
    values_of_threads(all);
    arenas(all);
    scans_by_a_body(all);
    locks_and_contexts();
    pipelines();
}
