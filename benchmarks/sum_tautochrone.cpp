// B11, B12, ours: parallel_reduce with no settings, in index order or unordered; or the plain loop.

#include <numeric>

#include "benchmarks/sum.hpp"

#include <tauto/tauto.hpp>

namespace {

using namespace tauto::bench;

struct ways {
    sum_options wanted;
    bool unordered = false;
    bool plain = false;
};

json run(const options& asked, const ways& way) {
    if (way.plain) {
        tauto::runner::pin_to(std::span<const int>(asked.cpus).first(1));
        json row = timed_sum(asked, way.wanted, [](const std::vector<double>& values) {
            return std::accumulate(values.begin(), values.end(), 0.0);
        });
        row["library"] = "plain loop";
        return row;
    }
    tauto::team team{{.cpus = asked.cpus}};
    const tauto::reduce_options options{.unordered = way.unordered};
    json row = timed_sum(asked, way.wanted, [&](const std::vector<double>& values) {
        return tauto::parallel_reduce(
            team, std::ssize(values), 0.0,
            [&](tauto::index i) { return values[static_cast<std::size_t>(i)]; }, std::plus<>{}, options);
    });
    row["library"] = "tautochrone";
    row["unordered"] = way.unordered;
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    ways way;
    return run_program(
        argc, argv, "tauto-bench-sum-tautochrone", "Time of a sum of doubles through tauto::parallel_reduce.",
        [&](arguments& app) {
            add_sum_options(app, way.wanted);
            app.flag("--unordered", way.unordered, "Add in any order");
            app.flag("--plain", way.plain, "The plain loop on the first CPU");
        },
        [&](const options& asked) { return run(asked, way); });
}
