// The loop study on an MPI, as a solver with equal subdomains: each process has an equal part of the rows,
// and the parts of the product are gathered once an iteration. Every process keeps all vectors and repeats
// what is done with them, so all end with the bits of one core. Built once for each MPI.

#include <mpi.h>

#include <tauto/mpi.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/conjugate_gradient.hpp"
#include "kernels/matvec.hpp"
#include "kernels/toeplitz.hpp"
#include "runners/loop/check.hpp"
#include "runners/loop/request.hpp"
#include "runners/loop/row.hpp"
#include "runners/loop/waiting.hpp"
#include "runners/mpi/gathered.hpp"
#include "runners/mpi/library.hpp"
#include "runners/mpi/start_ranks.hpp"
#include "runners/shared/missing_workers.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/task_clock.hpp"
#include "runners/shared/timing.hpp"

namespace {

using namespace tauto;
using namespace tauto::runner;

struct mpi_adapter {
    static constexpr std::string_view executable = "tauto-loop-" TAUTO_MPI_NAME;

    static description describe() {
        description mpi = mpi_description();
        mpi.schedules = {{"static", false}};
        return mpi;
    }
};

// Which rows each process has.
class subdomains {
  public:
    subdomains(std::size_t rows, int processes) {
        for (std::size_t rank = 0; rank <= usize(processes); ++rank)
            starts_.push_back(static_cast<int>(rows * rank / usize(processes)));
        for (std::size_t rank = 0; rank < usize(processes); ++rank)
            counts_.push_back(starts_[rank + 1] - starts_[rank]);
    }

    std::size_t first(int rank) const { return usize(starts_[usize(rank)]); }
    std::size_t last(int rank) const { return usize(starts_[usize(rank) + 1]); }

    /// The elements that each process has of a vector, on all.
    void gather(aligned_floats& vector) const {
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, vector.data(), counts_.data(), starts_.data(),
                       MPI_FLOAT, MPI_COMM_WORLD);
    }

  private:
    std::vector<int> starts_;
    std::vector<int> counts_;
};

toeplitz_system system_of(std::size_t order, const subdomains& all, int rank) {
    toeplitz_system system{order, all.first(rank), all.last(rank)};
    all.gather(system.b);
    return system;
}

class subdomain_run {
  public:
    subdomain_run(const loop_request& asked, int rank)
        : asked_{asked},
          rank_{rank},
          all_{usize(asked.size), asked.threads},
          system_{system_of(usize(asked.size), all_, rank)},
          solve_{system_.b, asked.computes} {}

    /// Rank 0 prints the row. Returns the exit code.
    int run() {
        const timing timed = measure();
        account();
        if (rank_ != 0) return exit_ok;
        if (asked_.trace_file) write_loops(*asked_.trace_file, loops_);
        return report(timed);
    }

  private:
    timing measure() {
        const auto product = [this](const aligned_floats& x, aligned_floats& y) {
            const double start = asked_.trace_file ? monotonic_seconds() : 0.0;
            multiply(x, y);
            all_.gather(y);
            if (!asked_.trace_file) return;
            const double end = monotonic_seconds();
            loops_.push_back({end, end - start});
        };
        const solve_limits limits = limits_of(asked_);
        const auto iterate = [&](std::int64_t count) {
            for (; count > 0; --count) {
                if (solve_.finished(limits)) solve_.restart();
                solve_.iterate(product);
            }
        };
        return time_batches(asked_, iterate, [this] { return now(); });
    }

    void multiply(const aligned_floats& x, aligned_floats& y) const {
        matvec_rows(system_.a, x, y, all_.first(rank_), all_.last(rank_), asked_.computes);
    }

    // The time of rank 0 on all, so that all decide alike how long to go on.
    double now() const {
        double seconds = monotonic_seconds();
        MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        return seconds;
    }

    // More solves, untimed: the solution of the last is the one that is checked.
    void account() {
        work_account own;
        std::int64_t worked = 0;
        const auto rows = static_cast<std::int64_t>(all_.last(rank_) - all_.first(rank_));
        const solve_limits limits = limits_of(asked_);
        const double start = now();
        do {
            for (solve_.restart(); !solve_.finished(limits);) {
                solve_.iterate([&](const aligned_floats& x, aligned_floats& y) {
                    const std::int64_t begin = task_ticks();
                    multiply(x, y);
                    const std::int64_t ticks = task_ticks() - begin;
                    all_.gather(y);
                    const std::int64_t whole = task_ticks() - begin;
                    own.add(rows, ticks);
                    worked += ticks;
                    waiting_.add(whole, gathered(processes_, std::vector{worked}));
                });
            }
        } while (now() - start < asked_.account_seconds);
        std::vector<worker_share> mine = own.workers();
        for (worker_share& one : mine) one.thread = rank_;
        workers_ = gathered(processes_, mine);
    }

    int report(const timing& timed) {
        system_.fill_rows(0, system_.a.order());
        const answer_check check = check_answer(asked_, system_, solve_);
        return finish(
            mpi_adapter{}, loop_row(mpi_adapter::describe(), asked_, timed, workers_, waiting_, check),
            reason_of_failure(check), missing_workers(asked_, usize(asked_.size), "computed rows", workers_));
    }

    loop_request asked_;
    int rank_;
    subdomains all_;
    toeplitz_system system_;
    conjugate_gradient solve_;
    mpi_member processes_{MPI_COMM_WORLD};
    std::vector<worker_share> workers_;
    waiting_account waiting_;
    std::vector<loop_time> loops_;
};

}  // namespace

int main(int argc, char** argv) {
    return start_ranks<mpi_adapter>(argc, argv, parse_loop, [](const loop_request& asked, int rank) {
        return subdomain_run{asked, rank}.run();
    });
}
