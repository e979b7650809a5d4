// The mapreduce study on tautochrone.

#include <tauto/map_reduce.hpp>
#include <tauto/tauto.hpp>

#include "runners/mapreduce/run.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

class tautochrone_adapter : public tautochrone_loops<tauto::reduce_options> {
  public:
    static constexpr std::string_view executable = "tauto-mapreduce-tautochrone";

    static description describe() {
        description tautochrone = tautochrone_description();
        tautochrone.schedules = {{"adaptive", false},
                                 {"static", false},
                                 {"dynamic", true},
                                 {"guided", true},
                                 {"unordered", false}};
        return tautochrone;
    }

    explicit tautochrone_adapter(const mapreduce_request& asked) : tautochrone_loops{asked} {
        loop_.grain = 1;
        loop_.unordered = asked.schedule == "unordered";
    }

    std::uint64_t map_reduce(const std::vector<hash_task>& tasks, const task_hash& hash) {
        const std::uint64_t sum = tauto::map_reduce(
            team_, tasks, hash, [](std::uint64_t& result, const std::uint64_t& value) { result += value; },
            loop_);
        count_width();
        return sum;
    }
};

}  // namespace

int main(int argc, char** argv) {
    return run_mapreduce<tautochrone_adapter>(argc, argv);
}
