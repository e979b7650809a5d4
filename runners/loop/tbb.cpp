// The loop study on oneTBB.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>

#include "runners/loop/run.hpp"
#include "runners/shared/tbb_team.hpp"

namespace {

using namespace tauto::runner;

class tbb_adapter : public tbb_team {
  public:
    static constexpr std::string_view executable = "tauto-loop-tbb";

    static description describe() {
        description tbb = tbb_team::describe();
        tbb.schedules = {{"auto", true}, {"simple", true}, {"static", true}, {"affinity", true}};
        // Grains of 1, 16, 32, 64 rows: 10.8, 7.9, 7.7, 7.3 microseconds for `auto` at order 500 on two
        // cores.
        tbb.default_chunk = 64;
        return tbb;
    }

    explicit tbb_adapter(const options& asked)
        : tbb_team{asked}, grain_{asked.chunk_size()}, schedule_{named(asked.schedule)} {}

    template <class Body>
    void for_rows(std::size_t n, Body&& body) {
        const tbb::blocked_range<std::size_t> rows{0, n, grain_};
        const auto task = [&](const tbb::blocked_range<std::size_t>& part) {
            body(part.begin(), part.end());
        };
        switch (schedule_) {
            case kind::automatic:
                tbb::parallel_for(rows, task, tbb::auto_partitioner{});
                break;
            case kind::simple:
                tbb::parallel_for(rows, task, tbb::simple_partitioner{});
                break;
            case kind::equal:
                tbb::parallel_for(rows, task, tbb::static_partitioner{});
                break;
            case kind::affinity:
                tbb::parallel_for(rows, task, affinity_);
                break;
        }
    }

  private:
    enum class kind { automatic, simple, equal, affinity };

    static kind named(std::string_view schedule) {
        if (schedule == "simple") return kind::simple;
        if (schedule == "static") return kind::equal;
        if (schedule == "affinity") return kind::affinity;
        return kind::automatic;
    }

    std::size_t grain_;
    kind schedule_;
    tbb::affinity_partitioner
        affinity_;  // remembers which worker had which rows, so it must outlive each loop
};

}  // namespace

int main(int argc, char** argv) {
    return run_loop<tbb_adapter>(argc, argv);
}
