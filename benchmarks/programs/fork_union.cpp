// Fork Union, a peer whose header is taken from the folder that PEERS_FROM names. Its pool pins nobody, so
// each thread pins itself.

#include <fork_union.hpp>
#include <memory>
#include <span>
#include <vector>

#include "benchmarks/programs/race.hpp"
#include "benchmarks/programs/works.hpp"

namespace {

using namespace tauto::bench;
namespace fork_union = ashvardanian::fork_union;

struct alignas(128) partial {
    double sum = 0;
};

// Its default wait yields the CPU to others; the active one does not.
#if defined(__x86_64__)
using pausing = fork_union::x86_pause_t;
#else
using pausing = fork_union::standard_yield_t;
#endif
using default_pool = fork_union::basic_pool<std::allocator<std::thread>>;
using active_pool = fork_union::basic_pool<std::allocator<std::thread>, pausing>;

template <class Pool>
struct fork_union_race {
    Pool& pool;
    bool dynamic;
    std::ptrdiff_t chunk;
    std::shared_ptr<std::vector<partial>> partials;

    // part(begin, end, thread) for all of [0, n): slices of equal length, or chunks from one counter.
    template <class Part>
    void share(std::ptrdiff_t n, Part&& part) const {
        if (dynamic) {
            const auto chunks = static_cast<std::size_t>((n + chunk - 1) / chunk);
            pool.for_n_dynamic(chunks, [&](fork_union::prong_t prong) noexcept {
                const auto begin = static_cast<std::ptrdiff_t>(prong.task) * chunk;
                part(begin, std::min(n, begin + chunk), prong.thread);
            });
        } else {
            pool.for_slices(static_cast<std::size_t>(n),
                            [&](fork_union::prong_t prong, std::size_t count) noexcept {
                                const auto begin = static_cast<std::ptrdiff_t>(prong.task);
                                part(begin, begin + static_cast<std::ptrdiff_t>(count), prong.thread);
                            });
        }
    }
    template <class Body>
    void loop(std::ptrdiff_t n, Body&& body) const {
        share(n, [&](std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t) { body(begin, end); });
    }
    template <class Part>
    [[nodiscard]] double sum(std::ptrdiff_t n, Part&& of_part) const {
        for (partial& one : *partials) one.sum = 0;
        share(n, [&](std::ptrdiff_t begin, std::ptrdiff_t end, std::size_t thread) {
            (*partials)[thread].sum += of_part(begin, end);
        });
        double sum = 0;
        for (const partial& one : *partials) sum += one.sum;
        return sum;
    }
    template <class One>
    [[nodiscard]] double tasks(std::ptrdiff_t n, One&& one) const {
        return sum(n, part_of_tasks(one));
    }
};

template <class Pool>
json race(const options& asked, const race_cell& cell) {
    Pool pool;
    if (!pool.try_spawn(asked.cpus.size())) throw missing_worker("Fork Union could not start its threads");
    pool.for_threads([&](std::size_t thread) noexcept {
        tauto::runner::pin_to(std::span(asked.cpus).subspan(thread, 1));
    });
    const fork_union_race<Pool> runtime{pool, cell.schedule == "dynamic", cell.chunk,
                                        std::make_shared<std::vector<partial>>(asked.cpus.size())};
    return timed_cell(asked, cell, runtime, runtime);
}

}  // namespace

int main(int argc, char** argv) {
    race_cell cell;
    std::string work;
    return run_program(
        argc, argv, "tauto-bench-fork-union", "Fork Union at the race.",
        [&](arguments& app) {
            app.work(work, {"race"});
            add_cell(app, cell, {"default", "static", "dynamic"});
        },
        [&](const options& asked) {
            json row =
                asked.wait == "active" ? race<active_pool>(asked, cell) : race<default_pool>(asked, cell);
            row["library"] = "Fork Union";
            return row;
        });
}
