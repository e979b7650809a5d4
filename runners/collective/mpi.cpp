// The collective study on an MPI: its own operations, or ours on top of its messages. Built once for each
// MPI.

#include <mpi.h>

#include <tauto/mpi.hpp>

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "runners/collective/member.hpp"
#include "runners/collective/native.hpp"
#include "runners/collective/run.hpp"
#include "runners/mpi/launch.hpp"
#include "runners/mpi/library.hpp"
#include "runners/shared/cpus.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/start_runner.hpp"

namespace {

using namespace tauto::runner;

constexpr std::string_view executable_name = "tauto-collective-" TAUTO_MPI_NAME;

struct adapter {
    static constexpr std::string_view executable = executable_name;
};

description describe() {
    description mpi = mpi_description();
    mpi.schedules = {{"native", false}, {"member", false}};
    return mpi;
}

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

void require_one_machine(int ranks) {
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    int together = 0;
    MPI_Comm_size(here, &together);
    MPI_Comm_free(&here);
    if (together != ranks)
        throw input_error("the " + std::to_string(ranks) + " ranks are on more than one machine (" +
                          std::to_string(together) +
                          " here); their times need one clock, so start them all on one");
}

template <class Engine>
collective_result measured(const collective_request& asked, int rank, Engine& engine) {
    const shared_window memory{start_line::bytes(asked.threads, most_repetitions), rank};
    start_line line{memory.data(), asked.threads, rank, most_repetitions,
                    asked.threads > int_size(asked.cpus)};
    return collective_run{asked, rank, line, engine}.run();
}

int run_rank(const collective_request& asked, int rank, int ranks) {
    if (ranks != asked.threads)
        throw input_error("the launcher started " + std::to_string(ranks) + " ranks and --threads is " +
                          std::to_string(asked.threads) + "; give both the same number, or start " +
                          std::string{executable_name} + " without a launcher");
    require_one_machine(ranks);
    collective_result seen;
    if (asked.schedule == "member") {
        tauto::mpi_member me{MPI_COMM_WORLD};
        member_engine<tauto::mpi_member> engine{me};
        seen = measured(asked, rank, engine);
    } else {
        native_engine engine;
        seen = measured(asked, rank, engine);
    }
    return rank == 0 ? report_collective<adapter>(describe(), asked, seen) : exit_ok;
}

// As one of the processes that the launcher started.
int be_a_rank(const collective_request& asked) {
    end_with_parent();
    const int cpu = asked.cpu_of(place_of_rank().rank);
    pin_to(std::span<const int>{&cpu, 1});  // before MPI makes its threads and its memory
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int code = exit_ok;
    try {
        code = run_rank(asked, rank, ranks);
    } catch (const input_error& error) {  // the same on all ranks
        if (rank == 0) complain<adapter>(error.what());
        code = exit_bad_input;
    } catch (const std::exception& error) {
        complain<adapter>("rank " + std::to_string(rank) + ": " + error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const description mpi = describe();
        const collective_request asked = parse_collective(argc, argv, executable_name, mpi);
        if (asked.describe) {
            print_description(mpi);
            return exit_ok;
        }
        if (asked.schedule == "member") require_operations<member_engine<tauto::mpi_member>>(asked);
        if (launched_by_mpi()) return be_a_rank(asked);
        return launch_ranks(this_launcher(), asked.threads, argv, executable_name);
    } catch (const std::exception& error) {
        complain<adapter>(error.what());
    }
    return exit_bad_input;
}
