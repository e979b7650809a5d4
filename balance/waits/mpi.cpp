// Waits in MPI. All MPIs have the same functions with int results, and arguments that fill a word at most:
// handles are pointers in Open MPI and int in MPICH. So they are passed on as words, to whatever the program
// was linked with. Fortran's functions are C's with pointers, and one more for the result.

#include "balance/waits/marks.hpp"
#include "balance/waits/originals.hpp"

using tauto::balance::original;
using tauto::balance::timed_wait_mark;
using word = void*;

#define TAUTO_WAIT_IN(NAME, RESULT, PARAMETERS, ARGUMENTS)         \
    TAUTO_IN_FRONT RESULT NAME PARAMETERS;                         \
    TAUTO_RUNTIME(NAME);                                           \
    TAUTO_IN_FRONT RESULT NAME PARAMETERS {                        \
        const timed_wait_mark waiting;                             \
        return original<RESULT PARAMETERS>(real_##NAME) ARGUMENTS; \
    }
#define TAUTO_WAIT(...) TAUTO_WAIT_IN(__VA_ARGS__)

#define TAUTO_1 (word a), (a)
#define TAUTO_2 (word a, word b), (a, b)
#define TAUTO_3 (word a, word b, word c), (a, b, c)
#define TAUTO_4 (word a, word b, word c, word d), (a, b, c, d)
#define TAUTO_5 (word a, word b, word c, word d, word e), (a, b, c, d, e)
#define TAUTO_6 (word a, word b, word c, word d, word e, word f), (a, b, c, d, e, f)
#define TAUTO_7 (word a, word b, word c, word d, word e, word f, word g), (a, b, c, d, e, f, g)
#define TAUTO_8 (word a, word b, word c, word d, word e, word f, word g, word h), (a, b, c, d, e, f, g, h)
#define TAUTO_9 \
    (word a, word b, word c, word d, word e, word f, word g, word h, word i), (a, b, c, d, e, f, g, h, i)
#define TAUTO_10                                                                      \
    (word a, word b, word c, word d, word e, word f, word g, word h, word i, word j), \
        (a, b, c, d, e, f, g, h, i, j)
#define TAUTO_12                                                                                      \
    (word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l), \
        (a, b, c, d, e, f, g, h, i, j, k, l)
#define TAUTO_13                                                                                     \
    (word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l, \
     word m),                                                                                        \
        (a, b, c, d, e, f, g, h, i, j, k, l, m)

// In C, and in Fortran.
#define TAUTO_MPI(NAME, C_WORDS, FORTRAN_NAME, FORTRAN_WORDS) \
    TAUTO_WAIT(NAME, int, C_WORDS)                            \
    TAUTO_WAIT(FORTRAN_NAME, void, FORTRAN_WORDS)

TAUTO_MPI(MPI_Wait, TAUTO_2, mpi_wait_, TAUTO_3)
TAUTO_MPI(MPI_Waitall, TAUTO_3, mpi_waitall_, TAUTO_4)
TAUTO_MPI(MPI_Waitany, TAUTO_4, mpi_waitany_, TAUTO_5)
TAUTO_MPI(MPI_Waitsome, TAUTO_5, mpi_waitsome_, TAUTO_6)
TAUTO_MPI(MPI_Send, TAUTO_6, mpi_send_, TAUTO_7)
TAUTO_MPI(MPI_Ssend, TAUTO_6, mpi_ssend_, TAUTO_7)
TAUTO_MPI(MPI_Recv, TAUTO_7, mpi_recv_, TAUTO_8)
TAUTO_MPI(MPI_Mrecv, TAUTO_5, mpi_mrecv_, TAUTO_6)
TAUTO_MPI(MPI_Probe, TAUTO_4, mpi_probe_, TAUTO_5)
TAUTO_MPI(MPI_Sendrecv, TAUTO_12, mpi_sendrecv_, TAUTO_13)
TAUTO_MPI(MPI_Sendrecv_replace, TAUTO_9, mpi_sendrecv_replace_, TAUTO_10)
TAUTO_MPI(MPI_Barrier, TAUTO_1, mpi_barrier_, TAUTO_2)
TAUTO_MPI(MPI_Bcast, TAUTO_5, mpi_bcast_, TAUTO_6)
TAUTO_MPI(MPI_Gather, TAUTO_8, mpi_gather_, TAUTO_9)
TAUTO_MPI(MPI_Gatherv, TAUTO_9, mpi_gatherv_, TAUTO_10)
TAUTO_MPI(MPI_Scatter, TAUTO_8, mpi_scatter_, TAUTO_9)
TAUTO_MPI(MPI_Scatterv, TAUTO_9, mpi_scatterv_, TAUTO_10)
TAUTO_MPI(MPI_Allgather, TAUTO_7, mpi_allgather_, TAUTO_8)
TAUTO_MPI(MPI_Allgatherv, TAUTO_8, mpi_allgatherv_, TAUTO_9)
TAUTO_MPI(MPI_Alltoall, TAUTO_7, mpi_alltoall_, TAUTO_8)
TAUTO_MPI(MPI_Alltoallv, TAUTO_9, mpi_alltoallv_, TAUTO_10)
TAUTO_MPI(MPI_Alltoallw, TAUTO_9, mpi_alltoallw_, TAUTO_10)
TAUTO_MPI(MPI_Reduce, TAUTO_7, mpi_reduce_, TAUTO_8)
TAUTO_MPI(MPI_Allreduce, TAUTO_6, mpi_allreduce_, TAUTO_7)
TAUTO_MPI(MPI_Reduce_scatter, TAUTO_6, mpi_reduce_scatter_, TAUTO_7)
TAUTO_MPI(MPI_Reduce_scatter_block, TAUTO_6, mpi_reduce_scatter_block_, TAUTO_7)
TAUTO_MPI(MPI_Scan, TAUTO_6, mpi_scan_, TAUTO_7)
TAUTO_MPI(MPI_Exscan, TAUTO_6, mpi_exscan_, TAUTO_7)
TAUTO_MPI(MPI_Win_fence, TAUTO_2, mpi_win_fence_, TAUTO_3)
