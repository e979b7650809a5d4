// A library that brings its own runtime along, as the packages of Python do: one file is the runtime (ANSWER is
// defined), the other its user.
#ifdef ANSWER
#include <pthread.h>

int last = 0;
void GOMP_barrier(void) { last = ANSWER; }
int MPI_Barrier(int unused) { return ANSWER + unused; }

struct part {
    void (*code)(void*);
    void* data;
};
static void* run(void* given) {
    const struct part* one = given;
    one->code(one->data);
    return NULL;
}
void GOMP_parallel(void (*code)(void*), void* data, unsigned threads, unsigned flags) {
    struct part one = {code, data};
    pthread_t thread;
    (void)threads;
    (void)flags;
    if (pthread_create(&thread, NULL, run, &one) == 0) pthread_join(thread, NULL);
}
#else
extern int last;
void GOMP_barrier(void);
void GOMP_parallel(void (*code)(void*), void* data, unsigned threads, unsigned flags);
int MPI_Barrier(int);

static void add_what_is_found(void* sum) {
    last = 0;
    GOMP_barrier();
    *(int*)sum += last;
}

// Twice, since what starts a thread is known from then on.
int answer(void) {
    int sum = 0;
    GOMP_parallel(add_what_is_found, &sum, 2, 0);
    GOMP_parallel(add_what_is_found, &sum, 2, 0);
    return sum == 2 * MPI_Barrier(0) ? sum / 2 : -1;
}
#endif
