// The mapreduce study without a library: threads made anew for every repetition, as std::async does.

#include <array>
#include <atomic>
#include <future>

#include "runners/mapreduce/run.hpp"
#include "runners/shared/signed.hpp"

namespace {

using namespace tauto::runner;

class async_adapter {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-async";

    static description describe() {
        description async;
        async.runtime = "async";
        async.library = "libstdc++";
        async.library_version = std::to_string(__GLIBCXX__);
        async.schedules = {{"async", false}};
        return async;
    }

    explicit async_adapter(const mapreduce_request& asked) : asked_{asked}, workers_(usize(asked.threads)) {}

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        std::atomic<std::size_t> next{0};
        const auto work = [&](int rank) {
            // Not pinned, the threads of short repetitions often all stay on the CPU that starts them.
            pin_to(std::array{asked_.cpu_of(rank)});
            become_worker(rank);
            std::uint64_t sum = 0;
            for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks.size();)
                sum += hash(tasks[i]);
            return sum;
        };
        for (int rank = 0; rank < asked_.threads; ++rank)
            at(workers_, rank) = std::async(std::launch::async, work, rank);
        std::uint64_t sum = 0;
        for (auto& worker : workers_) sum += worker.get();
        return sum;
    }

    std::string diagnosis() const {
        return "each repetition starts " + std::to_string(asked_.threads) +
               " threads; the first may have done all tasks before the last begins";
    }

  private:
    options asked_;
    std::vector<std::future<std::uint64_t>> workers_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<async_adapter>(argc, argv);
}
