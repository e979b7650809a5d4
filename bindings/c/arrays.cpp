// Sums, scans, least elements and histograms of arrays.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <tauto/exact_sum.hpp>
#include <tauto/parallel_find.hpp>
#include <tauto/parallel_histogram.hpp>
#include <tauto/parallel_scan.hpp>

#include "calls.hpp"

using namespace tauto;
using namespace tauto::c;

namespace {

// Where a program has integers with a sign, sums and scans are those of the same bits without one: modulo
// 2^64.
const std::uint64_t* without_sign(const std::int64_t* values) {
    return reinterpret_cast<const std::uint64_t*>(values);
}
std::uint64_t* without_sign(std::int64_t* values) {
    return reinterpret_cast<std::uint64_t*>(values);
}

template <bool Inclusive, class T>
tauto_status scan_of(const char* name, tauto_team* given, const T* values, std::int64_t n, T init, T* results,
                     const tauto_options* options) {
    return guarded([&] {
        team& members = members_of(name, given);
        check_array(name, "values", values, n);
        check_array(name, "results", results, n);
        const algorithm_options scanning = algorithm_options_of(name, options);
        if constexpr (Inclusive) {
            parallel_inclusive_scan(members, values, values + n, results, std::plus<>{}, scanning);
        } else {
            parallel_exclusive_scan(members, values, values + n, results, init, std::plus<>{}, scanning);
        }
    });
}

// The least value of a block, where it is not known yet.
struct best_value {
    range block;
    double value;
};

template <class Compare>
struct best_of {
    const double* values;

    static void map_range(void* self, std::int64_t begin, std::int64_t end, void* best) {
        const range block{begin, end};
        Compare before;
        const double* const values = static_cast<best_of*>(self)->values;
        *static_cast<best_value*>(best) = {block,
                                           detail::least_value<const double*, double>(values, block, before)};
    }
    static void combine(void*, void* left, const void* right) {
        auto& one = *static_cast<best_value*>(left);
        const auto& other = *static_cast<const best_value*>(right);
        if (one.block.empty() || Compare{}(other.value, one.value)) one = other;
    }
};

template <class Compare>
tauto_status place_of(const char* name, tauto_team* given, const double* values, std::int64_t n,
                      std::int64_t* place, const tauto_options* options) {
    return guarded([&] {
        team& members = members_of(name, given);
        check_array(name, "values", values, n);
        need(name, "place", place);
        best_of<Compare> search{values};
        best_value best{};
        reduce(members, {0, n}, sizeof best, best_of<Compare>::map_range, best_of<Compare>::combine, &search,
               &best, reduce_options_of(name, options, address_of(best_of<Compare>::map_range)));
        const auto is_best = [&](double value) { return !Compare{}(best.value, value); };
        const double* const end = values + best.block.end;
        const double* const found = std::find_if(values + best.block.begin, end, is_best);
        // With NaN there may be none.
        *place = n == 0 ? -1 : found != end ? found - values : best.block.begin;
    });
}

void sum_range(void* values, std::int64_t begin, std::int64_t end, void* sum) {
    const auto* const first = static_cast<const std::uint64_t*>(values);
    *static_cast<std::uint64_t*>(sum) = std::accumulate(first + begin, first + end, std::uint64_t{0});
}
void add_sums(void*, void* left, const void* right) {
    *static_cast<std::uint64_t*>(left) += *static_cast<const std::uint64_t*>(right);
}

// Bins of one width, as NumPy has them: a value near an edge belongs where the edges say, whatever the
// division has rounded to.
struct even_bins {
    double low;
    double high;
    std::int64_t bins;
    double width;
    double scale;

    even_bins(double from, double to, std::int64_t count)
        : low(from),
          high(to),
          bins(count),
          width((to - from) / static_cast<double>(count)),
          scale(static_cast<double>(count) / (to - from)) {}
    [[nodiscard]] double edge(std::int64_t b) const noexcept { return low + static_cast<double>(b) * width; }
    // `bins` for a value that is in none.
    [[nodiscard]] std::int64_t operator()(double value) const noexcept {
        if (!(value >= low && value <= high)) return bins;
        const std::int64_t b = std::min(static_cast<std::int64_t>((value - low) * scale), bins - 1);
        if (value < edge(b)) return b - 1;
        return b + 1 < bins && value >= edge(b + 1) ? b + 1 : b;
    }
};

void check_bins(const char* name, std::int64_t bins, const std::uint64_t* counts) {
    if (bins < 1 || bins > max_iterations)
        refuse(std::string(name) + " with " + std::to_string(bins) + " bins; there must be one at least");
    need(name, "counts", counts);
}

}  // namespace

