#include "probe/fork_join.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <utility>

#include <tauto/parallel_for.hpp>
#include <tauto/team.hpp>

#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

// Many short batches, so that the median is undisturbed even on a busy machine.
constexpr int launches_a_batch = 50;
constexpr int batches = 199;
constexpr int least_batches = 49;  // if a batch is long

template <class Launch>
double median_launch_seconds(double seconds, Launch&& launch) {
    const double rate = median_rate(seconds, batches, [&] {
        for (int i = 0; i < launches_a_batch; ++i) launch();
        return static_cast<double>(launches_a_batch);
    });
    return 1.0 / rate;
}

// What each member reads in a cold loop, and how long that took.
class cold_work {
  public:
    cold_work(std::size_t members, std::int64_t l2_bytes) : members_(members) {
        const std::size_t length = 2 * static_cast<std::size_t>(l2_bytes) / sizeof(long);
        for (member& one : members_) one.numbers.resize(length, 1);
    }
    void of(std::size_t rank) {
        member& own = members_[rank];
        const double begun = seconds_now();
        long sum = std::accumulate(own.numbers.begin(), own.numbers.end(), 0L);
        keep(sum);
        own.took.store(seconds_now() - begun, std::memory_order_relaxed);
    }
    // When all have ended.
    [[nodiscard]] double longest() const {
        double most = 0;
        for (const member& one : members_) most = std::max(most, one.took.load(std::memory_order_relaxed));
        return most;
    }

  private:
    struct alignas(128) member {
        std::vector<long> numbers;
        std::atomic<double> took{0};  // ThreadSanitizer does not see how the libraries fork
    };
    std::vector<member> members_;
};

// The median of what launches take besides this work.
template <class Launch>
double cold_launch_seconds(double seconds, const cold_work& work, Launch&& launch) {
    constexpr std::size_t least = 50;
    std::vector<double> besides;
    for (const double end = seconds_now() + seconds; besides.size() < least || seconds_now() < end;) {
        const double start = seconds_now();
        launch();
        const double took = seconds_now() - start;
        besides.push_back(took - work.longest());
    }
    return std::max(0.0, median(std::move(besides)));
}

// The entry points that compilers call for `#pragma omp parallel` and its loops; libomp has them too.
using gomp_parallel = void (*)(void (*body)(void*), void* data, unsigned threads, unsigned flags);
using gomp_parallel_loop = void (*)(void (*body)(void*), void* data, unsigned threads, long begin, long end,
                                    long step, long chunk, unsigned flags);
using gomp_loop_next = bool (*)(long* from, long* to);
using gomp_loop_end = void (*)();
using get_number = int (*)();

struct region {
    const std::vector<int>* cpus = nullptr;
    cold_work* work = nullptr;
    get_number rank = nullptr;
    gomp_loop_next next = nullptr;
    gomp_loop_end end = nullptr;
    std::atomic<int> members{0};
    // Incremented by each member at its end, because ThreadSanitizer does not see the libraries' join.
    std::atomic<long> ends{0};
};

constexpr long chunks_a_member = 200;

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

void read_much(void* data) {
    auto& where = *static_cast<region*>(data);
    where.work->of(static_cast<std::size_t>(where.rank()));
    where.ends.fetch_add(1, std::memory_order_release);
}

// About a microsecond of work. Empty chunks would measure only the contention of members, which useful loops
// do not have.
void work_a_little() {
    double x = 1;
    keep(x);
    for (int turn = 0; turn < 400; ++turn) x = x * 0.999999 + 1e-6;
    keep(x);
}

void take_chunks(void* data) {
    auto& where = *static_cast<region*>(data);
    long from = 0;
    long to = 0;
    while (where.next(&from, &to)) work_a_little();
    where.end();
    where.ends.fetch_add(1, std::memory_order_release);
}

// The same work without a dequeue.
void work_alone(void* data) {
    for (long chunk = 0; chunk < chunks_a_member; ++chunk) work_a_little();
    static_cast<region*>(data)->ends.fetch_add(1, std::memory_order_release);
}

