// One short call in C++, and the same through the library for C: nanoseconds of each, for
// benchmarks/bridges.py, which loads this. So short that nothing is shared: what is left is what a call
// costs.

#include <tauto.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include <tauto/tauto.hpp>

// The body of all languages but Fortran.
extern "C" void add_one(void* context, std::int64_t begin, std::int64_t end) {
    auto* const to = static_cast<double*>(context);
    for (std::int64_t i = begin; i < end; ++i) to[i] += 1;
}

namespace {

constexpr tauto::index count = 64;
std::array<double, count> values{};
std::array<double, count> results{};

tauto::team& team() {
    static tauto::team one;
    return one;
}

tauto_team* c_team() {
    static tauto_team* const one = [] {
        tauto_team* made = nullptr;
        return tauto_team_create(nullptr, &made) == TAUTO_OK ? made : nullptr;
    }();
    return one;
}

// The calls of each work; the Fortran and Python beside this file do the same.
void cpp_for() {
    tauto::parallel_for(team(), count, [](tauto::range r) { add_one(values.data(), r.begin, r.end); });
}
void c_for() {
    static_cast<void>(tauto_parallel_for(c_team(), 0, count, add_one, values.data(), nullptr));
}
void cpp_sum() {
    const auto value = [](tauto::index i) { return tauto::detail::at(values, i); };
    results[0] = tauto::parallel_reduce(team(), count, 0.0, value, std::plus<>{});
}
void c_sum() {
    static_cast<void>(tauto_sum_double(c_team(), values.data(), count, results.data(), nullptr));
}
void cpp_scan() {
    tauto::parallel_inclusive_scan(team(), values, results.begin());
}
void c_scan() {
    static_cast<void>(tauto_inclusive_scan_double(c_team(), values.data(), count, results.data(), nullptr));
}
void cpp_sort() {
    tauto::parallel_sort(team(), values);
}
void c_sort() {
    static_cast<void>(tauto_sort_double(c_team(), values.data(), count, nullptr));
}

template <void (*Call)()>
double nanoseconds(long calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (long k = 0; k < calls; ++k) Call();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    return took.count() / static_cast<double>(calls);
}

}  // namespace

// Of each of so many calls.
#define TAUTO_TIMED(name)                              \
    extern "C" double name##_nanoseconds(long calls) { \
        return nanoseconds<name>(calls);               \
    }
TAUTO_TIMED(cpp_for)
TAUTO_TIMED(c_for)
TAUTO_TIMED(cpp_sum)
TAUTO_TIMED(c_sum)
TAUTO_TIMED(cpp_scan)
TAUTO_TIMED(c_scan)
TAUTO_TIMED(cpp_sort)
TAUTO_TIMED(c_sort)
