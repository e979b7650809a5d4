// The collective study on tautochrone's threads.

#include <cstddef>
#include <span>

#include <tauto/member.hpp>
#include <tauto/tauto.hpp>

#include "runners/collective/member.hpp"
#include "runners/collective/run.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/start_runner.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

constexpr std::string_view executable = "tauto-collective-threads";

// What the concept has, and the two pairs that all_reduce and all_gather may not exceed: rank 0 reads the
// others' data in place.
class thread_engine : public member_engine<tauto::member> {
  public:
    using member_engine::member_engine;

    static bool offers(collective) { return true; }
    bool in_place(collective operation) const { return operation == collective::all_reduce; }

    void perform(collective operation, const rank_data& data) {
        if (operation == collective::reduce_broadcast)
            reduce_broadcast(data);
        else if (operation == collective::gather_broadcast)
            gather_broadcast(data);
        else
            member_engine::perform(operation, data);
    }

  private:
    void reduce_broadcast(const rank_data& data) {
        const auto others = me().peers(std::span<const double>{data.mine});
        if (me().rank() == 0) {
            std::ranges::copy(data.mine, data.result.begin());
            for (int rank = 1; rank < me().size(); ++rank) {
                const auto theirs = others[rank];
                for (std::size_t i = 0; i < data.result.size(); ++i) data.result[i] += theirs[i];
            }
        }
        me().broadcast(data.result);
    }

    void gather_broadcast(const rank_data& data) {
        const auto others = me().peers(std::span<const double>{data.mine});
        if (me().rank() == 0)
            for (int rank = 0; rank < me().size(); ++rank) {
                const auto theirs = others[rank];
                std::ranges::copy(theirs,
                                  data.result.begin() + static_cast<std::ptrdiff_t>(data.mine.size()) * rank);
            }
        me().broadcast(data.result);
    }
};

struct adapter {
    static constexpr std::string_view executable = ::executable;

    static description describe() {
        description tautochrone = tautochrone_description();
        tautochrone.runtime = "threads";
        tautochrone.schedules = {{"member", false}};
        return tautochrone;
    }
};

int measure(const collective_request& asked) {
    tauto::team team{team_options_of(asked)};
    const std::size_t bytes = start_line::bytes(asked.threads, most_repetitions);
    shared_zeros memory{bytes};
    collective_result seen;
    team.run([&](tauto::member& me) {
        start_line line{memory.data(), asked.threads, me.rank(), most_repetitions,
                        asked.threads > int_size(asked.cpus)};
        thread_engine engine{me};
        collective_result mine = collective_run{asked, me.rank(), line, engine}.run();
        if (me.rank() == 0) seen = std::move(mine);
    });
    return report_collective<adapter>(adapter::describe(), asked, seen);
}

}  // namespace

int main(int argc, char** argv) {
    return start_runner<adapter>(argc, argv, parse_collective, measure);
}
