// B11, a peer: oneTBB's parallel_reduce, each part summed so that the compiler may vectorise it.

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>

#include <functional>

#include "benchmarks/sum.hpp"
#include "benchmarks/tbb_program.hpp"

namespace {

using namespace tauto::bench;

struct ways {
    sum_options wanted;
    std::string partitioner = "auto";
    std::size_t grain = 1;
};

double part(const tbb::blocked_range<const double*>& values, double sum) {
#pragma omp simd reduction(+ : sum)
    for (const double* value = values.begin(); value < values.end(); ++value) sum += *value;
    return sum;
}

template <class Partitioner>
double sum_of(const std::vector<double>& values, std::size_t grain, const Partitioner& partitioner) {
    return tbb::parallel_reduce(
        tbb::blocked_range<const double*>(values.data(), values.data() + values.size(), grain), 0.0, part,
        std::plus<>{}, partitioner);
}

json run(const options& asked, const ways& way) {
    json row = on_tbb_team(asked, "oneTBB", [&] {
        return timed_sum(asked, way.wanted, [&](const std::vector<double>& values) {
            if (way.partitioner == "static") return sum_of(values, way.grain, tbb::static_partitioner{});
            if (way.partitioner == "simple") return sum_of(values, way.grain, tbb::simple_partitioner{});
            return sum_of(values, way.grain, tbb::auto_partitioner{});
        });
    });
    row["partitioner"] = way.partitioner;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    ways way;
    return run_program(
        argc, argv, "tauto-bench-sum-tbb", "Time of a sum of doubles through tbb::parallel_reduce.",
        [&](arguments& app) {
            add_sum_options(app, way.wanted);
            app.word("--partitioner", way.partitioner, "How the range is cut", {"auto", "simple", "static"});
            app.number("--grain", way.grain, "Doubles of the smallest part");
        },
        [&](const options& asked) { return run(asked, way); });
}
