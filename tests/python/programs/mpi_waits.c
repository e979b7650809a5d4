// The second of two ranks waits for the first, which goes on when it reads a line; then it works, and waits
// again.
#define _GNU_SOURCE
#include <mpi.h>

#include "conversation.h"

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int rank = 0, got[3] = {0, 0, 0}, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        say("waits");
    else
        listen();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        say("works");
    else
        listen();
    // Twelve arguments, some of which are not in registers.
    int given[3] = {rank + 1, 7, 9};
    MPI_Sendrecv(given, 3, MPI_INT, 1 - rank, 5, got, 3, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Allreduce(&got[0], &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        if (got[0] == 2 && got[1] == 7 && got[2] == 9 && sum == 3) say("ended");
        listen();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
