// The mapreduce study on oneTBB.

#include <tbb/blocked_range.h>
#include <tbb/parallel_reduce.h>
#include <tbb/partitioner.h>

#include <functional>

#include "runners/mapreduce/run.hpp"
#include "runners/shared/tbb_team.hpp"

namespace {

using namespace tauto::runner;

class tbb_adapter : public tbb_team {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-tbb";

    static description describe() {
        description tbb = tbb_team::describe();
        tbb.schedules = {{"auto", true}, {"simple", true}, {"static", true}, {"deterministic", true}};
        return tbb;
    }

    explicit tbb_adapter(const mapreduce_request& asked)
        : tbb_team{asked}, grain_{asked.chunk_size()}, schedule_{named(asked.schedule)} {}

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        const tbb::blocked_range<std::size_t> all{0, tasks.size(), grain_};
        const auto body = [&](const tbb::blocked_range<std::size_t>& part, std::uint64_t sum) {
            for (std::size_t i = part.begin(); i != part.end(); ++i) sum += hash(tasks[i]);
            return sum;
        };
        constexpr std::uint64_t none = 0;
        constexpr std::plus<std::uint64_t> add;
        switch (schedule_) {
            case kind::simple:
                return tbb::parallel_reduce(all, none, body, add, tbb::simple_partitioner{});
            case kind::equal:
                return tbb::parallel_reduce(all, none, body, add, tbb::static_partitioner{});
            case kind::deterministic:
                return tbb::parallel_deterministic_reduce(all, none, body, add);
            case kind::automatic:
                break;
        }
        return tbb::parallel_reduce(all, none, body, add, tbb::auto_partitioner{});
    }

  private:
    enum class kind { automatic, simple, equal, deterministic };

    static kind named(std::string_view schedule) {
        if (schedule == "simple") return kind::simple;
        if (schedule == "static") return kind::equal;
        if (schedule == "deterministic") return kind::deterministic;
        return kind::automatic;
    }

    std::size_t grain_;
    kind schedule_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<tbb_adapter>(argc, argv);
}
