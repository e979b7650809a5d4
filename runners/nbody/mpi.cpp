// The nbody study on an MPI: every member a process (--threads-per-rank 1), or threads inside and messages
// between the processes. Built once for each MPI.

#include <mpi.h>

#include <tauto/mpi.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/fnv1a.hpp"
#include "runners/mpi/gathered.hpp"
#include "runners/mpi/launch.hpp"
#include "runners/mpi/library.hpp"
#include "runners/nbody/member.hpp"
#include "runners/shared/signed.hpp"
#include "runners/shared/tautochrone_team.hpp"

namespace {

using namespace tauto::runner;

// The CPUs of this process' members. The ranks of one machine have them in turn.
std::vector<int> own_cpus(const nbody_request& asked) {
    const int first = place_of_rank().local_rank * asked.threads_per_rank;
    std::vector<int> own;
    for (int thread = 0; thread < asked.threads_per_rank; ++thread)
        if (const int cpu = asked.cpu_of(first + thread); std::ranges::find(own, cpu) == own.end())
            own.push_back(cpu);
    return own;
}

class mpi_adapter {
  public:
    static constexpr std::string_view executable = "tauto-nbody-" TAUTO_MPI_NAME;

    static description describe() {
        description mpi = mpi_description();
        mpi.schedules = member_schemes();
        mpi.has_ranks = true;
        if (launched_by_mpi()) mpi.ranks = place_of_rank().ranks;
        return mpi;
    }

    explicit mpi_adapter(const nbody_request& asked)
        : fixed_{scheme_named(asked.schedule, asked.threads).has_value()},
          threads_per_rank_{asked.threads_per_rank} {
        if (threads_per_rank_ == 1) return;
        options mine = asked;
        mine.cpus = asked.own_cpus;
        mine.threads = threads_per_rank_;
        team_.emplace(team_options_of(mine));
    }

    nbody_pass run(const nbody_start& start, const nbody_request& asked, work_account& account) {
        if (!team_) return member_pass(processes_, start, asked, account);
        nbody_pass pass;
        tauto::run_hybrid(*team_, processes_, [&](tauto::hybrid_member& me) {
            nbody_pass mine = member_pass(me, start, asked, account);
            if (me.rank() % threads_per_rank_ == 0) pass = std::move(mine);  // of each process' first one
        });
        return pass;
    }

    // auto chooses by measured times, and its schemes add in different orders.
    bool repeats_bits() const { return fixed_; }

    bool leads() const { return processes_.rank() == 0; }
    bool agreed(bool mine) {
        processes_.broadcast(std::span<bool>{&mine, 1}, 0);
        return mine;
    }
    std::vector<worker_share> workers(const work_account& account) {
        std::vector<worker_share> own = account.workers();
        for (auto& one : own) one.thread += processes_.rank() * max_workers;
        return gathered(processes_, own);
    }

    void complete(json& row) const {
        set_field(row, "ranks", processes_.size());
        set_field(row, "threads_per_rank", threads_per_rank_);
    }
    std::string diagnosis() const {
        return "MPI has " + std::to_string(processes_.size()) + " ranks of " +
               std::to_string(threads_per_rank_) + " threads";
    }

  private:
    bool fixed_;
    int threads_per_rank_;
    tauto::mpi_member processes_{MPI_COMM_WORLD};
    std::optional<tauto::team> team_;
};

using mpi_run = nbody_run<mpi_adapter>;

// Throws input_error, the same on all ranks, unless all have what rank 0 has.
void require_alike(tauto::mpi_member& me, std::uint64_t mine, const std::string& complaint,
                   const std::string& remedy) {
    std::vector<std::uint64_t> all(usize(me.size()));
    me.all_gather(std::span<const std::uint64_t>{&mine, 1}, std::span<std::uint64_t>{all});
    const auto other = std::ranges::find_if(all, [&](std::uint64_t one) { return one != all[0]; });
    if (other != all.end())
        throw input_error("rank " + std::to_string(other - all.begin()) + " " + complaint + " than rank 0; " +
                          remedy);
}

std::uint64_t hash_of_this_program() {
    std::ifstream file{"/proc/self/exe", std::ios::binary};
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    return tauto::fnv1a(bytes);
}

std::uint64_t hash_of_words(char** argv) {
    std::uint64_t hash = tauto::fnv1a_offset_basis;
    for (char** word = argv + 1; *word != nullptr; ++word)
        hash = tauto::fnv1a(std::string{*word} + '\n', hash);
    return hash;
}

// What one rank does otherwise than another would make other bits, or wait for ever.
void require_one_program(char** argv) {
    tauto::mpi_member me{MPI_COMM_WORLD};
    require_alike(me, hash_of_this_program(), "runs another build of " + std::string{mpi_adapter::executable},
                  "put the same file on every machine");
    require_alike(me, hash_of_words(argv), "was given other options", "give all ranks the same ones");
}

// Where machines differ, all use the instructions that the least of them has; and all know all CPUs.
void settle(nbody_request& asked) {
    tauto::mpi_member me{MPI_COMM_WORLD};
    const auto smaller = [](int a, int b) { return std::min(a, b); };
    auto& chosen = asked.hermite.instructions;
    chosen = static_cast<tauto::instruction_set>(me.all_reduce(static_cast<int>(chosen), smaller));
    asked.cpus = gathered(me, asked.own_cpus);
    std::ranges::sort(asked.cpus);
    asked.cpus.erase(std::unique(asked.cpus.begin(), asked.cpus.end()), asked.cpus.end());
}

void require_one_start(const nbody_start& start) {
    tauto::mpi_member me{MPI_COMM_WORLD};
    require_alike(me, state_hash(start.bodies), "starts from other particles",
                  "give every machine the same snapshot");
}

// The reason for which the first rank that has one cannot go on, said by that rank. All call it and return
// alike.
bool refused(const std::string& reason) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int mine = reason.empty() ? ranks : rank;
    int first = ranks;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank)
        complain<mpi_adapter>((rank == 0 ? "" : "rank " + std::to_string(rank) + ": ") + reason);
    MPI_Barrier(MPI_COMM_WORLD);
    return first < ranks;
}

