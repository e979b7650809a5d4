#include "runners/shared/missing_workers.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "runners/shared/cpus.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/timing.hpp"

namespace tauto::runner {

namespace {

std::string cpu_set_text(const std::set<int>& cpus) {
    const std::vector<int> list{cpus.begin(), cpus.end()};
    return (list.size() == 1 ? "CPU " : "CPUs ") + cpus_text(list);
}

}  // namespace

std::optional<std::string> missing_workers(const options& asked, std::size_t pieces, const std::string& work,
                                           const std::vector<worker_share>& workers) {
    const std::set<int> used = cpus_of(workers);
    const std::set<int> wanted{asked.cpus.begin(), asked.cpus.end()};
    const std::size_t least = std::min(wanted.size(), pieces);
    const bool elsewhere = !std::ranges::includes(wanted, used);
    const bool enough_threads = asked.threads > int_size(wanted) || threads_of(workers).size() >= least;
    if (!elsewhere && used.size() >= least && enough_threads) return std::nullopt;
    const std::size_t count = threads_of(workers).size();
    return std::to_string(asked.threads) + " workers on " + cpu_set_text(wanted) + " were asked for, but " +
           std::to_string(count) + (count == 1 ? " thread " : " threads ") + work + ", on " +
           cpu_set_text(used);
}

void call_roll(const options& asked, std::size_t pieces, std::vector<worker_share>& workers,
               const std::function<void(work_account&)>& repeat) {
    const double end = monotonic_seconds() + patience_seconds;
    // More than once, because threads without a place of their own may stand on one CPU at the first call.
    while (missing_workers(asked, pieces, "", workers)) {
        const double left = end - monotonic_seconds();
        if (left <= 0.0) return;
        roll_call call{std::min(asked.cpus.size(), pieces), std::chrono::duration<double>{left}};
        work_account account{call};
        repeat(account);
        for (const worker_share& came : account.workers()) {
            const bool known = std::ranges::any_of(workers, [&](const worker_share& one) {
                return one.thread == came.thread && one.cpu == came.cpu;
            });
            if (!known) workers.push_back({came.thread, came.cpu, 0});
        }
    }
}

}  // namespace tauto::runner
