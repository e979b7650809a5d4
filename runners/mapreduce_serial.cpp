// The mapreduce study's reference: one thread, no runtime.

#include "runners/common/run_mapreduce.hpp"

namespace {

using namespace tauto::runner;

class serial_adapter {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-serial";

    static description describe() {
        description serial;
        serial.runtime = "serial";
        serial.schedules = {{"serial", false}};
        serial.most_threads = 1;
        return serial;
    }

    static environment_changes environment(const options&) { return {}; }

    explicit serial_adapter(const mapreduce_request&) {}

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        std::uint64_t sum = 0;
        for (const auto& task : tasks) sum += hash(task);
        return sum;
    }

    std::string diagnosis() const { return "it has the calling thread only"; }
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<serial_adapter>(argc, argv);
}
