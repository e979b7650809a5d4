#include "probe_fork_join.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include <tauto/parallel_for.hpp>
#include <tauto/team.hpp>

#include "probe_threads.hpp"

namespace tauto::probe {
namespace {

// Many short batches: the median is then of undisturbed ones, even on a busy machine.
constexpr int launches_a_batch = 50;
constexpr int batches = 199;

template <class Launch>
double median_launch_seconds(double seconds, Launch&& launch) {
    const double rate = median_rate(seconds, batches, [&] {
        for (int i = 0; i < launches_a_batch; ++i) launch();
        return static_cast<double>(launches_a_batch);
    });
    return 1.0 / rate;
}

// The entry point that compilers call for `#pragma omp parallel`.
using gomp_parallel = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);
using get_number = int (*)();

struct region {
    const std::vector<int>* cpus = nullptr;
    get_number rank = nullptr;
    std::atomic<int> members{0};
};

void pin_members(void* data) {
    auto& where = *static_cast<region*>(data);
    const auto rank = static_cast<std::size_t>(where.rank());
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>((*where.cpus)[rank]), &set);
    sched_setaffinity(0, sizeof set, &set);
    ++where.members;
}

void do_nothing(void*) {}

}  // namespace

double tautochrone_fork_join_seconds(const std::vector<int>& cpus, double seconds) {
    team members(team_options{.cpus = cpus, .wait = wait_policy::active});
    const index n = members.size();
    // `static_` forks always; `adaptive` would learn that an empty loop is not worth it.
    const loop_options options{.schedule = static_{}};
    return median_launch_seconds(seconds, [&] {
        parallel_for(
            members, n, [](range) {}, options);
    });
}

std::optional<double> libgomp_fork_join_seconds(const std::vector<int>& cpus, double seconds,
                                                std::string& why_not) {
    // Loaded by a thread that nothing has pinned: the library counts the CPUs of that thread, and with fewer
    // CPUs than members it would not spin.
    void* const library = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        why_not = "libgomp is not installed (Debian: libgomp1)";
        return std::nullopt;
    }
    const auto parallel = reinterpret_cast<gomp_parallel>(dlsym(library, "GOMP_parallel"));
    region where{&cpus, reinterpret_cast<get_number>(dlsym(library, "omp_get_thread_num"))};
    if (parallel == nullptr || where.rank == nullptr) {
        why_not = "libgomp.so.1 lacks GOMP_parallel";
        return std::nullopt;
    }
    double result = 0;
    // A thread of its own, since it becomes a member and is pinned.
    std::thread([&] {
        const auto threads = static_cast<unsigned>(cpus.size());
        parallel(pin_members, &where, threads, 0);
        if (where.members != static_cast<int>(cpus.size())) return;
        result = median_launch_seconds(seconds, [&] { parallel(do_nothing, nullptr, threads, 0); });
    }).join();
    if (where.members != static_cast<int>(cpus.size())) {
        why_not = "libgomp gave " + std::to_string(where.members) + " threads for " +
                  std::to_string(cpus.size()) + " CPUs; unset OMP_THREAD_LIMIT and OMP_DYNAMIC";
        return std::nullopt;
    }
    return result;
}

}  // namespace tauto::probe