template <class Function>
Function entry(void* library, const char* name) {
    return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

fork_join_costs tautochrone_fork_join(const std::vector<int>& cpus, std::int64_t l2_bytes, double seconds) {
    team members(team_options{.cpus = cpus, .wait = wait_policy::active});
    const index n = members.size();
    // `static_` forks always; `adaptive` would learn that an empty loop is not worth it.
    const loop_options options{.schedule = static_{}};
    fork_join_costs found;
    found.hot = median_launch_seconds(seconds, [&] {
        parallel_for(
            members, n, [](range) {}, options);
    });
    cold_work work(cpus.size(), l2_bytes);
    found.cold = cold_launch_seconds(seconds, work, [&] {
        parallel_for(
            members, n,
            [&work](range own) {
                for (index i = own.begin; i < own.end; ++i) work.of(static_cast<std::size_t>(i));
            },
            options);
    });
    return found;
}

openmp_costs measure_openmp(const std::vector<std::string>& names, const std::string& package,
                            const std::vector<int>& cpus, std::int64_t l2_bytes, double seconds) {
    // Loaded by an unpinned thread, because the library counts the CPUs of that thread. With fewer CPUs than
    // members it would not spin.
    void* library = nullptr;
    for (const std::string& name : names) {
        if (library == nullptr) library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    openmp_costs found;
    if (library == nullptr) {
        found.why_not = names.front() + " is not installed (Debian: " + package + ")";
        return found;
    }
    const auto parallel = entry<gomp_parallel>(library, "GOMP_parallel");
    cold_work work(cpus.size(), l2_bytes);
    region where;
    where.cpus = &cpus;
    where.work = &work;
    where.rank = entry<get_number>(library, "omp_get_thread_num");
    const auto parallel_loop = entry<gomp_parallel_loop>(library, "GOMP_parallel_loop_nonmonotonic_dynamic");
    where.next = entry<gomp_loop_next>(library, "GOMP_loop_nonmonotonic_dynamic_next");
    where.end = entry<gomp_loop_end>(library, "GOMP_loop_end_nowait");
    if (parallel == nullptr || where.rank == nullptr) {
        found.why_not = names.front() + " lacks GOMP_parallel";
        return found;
    }
    // A separate thread, because it becomes a member and is pinned.
    std::thread([&] {
        const auto threads = static_cast<unsigned>(cpus.size());
        parallel(pin_members, &where, threads, 0);
        if (where.members != static_cast<int>(cpus.size())) return;
        found.fork_join.hot =
            median_launch_seconds(seconds, [&] { parallel(do_nothing, nullptr, threads, 0); });
        found.fork_join.cold = cold_launch_seconds(seconds, work, [&] {
            parallel(read_much, &where, threads, 0);
            static_cast<void>(where.ends.load(std::memory_order_acquire));
        });
        if (parallel_loop == nullptr || where.next == nullptr || where.end == nullptr) return;
        const auto chunk_seconds = [&](auto&& launch) {
            const double rate = median_rate(seconds, least_batches, [&] {
                launch();
                static_cast<void>(where.ends.load(std::memory_order_acquire));
                return static_cast<double>(chunks_a_member);
            });
            return 1.0 / rate;
        };
        const long chunks = chunks_a_member * static_cast<long>(cpus.size());
        const double asking =
            chunk_seconds([&] { parallel_loop(take_chunks, &where, threads, 0, chunks, 1, 1, 0); });
        const double alone = chunk_seconds([&] { parallel(work_alone, &where, threads, 0); });
        // A dequeue below the noise is left out; a model then uses only the line's transfer.
        if (asking > alone) found.dequeue_seconds = asking - alone;
    }).join();
    if (where.members != static_cast<int>(cpus.size())) {
        found.why_not = names.front() + " gave " + std::to_string(where.members) + " threads for " +
                        std::to_string(cpus.size()) + " CPUs; unset OMP_THREAD_LIMIT and OMP_DYNAMIC";
    }
    return found;
}

}  // namespace tauto::probe
