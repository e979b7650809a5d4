// One algorithm of one library, timed: benchmarks/algorithms.py starts it once a turn.
//
//     tauto-bench-algorithms LIBRARY WORK N SECONDS
//
// Prints the median seconds of a call, the least, and how many there were; "-" where the library has no such
// algorithm. Inputs are made anew before each call and not timed. Every answer is checked.
#include <omp.h>
#include <tbb/blocked_range.h>
#include <tbb/blocked_range2d.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/parallel_scan.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <execution>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <parallel/algorithm>
#include <parallel/numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tauto/tauto.hpp>
#include <vector>

namespace {

using int64 = std::int64_t;
enum class library { serial, tauto, tbb, omp, gnu, par };

struct no_such_algorithm {};

// Kept for the whole run: our team, made at the first use.
tauto::team& team() {
    static tauto::team members;
    return members;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::size_t as_size(int64 n) {
    return static_cast<std::size_t>(n);
}

// Times run(k) for k < batch, after prepare(k), until `seconds` have gone. Then check(k) must be true.
template <class Prepare, class Run, class Check>
void time_calls(int64 batch, double seconds, Prepare&& prepare, Run&& run, Check&& check) {
    std::vector<double> times;
    const double begun = now();
    for (int calls = 0; times.size() < 3 || now() - begun < 1.5 * seconds; ++calls) {
        for (int64 k = 0; k < batch; ++k) prepare(k);
        const double start = now();
        for (int64 k = 0; k < batch; ++k) run(k);
        const double end = now();
        if (calls == 0 && !check()) throw std::runtime_error("wrong answer");
        // A third of the time is for what learns.
        if (now() - begun > 0.5 * seconds || calls > 400)
            times.push_back((end - start) / static_cast<double>(batch));
    }
    if (!check()) throw std::runtime_error("wrong answer");
    std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
    std::printf("%.9g %.9g %zu\n", times[times.size() / 2], std::ranges::min(times), times.size());
}

// An element that is no number.
struct event {
    double time;
    double place[2];
    int delay;
};

template <class T>
std::vector<T> numbers(int64 n, unsigned seed = 1) {
    std::mt19937_64 random(seed);
    std::vector<T> values(as_size(n));
    for (T& one : values) {
        if constexpr (std::is_same_v<T, double>) {
            one = std::uniform_real_distribution<double>(0, 1)(random);
        } else if constexpr (std::is_same_v<T, std::string>) {
            one = "item" + std::to_string(random() % 1'000'000'000);
        } else if constexpr (std::is_same_v<T, event>) {
            one = {
                std::uniform_real_distribution<double>(0, 1000)(random), {0, 0}, static_cast<int>(random())};
        } else {
            one = static_cast<T>(random());
        }
    }
    return values;
}

// How many calls are timed together, each with an input of its own.
int64 batch_of(int64 n) {
    return n < 10'000 ? 20'000 / n : 1;
}

// Gives the same elements another order.
struct shuffled {
    template <class T>
    void operator()(std::vector<T>& values, std::mt19937_64& random) const {
        std::ranges::shuffle(values, random);
    }
};
struct nearly_sorted {
    template <class T>
    void operator()(std::vector<T>& values, std::mt19937_64& random) const {
        std::ranges::sort(values);
        for (std::size_t k = 0; k < values.size() / 100; ++k)
            std::swap(values[random() % values.size()], values[random() % values.size()]);
    }
};

// The inputs of a batch. Short ones are drawn anew before each call: the processor would learn one by heart,
// and its rotations too.
template <class T, class Draw = shuffled>
class inputs {
  public:
    explicit inputs(std::vector<T> values, Draw draw = {})
        : draw_(draw),
          anew_(values.size() <= 100'000),
          all_(as_size(batch_of(std::ssize(values))), std::move(values)) {
        if (!anew_) draw_(all_[0], random_);
    }

    std::vector<T>& drawn(int64 k) {
        if (anew_) draw_(all_[as_size(k)], random_);
        return all_[as_size(k)];
    }
    const std::vector<T>& operator[](int64 k) const { return all_[as_size(k)]; }

  private:
    std::mt19937_64 random_{2};
    Draw draw_;
    bool anew_;
    std::vector<std::vector<T>> all_;
};

template <class T>
void scan(library which, int64 n, double seconds) {
    const std::vector<T> in = numbers<T>(n);
    std::vector<T> out(in.size());
    const auto run = [&](int64) {
        switch (which) {
            case library::serial:
                std::inclusive_scan(in.begin(), in.end(), out.begin());
                break;
            case library::tauto:
                tauto::parallel_inclusive_scan(team(), in.begin(), in.end(), out.begin());
                break;
            case library::tbb:
                tbb::parallel_scan(
                    tbb::blocked_range<int64>(0, n), T{},
                    [&](const tbb::blocked_range<int64>& r, T sum, bool last) {
                        T value = sum;
                        for (int64 i = r.begin(); i < r.end(); ++i) {
                            value += in[as_size(i)];
                            if (last) out[as_size(i)] = value;
                        }
                        return value;
                    },
                    std::plus<>{});
                break;
            case library::omp: {
                T sum{};
#pragma omp parallel for reduction(inscan, + : sum)
                for (int64 i = 0; i < n; ++i) {
                    sum += in[as_size(i)];
#pragma omp scan inclusive(sum)
                    out[as_size(i)] = sum;
                }
                break;
            }
            case library::gnu:
                __gnu_parallel::partial_sum(in.begin(), in.end(), out.begin());
                break;
            case library::par:
                std::inclusive_scan(std::execution::par, in.begin(), in.end(), out.begin());
                break;
        }
        asm volatile("" : : "r"(out.data()) : "memory");
    };
    const T all = std::accumulate(in.begin(), in.end(), T{});
    time_calls(
        batch_of(n), seconds, [](int64) {}, run,
        [&] { return std::abs(static_cast<double>(out.back() - all)) <= 1e-9 * static_cast<double>(n); });
}

template <class T, class Less, class Draw = shuffled>
void sort(library which, std::vector<T> values, double seconds, Less less, Draw draw = {}) {
    const int64 batch = batch_of(std::ssize(values));
    std::vector<std::vector<T>> copies(as_size(batch), values);
    inputs<T, Draw> in(std::move(values), draw);
    const auto run = [&](int64 k) {
        std::vector<T>& one = copies[as_size(k)];
        switch (which) {
            case library::serial:
                std::sort(one.begin(), one.end(), less);
                break;
            case library::tauto:
                tauto::parallel_sort(team(), one.begin(), one.end(), less);
                break;
            case library::tbb:
                tbb::parallel_sort(one.begin(), one.end(), less);
                break;
            case library::omp:
                throw no_such_algorithm();
            case library::gnu:
                __gnu_parallel::sort(one.begin(), one.end(), less);
                break;
            case library::par:
                std::sort(std::execution::par, one.begin(), one.end(), less);
                break;
        }
    };
    time_calls(
        batch, seconds, [&](int64 k) { copies[as_size(k)] = in.drawn(k); }, run,
        [&] { return std::is_sorted(copies[0].begin(), copies[0].end(), less); });
}

void pack(library which, int64 n, double seconds) {
    inputs<double> all(numbers<double>(n));
    std::vector<double> out(as_size(n));
    int64 kept = 0;
    const auto small = [](double one) { return one < 0.5; };
    const auto run = [&](int64 k) {
        const std::vector<double>& in = all[k];
        auto end = out.begin();
        switch (which) {
            case library::serial:
                end = std::copy_if(in.begin(), in.end(), out.begin(), small);
                break;
            case library::tauto:
                end = tauto::parallel_copy_if(team(), in.begin(), in.end(), out.begin(), small);
                break;
            case library::par:
                end = std::copy_if(std::execution::par, in.begin(), in.end(), out.begin(), small);
                break;
            case library::omp: {  // as written by hand: each thread counts, then copies
                std::vector<int64> begin(as_size(omp_get_max_threads()) + 1);
#pragma omp parallel
                {
                    const int64 rank = omp_get_thread_num();
                    const int64 size = omp_get_num_threads();
                    const int64 from = n * rank / size;
                    const int64 to = n * (rank + 1) / size;
                    int64 count = 0;
                    for (int64 i = from; i < to; ++i) count += small(in[as_size(i)]) ? 1 : 0;
                    begin[as_size(rank) + 1] = count;
#pragma omp barrier
                    int64 place = 0;
                    for (int64 r = 0; r <= rank; ++r) place += begin[as_size(r)];
                    for (int64 i = from; i < to; ++i)
                        if (small(in[as_size(i)])) out[as_size(place++)] = in[as_size(i)];
                }
                end = out.begin() + std::accumulate(begin.begin(), begin.end(), int64{0});
                break;
            }
            default:
                throw no_such_algorithm();
        }
        kept = end - out.begin();
    };
    const auto right = std::count_if(all[0].begin(), all[0].end(), small);
    time_calls(
        batch_of(n), seconds, [&](int64 k) { all.drawn(k); }, run,
        [&] { return kept == right && std::all_of(out.begin(), out.begin() + kept, small); });
}

template <class T, class Predicate>
void partition(library which, int64 n, double seconds, Predicate small) {
    inputs<T> in(numbers<T>(n));
    std::vector<std::vector<T>> copies(as_size(batch_of(n)));
    int64 kept = 0;
    const auto run = [&](int64 k) {
        std::vector<T>& one = copies[as_size(k)];
        auto end = one.begin();
        switch (which) {
            case library::serial:
                end = std::partition(one.begin(), one.end(), small);
                break;
            case library::tauto:
                end = tauto::parallel_partition(team(), one.begin(), one.end(), small);
                break;
            case library::gnu:
                end = __gnu_parallel::partition(one.begin(), one.end(), small);
                break;
            case library::par:
                end = std::partition(std::execution::par, one.begin(), one.end(), small);
                break;
            default:
                throw no_such_algorithm();
        }
        kept = end - one.begin();
    };
    const auto right = std::count_if(in[0].begin(), in[0].end(), small);
    time_calls(
        batch_of(n), seconds, [&](int64 k) { copies[as_size(k)] = in.drawn(k); }, run,
        [&] { return kept == right && std::is_partitioned(copies[0].begin(), copies[0].end(), small); });
}

void histogram(library which, int64 n, double seconds, std::uint32_t bins) {
    inputs<std::uint32_t> all(numbers<std::uint32_t>(n));
    const auto bin = [bins](std::uint32_t one) {
        return static_cast<std::uint32_t>(std::uint64_t{one} * bins >> 32);
    };
    std::vector<std::uint64_t> counts(bins);
    using table = std::vector<std::uint32_t>;
    const auto run = [&](int64 k) {
        const std::vector<std::uint32_t>& in = all[k];
        switch (which) {
            case library::serial:
                std::ranges::fill(counts, 0);
                for (const std::uint32_t one : in) ++counts[bin(one)];
                break;
            case library::tauto:
                tauto::parallel_histogram(team(), in.begin(), in.end(), std::span(counts), bin);
                break;
            case library::tbb: {
                std::ranges::fill(counts, 0);
                tbb::enumerable_thread_specific<table> own([&] { return table(bins); });
                tbb::parallel_for(tbb::blocked_range<int64>(0, n), [&](const tbb::blocked_range<int64>& r) {
                    table& mine = own.local();
                    for (int64 i = r.begin(); i < r.end(); ++i) ++mine[bin(in[as_size(i)])];
                });
                for (const table& one : own)
                    for (std::size_t b = 0; b < bins; ++b) counts[b] += one[b];
                break;
            }
            case library::omp: {
                std::ranges::fill(counts, 0);
#pragma omp parallel
                {
                    table mine(bins);
#pragma omp for nowait
                    for (int64 i = 0; i < n; ++i) ++mine[bin(in[as_size(i)])];
#pragma omp critical
                    for (std::size_t b = 0; b < bins; ++b) counts[b] += mine[b];
                }
                break;
            }
            default:
                throw no_such_algorithm();
        }
    };
    time_calls(
        batch_of(n), seconds, [&](int64 k) { all.drawn(k); }, run,
        [&] { return std::accumulate(counts.begin(), counts.end(), int64{0}) == n; });
}

template <class T, class Less = std::less<>>
void least(library which, int64 n, double seconds, Less less = {}) {
    inputs<T> all(numbers<T>(n));
    int64 place = 0;
    const auto run = [&](int64 k) {
        const std::vector<T>& in = all[k];
        auto found = in.begin();
        switch (which) {
            case library::serial:
                found = std::min_element(in.begin(), in.end(), less);
                break;
            case library::tauto:
                found = tauto::parallel_min_element(team(), in.begin(), in.end(), less);
                break;
            case library::gnu:
                found = __gnu_parallel::min_element(in.begin(), in.end(), less);
                break;
            case library::par:
                found = std::min_element(std::execution::par, in.begin(), in.end(), less);
                break;
            case library::tbb:
                found += tbb::parallel_reduce(
                    tbb::blocked_range<int64>(0, n), int64{0},
                    [&](const tbb::blocked_range<int64>& r, int64 best) {
                        for (int64 i = r.begin(); i < r.end(); ++i)
                            if (less(in[as_size(i)], in[as_size(best)])) best = i;
                        return best;
                    },
                    [&](int64 a, int64 b) { return less(in[as_size(b)], in[as_size(a)]) ? b : a; });
                break;
            case library::omp: {
                int64 best = 0;
                const auto before = [&](int64 a, int64 b) {
                    return less(in[as_size(a)], in[as_size(b)]) ||
                           (!less(in[as_size(b)], in[as_size(a)]) && a < b);
                };
#pragma omp parallel
                {
                    int64 own = 0;
#pragma omp for nowait
                    for (int64 i = 0; i < n; ++i)
                        if (less(in[as_size(i)], in[as_size(own)])) own = i;
#pragma omp critical
                    if (before(own, best)) best = own;
                }
                found += best;
                break;
            }
        }
        place = found - in.begin();
        asm volatile("" : : "r"(in.data()) : "memory");
    };
    const std::vector<T>& last = all[batch_of(n) - 1];
    time_calls(
        batch_of(n), seconds, [&](int64 k) { all.drawn(k); }, run,
        [&] { return place == std::min_element(last.begin(), last.end(), less) - last.begin(); });
}

// The element is at nine tenths of the sequence.
void find(library which, int64 n, double seconds) {
    std::vector<double> in = numbers<double>(n);
    const int64 right = n * 9 / 10;
    in[as_size(right)] = 2;
    int64 place = 0;
    const auto wanted = [](double one) { return one > 1; };
    const auto run = [&](int64) {
        auto found = in.begin();
        switch (which) {
            case library::serial:
                found = std::find_if(in.begin(), in.end(), wanted);
                break;
            case library::tauto:
                found = tauto::parallel_find_if(team(), in.begin(), in.end(), wanted);
                break;
            case library::gnu:
                found = __gnu_parallel::find_if(in.begin(), in.end(), wanted);
                break;
            case library::par:
                found = std::find_if(std::execution::par, in.begin(), in.end(), wanted);
                break;
            default:
                throw no_such_algorithm();
        }
        place = found - in.begin();
        asm volatile("" : : "r"(in.data()) : "memory");
    };
    time_calls(
        batch_of(n), seconds, [](int64) {}, run, [&] { return place == right; });
}

// Both functions, one of which other threads may take.
template <class First, class Second>
void call_both(library which, First&& first, Second&& second) {
    switch (which) {
        case library::serial:
            first();
            second();
            break;
        case library::tauto:
            tauto::parallel_invoke(team(), first, second);
            break;
        case library::tbb:
            tbb::parallel_invoke(first, second);
            break;
        case library::omp:
#pragma omp task default(shared)
            first();
            second();
#pragma omp taskwait
            break;
        default:
            throw no_such_algorithm();
    }
}

// The outermost call of a recursion.
template <class Function>
void recurse(library which, Function&& function) {
    if (which == library::omp) {
#pragma omp parallel
#pragma omp single
        function();
    } else {
        function();
    }
}

int64 fibonacci(library which, int64 n) {
    if (n < 2) return n;
    int64 left = 0;
    int64 right = 0;
    call_both(
        which, [&] { left = fibonacci(which, n - 1); }, [&] { right = fibonacci(which, n - 2); });
    return left + right;
}

// The nodes of a random tree, whose right branches end sooner.
int64 count_nodes(library which, std::uint64_t seed, int64 depth) {
    if (depth <= 0) return 1;
    seed = (seed ^ seed >> 31) * 0x9e3779b97f4a7c15ULL;
    int64 left = 0;
    int64 right = 0;
    call_both(
        which, [&] { left = count_nodes(which, seed + 1, depth - 1); },
        [&] { right = count_nodes(which, seed + 2, depth - 1 - static_cast<int64>(seed >> 60)); });
    return 1 + left + right;
}

void quicksort(library which, double* first, double* last) {
    if (last - first < 2) return;
    const double pivot = first[(last - first) / 2];
    double* const less = std::partition(first, last, [&](double one) { return one < pivot; });
    double* const more = std::partition(less, last, [&](double one) { return one == pivot; });
    call_both(
        which, [&] { quicksort(which, first, less); }, [&] { quicksort(which, more, last); });
}

// Recursions with no cutoff. N is the number whose Fibonacci number is wanted, or the tree's depth.
template <class Count>
void recursion(library which, double seconds, Count&& count) {
    int64 found = 0;
    const int64 right = count(library::serial);
    time_calls(
        1, seconds, [](int64) {}, [&](int64) { recurse(which, [&] { found = count(which); }); },
        [&] { return found == right; });
}

void quicksort_all(library which, int64 n, double seconds) {
    const std::vector<double> in = numbers<double>(n);
    std::vector<double> out(in.size());
    time_calls(
        1, seconds, [&](int64) { out = in; },
        [&](int64) { recurse(which, [&] { quicksort(which, out.data(), out.data() + out.size()); }); },
        [&] { return std::ranges::is_sorted(out); });
}

// Three loops of N iterations, each about 1 µs long, in a loop: more loops than CPUs, and not a multiple.
void nested(library which, int64 n, double seconds) {
    constexpr int64 loops = 3;
    std::vector<double> out(as_size(loops * n));
    const auto iterate = [&](int64 at) {
        double x = static_cast<double>(at);
        for (int step = 0; step < 400; ++step) x = x * 0.999 + 1e-9;
        out[as_size(at)] = x;
    };
    const auto run = [&](int64) {
        std::ranges::fill(out, -1.0);
        switch (which) {
            case library::serial:
                for (int64 at = 0; at < loops * n; ++at) iterate(at);
                break;
            case library::tauto:
                tauto::parallel_for(team(), loops, [&](int64 loop) {
                    tauto::parallel_for(team(), n, [&](int64 i) { iterate(loop * n + i); });
                });
                break;
            case library::tbb:
                tbb::parallel_for(int64{0}, loops, [&](int64 loop) {
                    tbb::parallel_for(int64{0}, n, [&](int64 i) { iterate(loop * n + i); });
                });
                break;
            case library::omp:
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1) default(shared)
                for (int64 loop = 0; loop < loops; ++loop) {
#pragma omp taskloop default(shared)
                    for (int64 i = 0; i < n; ++i) iterate(loop * n + i);
                }
                break;
            case library::par: {
                std::vector<int64> of_loops(as_size(loops));
                std::iota(of_loops.begin(), of_loops.end(), 0);
                std::vector<int64> of_loop(as_size(n));
                std::iota(of_loop.begin(), of_loop.end(), 0);
                std::for_each(std::execution::par, of_loops.begin(), of_loops.end(), [&](int64 loop) {
                    std::for_each(std::execution::par, of_loop.begin(), of_loop.end(),
                                  [&](int64 i) { iterate(loop * n + i); });
                });
                break;
            }
            default:
                throw no_such_algorithm();
        }
    };
    time_calls(
        1, seconds, [](int64) {}, run,
        [&] { return std::ranges::none_of(out, [](double one) { return one == -1.0; }); });
}

// A program of loops, reductions and functions in each other, as the seed N draws it. Its leaves take 10 to
// 300 µs.
class mixed_program {
  public:
    explicit mixed_program(int64 seed) {
        std::mt19937 random(static_cast<unsigned>(seed));
        int left = 60;
        while (left > 0) draw(all_.within.emplace_back(std::make_unique<part>()).get(), 4, left, random);
        all_.is = kind::loop;
    }
    // What all leaves come to.
    double run(library which) {
        double sum = 0;
        recurse(which, [&] { sum = value_of(which, all_); });
        return sum;
    }

  private:
    enum class kind { leaf, loop, reduction, functions, sequence };
    struct part {
        kind is = kind::leaf;
        int64 steps = 0;
        std::vector<std::unique_ptr<part>> within;
        tauto::site site;
    };

    static void draw(part* one, int deep, int& left, std::mt19937& random) {
        --left;
        if (deep == 0 || left <= 0 || random() % 5 == 0) {
            one->steps = 4000 + random() % 120'000;
            return;
        }
        const kind kinds[] = {kind::loop,      kind::loop,      kind::reduction,
                              kind::functions, kind::functions, kind::sequence};
        one->is = kinds[random() % std::size(kinds)];
        const auto parts = 2 + random() % (one->is == kind::loop ? 6 : 2);
        for (std::size_t i = 0; i < parts; ++i)
            draw(one->within.emplace_back(std::make_unique<part>()).get(), deep - 1, left, random);
    }

    double value_of(library which, part& one) {
        const auto n = std::ssize(one.within);
        std::vector<double> values(as_size(n));
        const auto run_part = [&](int64 i) { values[as_size(i)] = value_of(which, *one.within[as_size(i)]); };
        switch (one.is) {
            case kind::leaf: {
                double x = static_cast<double>(one.steps);
                for (int64 step = 0; step < one.steps; ++step) x = x * 0.999 + 1e-9;
                return x;
            }
            case kind::sequence:
                for (int64 i = 0; i < n; ++i) run_part(i);
                break;
            case kind::functions:
                functions(which, n, run_part);
                break;
            case kind::loop:
                loop(which, n, one.site, run_part);
                break;
            case kind::reduction:
                return reduction(which, n, one.site, [&](int64 i) {
                    run_part(i);
                    return values[as_size(i)];
                });
        }
        return std::accumulate(values.begin(), values.end(), 0.0);
    }

    template <class Run>
    static void functions(library which, int64 n, Run& run_part) {
        const auto rest = [&] {
            if (n == 2) return run_part(1);
            call_both(
                which, [&] { run_part(1); }, [&] { run_part(2); });
        };
        call_both(
            which, [&] { run_part(0); }, rest);
    }

    template <class Run>
    static void loop(library which, int64 n, tauto::site& site, Run& run_part) {
        switch (which) {
            case library::serial:
                for (int64 i = 0; i < n; ++i) run_part(i);
                break;
            case library::tauto:
                tauto::parallel_for(team(), n, run_part, {.site = &site});
                break;
            case library::tbb:
                tbb::parallel_for(int64{0}, n, run_part);
                break;
            case library::omp:
#pragma omp taskloop grainsize(1) default(shared)
                for (int64 i = 0; i < n; ++i) run_part(i);
                break;
            default:
                throw no_such_algorithm();
        }
    }

    // Libraries add the values in different orders, so the sums are compared roughly.
    template <class Value>
    static double reduction(library which, int64 n, tauto::site& site, const Value& value) {
        switch (which) {
            case library::tauto:
                return tauto::parallel_reduce(team(), n, 0.0, value, std::plus<>{}, {.site = &site});
            case library::tbb:
                return tbb::parallel_reduce(
                    tbb::blocked_range<int64>(0, n, 1), 0.0,
                    [&](const auto& part, double sum) {
                        for (int64 i = part.begin(); i < part.end(); ++i) sum += value(i);
                        return sum;
                    },
                    std::plus<>{});
            default: {
                std::vector<double> values(as_size(n));
                const auto keep = [&](int64 i) { values[as_size(i)] = value(i); };
                loop(which, n, site, keep);
                return std::accumulate(values.begin(), values.end(), 0.0);
            }
        }
    }

    part all_;
};

void mixed(library which, int64 seed, double seconds) {
    mixed_program program(seed);
    const double right = program.run(library::serial);
    double found = 0;
    time_calls(
        1, seconds, [](int64) {}, [&](int64) { found = program.run(which); },
        [&] { return std::abs(found - right) <= 1e-9 * std::abs(right); });
}

// Five points of a square of about N cells.
void stencil(library which, int64 n, double seconds) {
    const auto side = static_cast<int64>(std::sqrt(static_cast<double>(n)));
    std::vector<double> from = numbers<double>(side * side);
    std::vector<double> to(from.size());
    const auto rectangle = [&](int64 top, int64 bottom, int64 left, int64 right) {
        for (int64 i = top; i < bottom; ++i) {
            const double* const in = from.data() + i * side;
            double* const out = to.data() + i * side;
            for (int64 j = left; j < right; ++j)
                out[j] = 0.25 * (in[j - 1] + in[j + 1] + in[j - side] + in[j + side]);
        }
    };
    const auto run = [&](int64) {
        switch (which) {
            case library::serial:
                rectangle(1, side - 1, 1, side - 1);
                break;
            case library::tauto:
                tauto::parallel_for(
                    team(), tauto::range2{{1, side - 1}, {1, side - 1}}, [&](tauto::range2 tile) {
                        rectangle(tile.rows.begin, tile.rows.end, tile.columns.begin, tile.columns.end);
                    });
                break;
            case library::tbb:
                tbb::parallel_for(tbb::blocked_range2d<int64>(1, side - 1, 1, side - 1),
                                  [&](const auto& tile) {
                                      rectangle(tile.rows().begin(), tile.rows().end(), tile.cols().begin(),
                                                tile.cols().end());
                                  });
                break;
            case library::omp:
#pragma omp parallel for
                for (int64 i = 1; i < side - 1; ++i) rectangle(i, i + 1, 1, side - 1);
                break;
            default:
                throw no_such_algorithm();
        }
    };
    const auto right = [&] {
        const std::vector<double> found = to;
        rectangle(1, side - 1, 1, side - 1);
        return found == to;
    };
    time_calls(
        batch_of(n), seconds, [](int64) {}, run, right);
}

library library_called(std::string_view name) {
    if (name == "serial") return library::serial;
    if (name == "tauto") return library::tauto;
    if (name == "tbb") return library::tbb;
    if (name == "omp") return library::omp;
    if (name == "gnu") return library::gnu;
    if (name == "par") return library::par;
    throw std::invalid_argument("LIBRARY is one of serial, tauto, tbb, omp, gnu, par");
}

void run(library which, std::string_view work, int64 n, double seconds) {
    const std::less<> less;
    if (work == "scan-double") return scan<double>(which, n, seconds);
    if (work == "scan-int64") return scan<int64>(which, n, seconds);
    if (work == "sort-double") return sort(which, numbers<double>(n), seconds, less);
    if (work == "sort-int64") return sort(which, numbers<int64>(n), seconds, less);
    if (work == "sort-string") return sort(which, numbers<std::string>(n), seconds, less);
    if (work == "sort-equal") return sort(which, std::vector<double>(as_size(n), 0.5), seconds, less);
    if (work == "sort-by") {
        return sort(which, numbers<int64>(n), seconds, [](int64 a, int64 b) { return (a ^ 1) < (b ^ 1); });
    }
    if (work == "sort-nearly") return sort(which, numbers<double>(n), seconds, less, nearly_sorted{});
    if (work == "pack") return pack(which, n, seconds);
    if (work == "partition")
        return partition<double>(which, n, seconds, [](double one) { return one < 0.5; });
    if (work == "partition-string")
        return partition<std::string>(which, n, seconds,
                                      [](const std::string& one) { return one.back() < '5'; });
    if (work == "histogram-256") return histogram(which, n, seconds, 256);
    if (work == "histogram-1000000") return histogram(which, n, seconds, 1'000'000);
    if (work == "min") return least<double>(which, n, seconds);
    if (work == "min-event")
        return least<event>(which, n, seconds, [](const event& one, const event& other) {
            return one.time + one.delay < other.time + other.delay;
        });
    if (work == "find") return find(which, n, seconds);
    if (work == "fibonacci") {
        if (n > 45) throw std::invalid_argument("N of fibonacci is at most 45");
        return recursion(which, seconds, [n](library by) { return fibonacci(by, n); });
    }
    if (work == "tree") {
        if (n > 60) throw std::invalid_argument("N of tree is at most 60");
        return recursion(which, seconds, [n](library by) { return count_nodes(by, 7, n); });
    }
    if (work == "quicksort") return quicksort_all(which, n, seconds);
    if (work == "nested") return nested(which, n, seconds);
    if (work == "mixed") return mixed(which, n, seconds);
    if (work == "stencil") return stencil(which, n, seconds);
    throw std::invalid_argument("WORK is not one of those in benchmarks/algorithms.py");
}

}  // namespace

int main(int count, char** words) {
    try {
        if (count != 5) throw std::invalid_argument("tauto-bench-algorithms takes LIBRARY WORK N SECONDS");
        const int64 n = std::atoll(words[3]);
        if (n < 2) throw std::invalid_argument("N is at least 2");
        run(library_called(words[1]), words[2], n, std::atof(words[4]));
    } catch (const no_such_algorithm&) {
        std::puts("-");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
