// The collective study on an MPI: its own operations, or ours on top of its messages. Built once for each
// MPI.

#include <mpi.h>

#include <tauto/mpi.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "runners/collective/member.hpp"
#include "runners/collective/native.hpp"
#include "runners/collective/run.hpp"
#include "runners/mpi/library.hpp"
#include "runners/mpi/start_ranks.hpp"
#include "runners/shared/signed.hpp"

namespace {

using namespace tauto::runner;

struct adapter {
    static constexpr std::string_view executable = "tauto-collective-" TAUTO_MPI_NAME;

    static description describe() {
        description mpi = mpi_description();
        mpi.schedules = {{"native", false}, {"member", false}};
        return mpi;
    }
};

// Memory that all processes of this machine see, for the common start.
class shared_window {
  public:
    shared_window(std::size_t bytes, int rank) {
        void* own = nullptr;
        check(MPI_Win_allocate_shared(rank == 0 ? static_cast<MPI_Aint>(bytes + alignment) : 0, 1,
                                      MPI_INFO_NULL, MPI_COMM_WORLD, &own, &window_));
        MPI_Aint there = 0;
        int unit = 1;
        void* first = nullptr;
        check(MPI_Win_shared_query(window_, 0, &there, &unit, &first));
        std::size_t room = usize(there);
        data_ = std::align(alignment, bytes, first, room);
        if (rank == 0) std::memset(data_, 0, bytes);
        check(MPI_Barrier(MPI_COMM_WORLD));
    }
    ~shared_window() { MPI_Win_free(&window_); }
    shared_window(const shared_window&) = delete;
    shared_window& operator=(const shared_window&) = delete;
    void* data() const { return data_; }

  private:
    static constexpr std::size_t alignment = 4096;
    MPI_Win window_ = MPI_WIN_NULL;
    void* data_ = nullptr;
};

template <class Engine>
collective_result measured(const collective_request& asked, int rank, Engine& engine) {
    const shared_window memory{start_line::bytes(asked.threads, most_repetitions), rank};
    start_line line{memory.data(), asked.threads, rank, most_repetitions,
                    asked.threads > int_size(asked.cpus)};
    return collective_run{asked, rank, line, engine}.run();
}

int run_rank(const collective_request& asked, int rank) {
    collective_result seen;
    if (asked.schedule == "member") {
        tauto::mpi_member me{MPI_COMM_WORLD};
        member_engine<tauto::mpi_member> engine{me};
        seen = measured(asked, rank, engine);
    } else {
        native_engine engine;
        seen = measured(asked, rank, engine);
    }
    return rank == 0 ? report_collective<adapter>(adapter::describe(), asked, seen) : exit_ok;
}

collective_request parse(int argc, char** argv, std::string_view executable, const description& mpi) {
    collective_request asked = parse_collective(argc, argv, executable, mpi);
    if (!asked.describe && asked.schedule == "member")
        require_operations<member_engine<tauto::mpi_member>>(asked);
    return asked;
}

}  // namespace

int main(int argc, char** argv) {
    return start_ranks<adapter>(argc, argv, parse, run_rank);
}
