// A library that brings its own runtime along, as the packages of Python do: one file is the runtime (ANSWER is
// defined), the other its user.
#ifdef ANSWER
int last = 0;
void GOMP_barrier(void) { last = ANSWER; }
int MPI_Barrier(int unused) { return ANSWER + unused; }
#else
extern int last;
void GOMP_barrier(void);
int MPI_Barrier(int);

int answer(void) {
    GOMP_barrier();
    return last == MPI_Barrier(0) ? last : -1;
}
#endif
