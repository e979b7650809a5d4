// B6: the sum of a few floats, a loop too short to fork, as a plain loop and through parallel_for.

#include <tauto/tauto.hpp>

#include "benchmarks/program.hpp"

namespace {

using namespace tauto::bench;

constexpr int loops_a_batch = 1000;

// The compiler must neither know the values nor their number, nor find a sum unused.
template <class Number>
void forget(Number& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

template <class Sum>
json run(const options& asked, tauto::index n, Sum&& sum) {
    std::vector<float> values(static_cast<std::size_t>(n), 1.0F);
    const float* data = values.data();
    float total = 0.0F;
    json row = timed(batch_seconds(asked, loops_a_batch, [&] {
        tauto::index count = n;
        forget(data);
        forget(count);
        total = sum(data, count);
        forget(total);
    }));
    if (total != static_cast<float>(n)) throw std::runtime_error("the sum is wrong");
    return row;
}

json run_plain(const options& asked, tauto::index n) {
    return run(asked, n, [](const float* data, tauto::index count) {
        float total = 0.0F;
        for (tauto::index i = 0; i < count; ++i) total += data[i];
        return total;
    });
}

json run_parallel_for(const options& asked, tauto::index n) {
    tauto::team members{tauto::team_options{.cpus = asked.cpus}};
    struct alignas(128) partial {
        float sum;
    };
    std::vector<partial> parts(static_cast<std::size_t>(members.size()));
    // As a program would write it: each member adds to its own part, and the parts are added up. All of that
    // counts as ours.
    return run(asked, n, [&](const float* data, tauto::index count) {
        for (partial& part : parts) part.sum = 0.0F;
        tauto::parallel_for(members, count, [&](tauto::range r, int rank) {
            float sum = 0.0F;
            for (tauto::index i = r.begin; i < r.end; ++i) sum += data[i];
            parts[static_cast<std::size_t>(rank)].sum += sum;
        });
        float total = 0.0F;
        for (const partial& part : parts) total += part.sum;
        return total;
    });
}

}  // namespace

int main(int argc, char** argv) {
    bool plain = false;
    tauto::index n = 64;
    return run_program(
        argc, argv, "tauto-bench-short-loop", "Time of the sum of a few floats.",
        [&](arguments& app) {
            app.flag("--plain", plain, "As a plain loop in place of parallel_for");
            app.number("--floats", n, "How many");
        },
        [&](const options& asked) {
            if (plain)
                tauto::runner::pin_to(std::span(asked.cpus).first(1));  // a team pins its caller itself
            json row = plain ? run_plain(asked, n) : run_parallel_for(asked, n);
            row["library"] = plain ? "none" : "tautochrone";
            row["floats"] = n;
            return row;
        });
}
