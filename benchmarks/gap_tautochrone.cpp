// B14, ours: parallel_for with no settings but the wait policy; or the loop on one CPU.

#include "benchmarks/gap.hpp"

#include <tauto/tauto.hpp>

namespace {

using namespace tauto::bench;

json run(const options& asked, const gap_options& wanted, bool plain) {
    const auto scale = [](std::vector<float>& values, std::ptrdiff_t begin, std::ptrdiff_t end) {
        float* const data = values.data();
        for (std::ptrdiff_t i = begin; i < end; ++i) data[i] *= 1.0000001F;
    };
    if (plain) {
        tauto::runner::pin_to(std::span<const int>(asked.cpus).first(1));
        json row = timed_gaps(asked, wanted,
                              [&](std::vector<float>& values) { scale(values, 0, std::ssize(values)); });
        row["library"] = "plain loop";
        return row;
    }
    tauto::team team{{.cpus = asked.cpus,
                      .wait = tauto::wait_policy_from(asked.wait == "default" ? "balanced" : asked.wait)}};
    json row = timed_gaps(asked, wanted, [&](std::vector<float>& values) {
        tauto::parallel_for(team, std::ssize(values), [&](tauto::range r) { scale(values, r.begin, r.end); });
    });
    row["library"] = "tautochrone";
    return row;
}

}  // namespace

int main(int argc, char** argv) {
    gap_options wanted;
    bool plain = false;
    return run_program(
        argc, argv, "tauto-bench-gap-tautochrone",
        "Loops with pauses between them through tauto::parallel_for.",
        [&](arguments& app) {
            add_gap_options(app, wanted);
            app.flag("--plain", plain, "The plain loop on the first CPU");
        },
        [&](const options& asked) { return run(asked, wanted, plain); });
}
