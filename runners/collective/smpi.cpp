// The collective study on a simulated machine: the operations of SimGrid's SMPI, with the algorithms that it
// has of several libraries, in virtual time. Every word of every result is checked as everywhere; what an
// addition costs is told by --word-seconds, so the times are the same on every machine.
//
// Started by smpirun, without privatized globals: the one here is the same for all ranks.

#include <mpi.h>

#include <nlohmann/json.hpp>

#include <simgrid/barrier.h>
#include <smpi/smpi.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "runners/collective/member.hpp"
#include "runners/collective/native.hpp"
#include "runners/collective/run.hpp"
#include "runners/mpi/smpi_rank.hpp"
#include "runners/shared/signed.hpp"

namespace {

using namespace tauto::runner;

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
            own_.times.assign(usize(ranks) * most_repetitions, 0);
            own_.wrong.assign(usize(ranks), 0);
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
        meet();  // no rank reads rank 0's memory any more
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
    std::int64_t* times(int rank) { return shared_->times.data() + usize(rank) * most_repetitions; }
    std::int64_t& wrong(int rank) { return at(shared_->wrong, rank); }

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
        description smpi = smpi_description();
        smpi.schedules = {{"native", false}};
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
    for (int one = 0; one < asked.threads; ++one) at(seen.rank_cpus, one) = one;
    const int code = rank == 0 ? report_collective<adapter>(adapter::describe(), asked, seen) : exit_ok;
    check(MPI_Op_free(&sum));
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int code = start_smpi_rank<adapter>(argc, argv, parse_collective, run_rank);
    MPI_Finalize();
    return code;
}
