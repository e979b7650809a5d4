// The nbody study on a simulated machine: this program's members, schemes and messages under SimGrid's SMPI,
// which runs all ranks in one process, in virtual time. Particles move as they do everywhere; what the work
// costs is told by --costs, so its times are the same on every machine.
//
// Started by smpirun, without privatized globals: nothing here has any that change.
//
// A. Degomme et al., "Simulating MPI Applications: The SMPI Approach", IEEE TPDS 28 (2017) 2387.

#include <mpi.h>

#include <smpi/smpi.h>

#include <tauto/mpi.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/mpi/smpi_rank.hpp"
#include "runners/nbody/member.hpp"
#include "runners/shared/error.hpp"
#include "runners/shared/signed.hpp"

namespace {

using namespace tauto::runner;

constexpr double ticks_per_second = 1e12;

struct cost {
    std::string_view name;
    double block_work::*amount;
};

// The names in a row's "model", and one more for the addition of a word.
constexpr std::array costs_known{
    cost{"pair_seconds", &block_work::pairs},     cost{"target_force_seconds", &block_work::summed_targets},
    cost{"source_seconds", &block_work::sources}, cost{"target_seconds", &block_work::targets},
    cost{"put_seconds", &block_work::puts},       cost{"scan_seconds", &block_work::scanned},
    cost{"word_seconds", &block_work::words},     cost{"block_seconds", &block_work::blocks}};

// Seconds of one unit of each work. Throws input_error.
block_work costs_of(const std::string& text) {
    block_work seconds;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string item = text.substr(begin, end - begin);
        const std::size_t equals = item.find('=');
        const auto known = std::ranges::find(costs_known, item.substr(0, equals), &cost::name);
        char* after = nullptr;
        const char* const number = equals == std::string::npos ? "" : &item[equals + 1];
        const double value = std::strtod(number, &after);
        if (known == costs_known.end() || after == number || *after != '\0' || !(value >= 0.0) ||
            !(value < 1.0))
            throw input_error("--costs has '" + item + "'; write NAME=SECONDS, from 0 to 1, with " +
                              std::accumulate(costs_known.begin() + 1, costs_known.end(),
                                              std::string{costs_known[0].name},
                                              [](std::string all, const cost& one) {
                                                  return std::move(all) + ", " + std::string{one.name};
                                              }));
        seconds.*(known->amount) = value;
        begin = end + 1;
    }
    return seconds;
}

// The simulated clock of one rank's host.
class virtual_clock {
  public:
    static constexpr bool is_exact = true;

    explicit virtual_clock(const block_work& seconds) : seconds_{seconds} {}

    std::int64_t ticks() const { return std::llround(MPI_Wtime() * ticks_per_second); }
    double tick_seconds() const { return 1.0 / ticks_per_second; }
    void spend(const block_work& done) {
        double seconds = 0.0;
        for (const cost& one : costs_known) seconds += done.*(one.amount) * (seconds_.*(one.amount));
        // A slower host takes longer.
        const double begin = MPI_Wtime();
        smpi_execute_flops(seconds * operations_per_second);
        spent_ += MPI_Wtime() - begin;
    }
    void begin_blocks() {
        working_ = -spent_;
        wall_ = -MPI_Wtime();
    }
    void end_blocks() {
        working_ += spent_;
        wall_ += MPI_Wtime();
    }
    /// Of the last run's blocks: seconds of work, and from begin to end.
    double working_seconds() const { return working_; }
    double wall_seconds() const { return wall_; }

  private:
    block_work seconds_;
    double spent_ = 0.0;
    double working_ = 0.0;
    double wall_ = 0.0;
};

class adapter {
  public:
    static constexpr std::string_view executable = "tauto-nbody-smpi";

    static description describe() {
        description smpi = smpi_description();
        smpi.schedules = member_schemes();
        return smpi;
    }

    explicit adapter(const nbody_request& asked) : asked_{asked}, clock_{costs_of(*asked.costs)} {}

    nbody_pass run(const nbody_start& start, const nbody_request& asked, work_account& ignored) {
        return member_pass(me_, start, asked, ignored, clock_);
    }

    // In virtual time auto chooses the same again.
    bool repeats_bits() const { return true; }

    bool leads() const { return me_.rank() == 0; }
    bool agreed(bool mine) {
        me_.broadcast(std::span<bool>{&mine, 1}, 0);
        return mine;
    }
    // Every rank has a simulated core of its own.
    std::vector<worker_share> workers(const work_account&) {
        ranks_working_.resize(usize(me_.size()));
        const double mine = clock_.working_seconds();
        me_.all_gather(std::span<const double>{&mine, 1}, std::span<double>{ranks_working_});
        std::vector<worker_share> all;
        for (int rank = 0; rank < me_.size(); ++rank) all.push_back({rank, asked_.cpu_of(rank), 1});
        return all;
    }

    void complete(json& row) const {
        set_field(row, "source", "simulated");
        set_field(row, "ranks", me_.size());
        set_field(row, "threads_per_rank", 1);
        set_field(row, "run_seconds", clock_.wall_seconds());
        set_field(row, "working_seconds", ranks_working_);
    }
    std::string diagnosis() const { return "SMPI has " + std::to_string(me_.size()) + " ranks"; }

  private:
    const nbody_request& asked_;
    virtual_clock clock_;
    tauto::mpi_member me_{MPI_COMM_WORLD};
    std::vector<double> ranks_working_;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int code = start_smpi_rank<adapter>(argc, argv, parse_nbody, [](nbody_request asked, int) {
        return nbody_run<adapter>{std::move(asked)}.run();
    });
    MPI_Finalize();
    return code;
}
