#include "runners/mapreduce/request.hpp"

#include <limits>

#include "runners/mapreduce/hash_tasks.hpp"
#include "runners/shared/command_line.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/memory.hpp"

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
    line.add("--tasks", chosen.tasks, "Tasks of one repetition");
    line.add("--bytes", chosen.bytes, "Bytes that each task hashes");
    line.add("--trace", chosen.trace_file, "Write the last repetitions to this file, for ui.perfetto.dev");
    if (!line.parse(argc, argv)) return chosen;
    require_from_one("--tasks", chosen.tasks);
    require_from_one("--bytes", chosen.bytes);
    require_at_most("--tasks", chosen.tasks, most_tasks);
    line.check();
    require_memory_for(chosen);
    return chosen;
}

}  // namespace tauto::runner
