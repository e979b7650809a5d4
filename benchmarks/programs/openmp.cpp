// The OpenMP peers. GCC builds this program against libgomp; with LLVM's libomp preloaded the same binary
// runs on that one. Each is pinned in its own way; runners/shared/openmp_library.hpp tells what goes wrong
// otherwise.

#include <omp.h>
#include <sched.h>

#include <algorithm>

#include "benchmarks/programs/race.hpp"
#include "benchmarks/programs/works.hpp"
#include "runners/shared/environment.hpp"
#include "runners/shared/openmp_library.hpp"

namespace {

using namespace tauto::bench;
namespace runner = tauto::runner;

void require_threads(const options& asked, const std::vector<int>& ran_on) {
    require_every_cpu(asked, ran_on, "; the library sees " + std::to_string(omp_get_num_procs()) + " CPUs");
}

json launch(const options& asked) {
    std::vector<int> ran_on(asked.cpus.size(), -1);
#pragma omp parallel
    ran_on[static_cast<std::size_t>(omp_get_thread_num())] = sched_getcpu();
    require_threads(asked, ran_on);
    return timed_launches(asked, ran_on, [] {
#pragma omp parallel
        asm volatile("" ::: "memory");
    });
}

// A thread of the region, with what barrier_seconds calls.
struct openmp_member {
    double* shared;

    static void barrier() {
#pragma omp barrier
    }
    void broadcast(std::span<double> value) const {
        if (omp_get_thread_num() == 0) *shared = value[0];
#pragma omp barrier
        value[0] = *shared;
#pragma omp barrier
    }
};

json barrier(const options& asked) {
    std::vector<int> ran_on(asked.cpus.size(), -1);
    std::vector<double> batches;
    double shared = 0;
#pragma omp parallel
    {
        const int rank = omp_get_thread_num();
        ran_on[static_cast<std::size_t>(rank)] = sched_getcpu();
        openmp_member me{&shared};
        std::vector<double> mine = barrier_seconds(me, asked);
        if (rank == 0) batches = std::move(mine);
    }
    require_threads(asked, ran_on);
    json row = timed(batches);
    row["wait"] = asked.wait;
    row["cpus"] = ran_on;
    return row;
}

json sum(const options& asked, const amounts& wanted) {
    return timed_sum(asked, wanted, [](const std::vector<double>& values) {
        const double* const data = values.data();
        const auto n = static_cast<std::ptrdiff_t>(values.size());
        double sum = 0;
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
        for (std::ptrdiff_t i = 0; i < n; ++i) sum += data[i];
        return sum;
    });
}

json gaps(const options& asked, const amounts& wanted) {
    return timed_gaps(asked, wanted, [](std::vector<float>& values) {
        float* const data = values.data();
        const auto n = static_cast<std::ptrdiff_t>(values.size());
#pragma omp parallel for simd schedule(static)
        for (std::ptrdiff_t i = 0; i < n; ++i) data[i] *= 1.0000001F;
    });
}

// The loop of a cell, part by part: a part is a chunk, or with `static` a thread's share.
struct openmp_race {
    std::ptrdiff_t chunk;
    int threads = omp_get_max_threads();

    [[nodiscard]] std::ptrdiff_t length(std::ptrdiff_t n) const {
        return std::max<std::ptrdiff_t>(1, chunk > 0 ? chunk : (n + threads - 1) / threads);
    }
    template <class Body>
    void loop(std::ptrdiff_t n, Body&& body) const {
        const std::ptrdiff_t size = length(n);
#pragma omp parallel for schedule(runtime)
        for (std::ptrdiff_t part = 0; part < (n + size - 1) / size; ++part)
            body(part * size, std::min(n, (part + 1) * size));
    }
    template <class Part>
    [[nodiscard]] double sum(std::ptrdiff_t n, Part&& of_part) const {
        const std::ptrdiff_t size = length(n);
        double sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
        for (std::ptrdiff_t part = 0; part < (n + size - 1) / size; ++part)
            sum += of_part(part * size, std::min(n, (part + 1) * size));
        return sum;
    }
    template <class One>
    [[nodiscard]] double tasks(std::ptrdiff_t n, One&& one) const {
        return sum(n, part_of_tasks(one));
    }
};

json race(const options& asked, const race_cell& cell) {
    const bool in_chunks = cell.schedule != "static" && cell.schedule != "default";
    omp_set_schedule(cell.schedule == "guided"    ? omp_sched_guided
                     : cell.schedule == "dynamic" ? omp_sched_dynamic
                                                  : omp_sched_static,
                     1);
    const openmp_race runtime{.chunk = in_chunks ? cell.chunk : 0};
    return timed_cell(asked, cell, runtime, runtime);
}

}  // namespace

int main(int argc, char** argv) {
    std::string work;
    amounts wanted;
    race_cell cell;
    return run_program(
        argc, argv, "tauto-bench-openmp", "An OpenMP library at one of the suite's works.",
        [&](arguments& app) {
            app.work(work, {"launch", "barrier", "sum", "gaps", "race"});
            add_amounts(app, wanted);
            add_cell(app, cell, {"default", "static", "cyclic", "dynamic", "guided"});
        },
        [&](const options& asked) {
            // The library reads its settings when it is loaded, so the program begins anew with them.
            if (!runner::restarted())
                runner::restart_with(runner::openmp_environment(asked.cpus, asked.wait), asked.cpus, argv);
            runner::use_openmp_threads(static_cast<int>(asked.cpus.size()));
            json row = work == "launch"    ? launch(asked)
                       : work == "barrier" ? barrier(asked)
                       : work == "sum"     ? sum(asked, wanted)
                       : work == "race"    ? race(asked, cell)
                                           : gaps(asked, wanted);
            row["library"] = runner::openmp_description().library;
            return row;
        });
}