template <class Action>
std::string reason_of(Action&& action) {
    try {
        action();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

// The others wait for a rank that gives up, so they are ended by the launcher. Several may give up for one
// reason: the first of them says it.
[[noreturn]] void give_up(const std::string& reason) {
    const auto patience = std::chrono::milliseconds{500};
    std::this_thread::sleep_for(patience * std::min(place_of_rank().rank, 8));
    complain<mpi_adapter>(reason);
    std::this_thread::sleep_for(patience / 2);  // a launcher may drop what it has not yet passed on
    MPI_Abort(MPI_COMM_WORLD, exit_bad_input);
    std::abort();
}

// Every step either succeeds on all ranks or ends them all. `reason` is why this one cannot even begin.
int run_together(nbody_request& asked, char** argv, const std::string& reason) {
    const std::string unlike = reason_of([&] { require_one_program(argv); });
    if (refused(unlike.empty() ? reason : unlike)) return exit_bad_input;
    settle(asked);
    std::optional<mpi_run> run;
    if (refused(reason_of([&] { run.emplace(asked); }))) return exit_bad_input;
    if (refused(reason_of([&] { require_one_start(run->start()); }))) return exit_bad_input;
    try {
        return run->run();
    } catch (const std::exception& error) {
        give_up(error.what());
    }
}

void require_the_launcher_of_this_mpi() {
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int expected = place_of_rank().ranks;
    if (ranks != expected)
        throw input_error("the launcher started " + std::to_string(expected) +
                          " ranks and " TAUTO_MPI_NAME " sees " + std::to_string(ranks) +
                          ": it belongs to another MPI; use " TAUTO_MPI_LAUNCHER);
}

// Where MPI cannot bring the ranks together: the others let the first one speak.
void say_of_one(const std::string& reason) {
    if (place_of_rank().rank == 0)
        complain<mpi_adapter>(reason);
    else
        std::this_thread::sleep_for(std::chrono::milliseconds{500});
}

// As one of the processes that a launcher started.
int be_a_rank(int argc, char** argv, const description& mpi) {
    end_with_parent();
    nbody_request asked;
    std::string reason = reason_of([&] {
        asked = parse_nbody(argc, argv, mpi_adapter::executable, mpi);
        if (asked.describe) return;
        const auto here = usize(place_of_rank().local_ranks * asked.threads_per_rank);
        asked.cpus.resize(std::min(asked.cpus.size(), here));
        asked.own_cpus = own_cpus(asked);
        pin_to(asked.own_cpus);  // before MPI makes its threads and its memory
    });
    if (asked.describe) {
        if (place_of_rank().rank == 0) print_description(mpi);
        return exit_ok;
    }
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    const std::string unlike = reason_of([&] { require_the_launcher_of_this_mpi(); });
    int code = exit_bad_input;
    if (!unlike.empty())
        say_of_one(unlike);
    else
        code = run_together(asked, argv, reason);
    MPI_Finalize();
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const description mpi = mpi_adapter::describe();
        if (launched_by_mpi()) return be_a_rank(argc, argv, mpi);
        nbody_request asked = parse_nbody(argc, argv, mpi_adapter::executable, mpi);
        if (asked.describe) {
            print_description(mpi);
            return exit_ok;
        }
        start_of(asked);  // refused here, and not by every rank
        const log_of_another log{asked.log_file};
        const int code = launch_ranks(this_launcher(), asked.threads / asked.threads_per_rank, argv,
                                      mpi_adapter::executable);
        if (code != exit_ok) log.end_at_last_line();
        return code;
    } catch (const std::exception& error) {
        complain<mpi_adapter>(error.what());
    }
    return exit_bad_input;
}
