#pragma once
// The collective study's operations as the MPI that this is built for has them.

#include <mpi.h>

#include <span>
#include <stdexcept>
#include <string>

#include "runners/collective/run.hpp"
#include "runners/shared/signed.hpp"

namespace tauto::runner {

inline int count_of(std::span<const double> words) {
    return int_size(words);
}

inline void check(int code) {
    if (code != MPI_SUCCESS) throw std::runtime_error("MPI failed with code " + std::to_string(code));
}

// What a program gets that calls MPI.
class native_engine {
  public:
    explicit native_engine(MPI_Op sum = MPI_SUM) : sum_{sum} {}

    static bool offers(collective) { return true; }
    bool in_place(collective) const { return false; }

    void perform(collective operation, const rank_data& data) {
        double* mine = data.mine.data();
        double* result = data.result.data();
        const int count = count_of(data.mine);
        switch (operation) {
            case collective::barrier:
                return check(MPI_Barrier(world));
            case collective::broadcast:
                return check(MPI_Bcast(result, count, MPI_DOUBLE, 0, world));
            case collective::all_reduce:
                return check(MPI_Allreduce(mine, result, count, MPI_DOUBLE, sum_, world));
            case collective::all_gather:
                return check(MPI_Allgather(mine, count, MPI_DOUBLE, result, count, MPI_DOUBLE, world));
            case collective::reduce_scatter:
                return check(
                    MPI_Reduce_scatter_block(mine, result, count_of(data.result), MPI_DOUBLE, sum_, world));
            case collective::reduce_broadcast:
                check(MPI_Reduce(mine, result, count, MPI_DOUBLE, sum_, 0, world));
                return check(MPI_Bcast(result, count, MPI_DOUBLE, 0, world));
            case collective::gather_broadcast:
                check(MPI_Gather(mine, count, MPI_DOUBLE, result, count, MPI_DOUBLE, 0, world));
                return check(MPI_Bcast(result, count_of(data.result), MPI_DOUBLE, 0, world));
        }
    }

  private:
    static constexpr auto world_of = [] { return MPI_COMM_WORLD; };
    MPI_Comm world = world_of();
    MPI_Op sum_;
};

}  // namespace tauto::runner
