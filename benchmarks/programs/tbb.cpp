// oneTBB, a peer: a pinned team, entered once.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include <functional>

#include "benchmarks/programs/race.hpp"
#include "benchmarks/programs/works.hpp"
#include "runners/shared/tbb_team.hpp"

namespace {

using namespace tauto::bench;

struct ways {
    std::string work;
    amounts wanted;
    std::string partitioner = "auto";
    std::size_t grain = 1;
    race_cell cell;
};

// Written so that the compiler may vectorise it.
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

json sum(const options& asked, const ways& way) {
    json row = timed_sum(asked, way.wanted, [&](const std::vector<double>& values) {
        if (way.partitioner == "static") return sum_of(values, way.grain, tbb::static_partitioner{});
        if (way.partitioner == "simple") return sum_of(values, way.grain, tbb::simple_partitioner{});
        return sum_of(values, way.grain, tbb::auto_partitioner{});
    });
    row["partitioner"] = way.partitioner;
    return row;
}

json gaps(const options& asked, const ways& way) {
    return timed_gaps(asked, way.wanted, [](std::vector<float>& values) {
        // Parts below a thousand floats would measure the cutting.
        tbb::parallel_for(tbb::blocked_range<float*>(values.data(), values.data() + values.size(), 1000),
                          [](const tbb::blocked_range<float*>& part) {
                              for (float& value : part) value *= 1.0000001F;
                          });
    });
}

// One partitioner for all calls of a loop: the one with affinity remembers.
template <class Partitioner>
struct tbb_race {
    std::size_t grain;
    Partitioner partitioner = {};

    using parts = tbb::blocked_range<std::ptrdiff_t>;
    template <class Body>
    void loop(std::ptrdiff_t n, Body&& body) {
        tbb::parallel_for(
            parts(0, n, grain), [&](const parts& part) { body(part.begin(), part.end()); }, partitioner);
    }
    template <class Part>
    double sum(std::ptrdiff_t n, Part&& of_part) {
        return tbb::parallel_reduce(
            parts(0, n, grain), 0.0,
            [&](const parts& part, double sum) { return sum + of_part(part.begin(), part.end()); },
            std::plus<>{}, partitioner);
    }
    template <class One>
    double tasks(std::ptrdiff_t n, One&& one) {
        return sum(n, part_of_tasks(one));
    }
};

template <class Partitioner>
json race_with(const options& asked, const race_cell& cell) {
    const auto grain = static_cast<std::size_t>(cell.chunk);
    return timed_cell(asked, cell, tbb_race<Partitioner>{grain}, tbb_race<Partitioner>{grain});
}

json race(const options& asked, const race_cell& cell) {
    if (cell.schedule == "static") return race_with<tbb::static_partitioner>(asked, cell);
    if (cell.schedule == "simple") return race_with<tbb::simple_partitioner>(asked, cell);
    if (cell.schedule == "affinity") return race_with<tbb::affinity_partitioner>(asked, cell);
    return race_with<tbb::auto_partitioner>(asked, cell);
}

json run(const options& asked, const ways& way) {
    tauto::runner::options of_team;
    of_team.cpus = asked.cpus;
    of_team.threads = static_cast<int>(asked.cpus.size());
    tauto::runner::tbb_team team{of_team};
    json row;
    team.run([&] {
        row = way.work == "sum"    ? sum(asked, way)
              : way.work == "race" ? race(asked, way.cell)
                                   : gaps(asked, way);
    });
    row["library"] = "oneTBB";
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    ways way;
    return run_program(
        argc, argv, "tauto-bench-tbb", "oneTBB at one of the suite's works.",
        [&](arguments& app) {
            app.work(way.work, {"sum", "gaps", "race"});
            add_amounts(app, way.wanted);
            add_cell(app, way.cell, {"default", "auto", "static", "simple", "affinity"});
            app.word("--partitioner", way.partitioner, "How the range is cut", {"auto", "simple", "static"});
            app.number("--grain", way.grain, "Doubles of the smallest part");
        },
        [&](const options& asked) { return run(asked, way); });
}
