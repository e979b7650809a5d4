// The collective study on a simulated machine: the operations of SimGrid's SMPI, with the algorithms that it
// has of several libraries, in virtual time. Every word of every result is checked as everywhere; what an
// addition costs is told by --word-seconds, so the times are the same on every machine.
//
// Started by smpirun, without privatized globals: the one here is the same for all ranks.

#include <mpi.h>

#include <simgrid/barrier.h>
#include <simgrid/version.h>
#include <smpi/smpi.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "runners/collective_member.hpp"
#include "runners/collective_native.hpp"
#include "runners/common/error.hpp"
#include "runners/common/run_collective.hpp"

namespace {

using namespace tauto::runner;

// The hosts of the platform do so many operations in a second; work is charged by its seconds.
constexpr double operations_per_second = 1e9;

double word_seconds = 0.0;

// MPI's sum, with what it costs.
void add(void* left, void* result, int* length, MPI_Datatype*) {
    const auto* mine = static_cast<const double*>(left);
    auto* sum = static_cast<double*>(result);
    for (int i = 0; i < *length; ++i) sum[i] += mine[i];
    if (word_seconds > 0.0) smpi_execute_flops(*length * word_seconds * operations_per_second);
}

// Ranks meet in no virtual time, so all begin at one moment. They are in one process and run one at a time:
// what they share is plain memory of rank 0.
class virtual_line {
  public:
    virtual_line(int ranks, int rank) : rank_{rank} {
        if (rank == 0) {
            own_.times.assign(static_cast<std::size_t>(ranks) * most_repetitions, 0);
            own_.wrong.assign(static_cast<std::size_t>(ranks), 0);
            own_.barrier = sg_barrier_init(static_cast<unsigned>(ranks));
            shared_ = &own_;
            for (int other = 1; other < ranks; ++other)
                check(MPI_Send(&shared_, sizeof shared_, MPI_BYTE, other, 0, MPI_COMM_WORLD));
        } else {
            check(MPI_Recv(&shared_, sizeof shared_, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    virtual_line(const virtual_line&) = delete;
    virtual_line& operator=(const virtual_line&) = delete;
    ~virtual_line() {
        meet();  // nobody reads rank 0's memory any more
        if (rank_ == 0) sg_barrier_destroy(own_.barrier);
    }

    std::int64_t wait_to_begin(bool& late) {
        late = false;
        meet();
        begin_ = MPI_Wtime();
        return 0;
    }
    std::int64_t now() const { return std::llround((MPI_Wtime() - begin_) * 1e9); }
    std::int64_t agree(std::int64_t value) {
        if (rank_ == 0) shared_->value = value;
        meet();
        const std::int64_t agreed = shared_->value;
        meet();
        return agreed;
    }
    std::int64_t* times(int rank) {
        return shared_->times.data() + static_cast<std::size_t>(rank) * most_repetitions;
    }
    std::int64_t& wrong(int rank) { return shared_->wrong[static_cast<std::size_t>(rank)]; }

  private:
    struct shared {
        sg_bar_t barrier = nullptr;
        std::int64_t value = 0;
        std::vector<std::int64_t> times;
        std::vector<std::int64_t> wrong;
    };
    void meet() { sg_barrier_wait(shared_->barrier); }

    int rank_;
    shared own_;
    shared* shared_ = nullptr;
    double begin_ = 0.0;
};

struct adapter {
    static constexpr std::string_view executable = "tauto-collective-smpi";

    static description describe() {
        description smpi;
        smpi.runtime = "smpi";
        smpi.library = "simgrid";
        int major = 0, minor = 0, patch = 0;
        sg_version_get(&major, &minor, &patch);
        smpi.library_version = std::to_string(major) + "." + std::to_string(minor);
        smpi.schedules = {{"native", false}};
        smpi.has_costs = true;
        return smpi;
    }
    static void complete(json& row) {
        row["source"] = "simulated";
        row["ranks"] = row["threads"];
    }
};

int run_rank(const collective_request& asked, int rank) {
    word_seconds = asked.word_seconds;
    MPI_Op sum = MPI_OP_NULL;
    check(MPI_Op_create(add, 1, &sum));
    native_engine engine{sum};
    virtual_line line{asked.threads, rank};
    collective_result seen = collective_run{asked, rank, line, engine}.run();
    // Every rank has a simulated core of its own.
    for (int one = 0; one < asked.threads; ++one) seen.rank_cpus[static_cast<std::size_t>(one)] = one;
    const int code = rank == 0 ? report_collective<adapter>(adapter::describe(), asked, seen) : exit_ok;
    check(MPI_Op_free(&sum));
    return code;
}

int be_a_rank(int argc, char** argv) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        const collective_request asked =
            parse_collective(argc, argv, adapter::executable, adapter::describe());
        if (asked.describe) {
            if (rank == 0) std::cout << describe(adapter::describe()).dump() << std::endl;
            return exit_ok;
        }
        if (asked.threads != ranks)
            throw input_error("smpirun started " + std::to_string(ranks) + " ranks and --threads is " +
                              std::to_string(asked.threads) + "; give both the same number");
        return run_rank(asked, rank);
    } catch (const std::exception& error) {
        // Mostly the same on all ranks, which end one after the other.
        complain<adapter>(error.what());
        return exit_bad_input;
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int code = be_a_rank(argc, argv);
    MPI_Finalize();
    return code;
}
