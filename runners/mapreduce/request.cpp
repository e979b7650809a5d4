#include "runners/common/mapreduce_request.hpp"

#include <limits>

#include "runners/common/command_line.hpp"
#include "runners/common/error.hpp"
#include "runners/common/hash_tasks.hpp"
#include "runners/common/memory.hpp"

namespace tauto::runner {

namespace {

// Qt counts what it maps with an int.
constexpr std::int64_t most_tasks = std::numeric_limits<std::int32_t>::max();

void require_memory_for(const mapreduce_request& asked) {
    const auto fits = [](double there) {
        return "use --tasks up to about " + whole_number((there - max_buffer_bytes) / sizeof(hash_task));
    };
    require_memory(hash_tasks::memory_bytes(asked.tasks, asked.bytes),
                   "a list of " + std::to_string(asked.tasks) + " tasks", fits);
}

}  // namespace

mapreduce_request parse_mapreduce(int argc, char** argv, std::string_view executable,
                                  const description& runtime) {
    mapreduce_request chosen;
    command_line line{"Tasks that hash bytes with FNV-1a and add up the hashes", "Tasks", executable, runtime,
                      chosen};
    line.app().add_option("--tasks", chosen.tasks, "Tasks of one repetition")->capture_default_str();
    line.app().add_option("--bytes", chosen.bytes, "Bytes that each task hashes")->capture_default_str();
    line.app().add_option("--trace", chosen.trace_file,
                          "Write the last repetitions to this file, for ui.perfetto.dev");
    line.parse(argc, argv);
    if (chosen.describe) return chosen;
    require_from_one("--tasks", chosen.tasks);
    require_from_one("--bytes", chosen.bytes);
    if (chosen.tasks > most_tasks)
        throw input_error("--tasks is " + std::to_string(chosen.tasks) + "; it must be " +
                          std::to_string(most_tasks) + " or less");
    line.check();
    require_memory_for(chosen);
    return chosen;
}

}  // namespace tauto::runner
