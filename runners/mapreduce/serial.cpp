// The mapreduce study's reference: one thread, no runtime.

#include "runners/mapreduce/run.hpp"
#include "runners/shared/one_thread.hpp"

namespace {

using namespace tauto::runner;

class serial_adapter : public one_thread {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-serial";

    explicit serial_adapter(const mapreduce_request&) {}

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        std::uint64_t sum = 0;
        for (const auto& task : tasks) sum += hash(task);
        return sum;
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<serial_adapter>(argc, argv);
}