tauto_status tauto_sum_double(tauto_team* given, const double* values, int64_t n, double* sum,
                              const tauto_options* options) {
    return guarded([&] {
        team& members = members_of("tauto_sum_double", given);
        check_array("tauto_sum_double", "values", values, n);
        need("tauto_sum_double", "sum", sum);
        const auto value = [values](std::int64_t i) { return values[i]; };
        *sum = parallel_reduce(members, n, 0.0, value, std::plus<>{},
                               reduce_options_of("tauto_sum_double", options));
    });
}

tauto_status tauto_sum_int64(tauto_team* given, const int64_t* values, int64_t n, int64_t* sum,
                             const tauto_options* options) {
    return guarded([&] {
        team& members = members_of("tauto_sum_int64", given);
        check_array("tauto_sum_int64", "values", values, n);
        need("tauto_sum_int64", "sum", sum);
        std::uint64_t all = 0;
        reduce(members, {0, n}, sizeof all, sum_range, add_sums, const_cast<std::int64_t*>(values), &all,
               reduce_options_of("tauto_sum_int64", options, address_of(sum_range)));
        *sum = static_cast<std::int64_t>(all);
    });
}

tauto_status tauto_exact_sum(tauto_team* given, const double* values, int64_t n, double* sum,
                             const tauto_options* options) {
    return guarded([&] {
        team& members = members_of("tauto_exact_sum", given);
        check_array("tauto_exact_sum", "values", values, n);
        need("tauto_exact_sum", "sum", sum);
        loop_options summing;
        if (options != nullptr) summing = read_options("tauto_exact_sum", *options, nullptr);
        *sum = exact_sum(members, std::span(values, detail::usize(n)), summing);
    });
}

tauto_status tauto_inclusive_scan_double(tauto_team* given, const double* values, int64_t n, double* results,
                                         const tauto_options* options) {
    return scan_of<true>("tauto_inclusive_scan_double", given, values, n, 0.0, results, options);
}

tauto_status tauto_inclusive_scan_int64(tauto_team* given, const int64_t* values, int64_t n, int64_t* results,
                                        const tauto_options* options) {
    return scan_of<true>("tauto_inclusive_scan_int64", given, without_sign(values), n, std::uint64_t{0},
                         without_sign(results), options);
}

tauto_status tauto_exclusive_scan_double(tauto_team* given, const double* values, int64_t n, double init,
                                         double* results, const tauto_options* options) {
    return scan_of<false>("tauto_exclusive_scan_double", given, values, n, init, results, options);
}

tauto_status tauto_exclusive_scan_int64(tauto_team* given, const int64_t* values, int64_t n, int64_t init,
                                        int64_t* results, const tauto_options* options) {
    return scan_of<false>("tauto_exclusive_scan_int64", given, without_sign(values), n,
                          static_cast<std::uint64_t>(init), without_sign(results), options);
}

tauto_status tauto_min_double(tauto_team* given, const double* values, int64_t n, int64_t* place,
                              const tauto_options* options) {
    return place_of<std::less<>>("tauto_min_double", given, values, n, place, options);
}

tauto_status tauto_max_double(tauto_team* given, const double* values, int64_t n, int64_t* place,
                              const tauto_options* options) {
    return place_of<std::greater<>>("tauto_max_double", given, values, n, place, options);
}

tauto_status tauto_histogram_double(tauto_team* given, const double* values, int64_t n, double low,
                                    double high, int64_t bins, uint64_t* counts,
                                    const tauto_options* options) {
    return guarded([&] {
        const char* const name = "tauto_histogram_double";
        team& members = members_of(name, given);
        check_array(name, "values", values, n);
        check_bins(name, bins, counts);
        const even_bins all(low, high, bins);
        if (!(low < high) || !(all.width > 0) || !(all.scale < std::numeric_limits<double>::infinity()) ||
            !(all.width < std::numeric_limits<double>::infinity())) {
            refuse("tauto_histogram_double from " + std::to_string(low) + " to " + std::to_string(high) +
                   " in " + std::to_string(bins) +
                   " bins; `low` must be less than `high`, both finite, and bins not so "
                   "narrow that they are 0");
        }
        // One more for what is in no bin.
        std::vector<std::uint64_t> own(detail::usize(bins) + 1);
        parallel_histogram(members, values, values + n, std::span(own), all,
                           algorithm_options_of(name, options));
        std::copy_n(own.data(), bins, counts);
    });
}

tauto_status tauto_histogram_int64(tauto_team* given, const int64_t* values, int64_t n, int64_t bins,
                                   uint64_t* counts, const tauto_options* options) {
    return guarded([&] {
        const char* const name = "tauto_histogram_int64";
        team& members = members_of(name, given);
        check_array(name, "values", values, n);
        check_bins(name, bins, counts);
        parallel_histogram(members, values, values + n, std::span(counts, detail::usize(bins)),
                           std::identity{}, algorithm_options_of(name, options));
    });
}
