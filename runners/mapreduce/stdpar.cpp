// The mapreduce study on std::execution::par of libstdc++, which runs on oneTBB; hence oneTBB's pinning.

#include <execution>
#include <functional>
#include <numeric>

#include "runners/mapreduce/run.hpp"
#include "runners/shared/tbb_team.hpp"

namespace {

using namespace tauto::runner;

class stdpar_adapter : public tbb_team {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-stdpar";

    static description describe() {
        description stdpar = tbb_team::describe_stdpar();
        stdpar.schedules = {{"par", false}};
        return stdpar;
    }

    using tbb_team::tbb_team;

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        return std::transform_reduce(std::execution::par, tasks.begin(), tasks.end(), std::uint64_t{0},
                                     std::plus<>{}, hash);
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<stdpar_adapter>(argc, argv);
}
