// The mapreduce study on OpenMP, whichever library is loaded.

#include <omp.h>

#include "runners/mapreduce/run.hpp"
#include "runners/shared/openmp_library.hpp"

namespace {

using namespace tauto::runner;

class openmp_adapter : public openmp_team {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-openmp";

    static description describe() {
        description openmp = openmp_description();
        openmp.schedules = {{"dynamic", true}, {"static", false}, {"guided", true}, {"tasks", false}};
        return openmp;
    }

    explicit openmp_adapter(const mapreduce_request& asked)
        : openmp_team{asked}, one_task_each_{asked.schedule == "tasks"} {
        const auto chunk = static_cast<int>(asked.chunk.value_or(0));
        if (asked.schedule == "dynamic") omp_set_schedule(omp_sched_dynamic, chunk);
        if (asked.schedule == "static") omp_set_schedule(omp_sched_static, 0);
        if (asked.schedule == "guided") omp_set_schedule(omp_sched_guided, chunk);
    }

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        return one_task_each_ ? in_tasks(tasks, hash) : in_a_loop(tasks, hash);
    }

  private:
    static std::uint64_t in_a_loop(const std::vector<hash_task>& tasks, const task_hash& hash) {
        std::uint64_t sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
        for (std::size_t i = 0; i < tasks.size(); ++i) sum += hash(tasks[i]);
        return sum;
    }

    static std::uint64_t in_tasks(const std::vector<hash_task>& tasks, const task_hash& hash) {
        std::uint64_t sum = 0;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
        for (std::size_t i = 0; i < tasks.size(); ++i) {
#pragma omp task in_reduction(+ : sum) firstprivate(i) default(shared)
            sum += hash(tasks[i]);
        }
        return sum;
    }

    bool one_task_each_;
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<openmp_adapter>(argc, argv);
}
