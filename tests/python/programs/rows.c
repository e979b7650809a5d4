// Regions of OpenMP whose parts may be run one after the other, by fewer threads. `rows WAY` reads a line,
// runs a region some times, reads another one, goes on, and prints what must not depend on who runs its
// parts. With UNSAFE it has what tells threads apart: 1: threadprivate, 2: pthread_self, 3: a task; or
// asks for teams inside of teams: 4, 5.
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "conversation.h"

// A region is looked at for up to 66 runs before it is run otherwise.
enum { runs = 800, most = 64, size = 60000, looked_at = 80 };

static double numbers[size];
static atomic_int seen[most];
static atomic_int flags[most];
#if UNSAFE == 1
int own;
#pragma omp threadprivate(own)
#endif

static void loop(void) {
#pragma omp parallel for schedule(static)
    for (int i = 0; i < size; ++i) numbers[i] = 0.5 * numbers[i] + i;
}

static long plain(int run) {
    loop();
    long all = 0;
    for (int i = 0; i < size; ++i) all += (long)numbers[i];
    return all + run;
}

static long sum(int run) {
    long all = 0;
#pragma omp parallel for schedule(static) reduction(+ : all)
    for (int i = 0; i < size; ++i) all += i % (run + 2);
    return all;
}

// Each number once, in a team of as many, and not before the region around it ended.
static long asked(int run) {
    const int team = omp_get_max_threads();
    for (int k = 0; k < most; ++k) seen[k] = 0;
    atomic_int right = 0;
#pragma omp parallel
    {
        ++seen[omp_get_thread_num()];
        right += omp_get_num_threads() == team && omp_in_parallel() && omp_get_max_threads() == team;
        if (run > looked_at) omp_set_num_threads(2);  // for regions inside of this one
    }
    if (omp_get_max_threads() != team) return -1;
    int once = !omp_in_parallel() && omp_get_thread_num() == 0 && omp_get_num_threads() == 1;
    for (int k = 0; k < team; ++k) once += seen[k] == 1;
    return 1000L * right + once + 0 * run;
}

// The same where the region names a number.
static long named(int run) {
    int right = 0;
    const int most = omp_get_max_threads();
#pragma omp parallel num_threads(4) reduction(+ : right)
    right += omp_get_num_threads() == 4 && omp_get_max_threads() == most && omp_get_thread_num() < 4;
    return 10L * right + (run > 0);
}

// Parts that have never waited for each other do, from one run on.
static long barrier(int run) {
    atomic_int late = 0;
    for (int k = 0; k < most; ++k) seen[k] = 0;
#pragma omp parallel
    {
        const int self = omp_get_thread_num();
        const int next = (self + 1) % omp_get_num_threads();
        if (run > looked_at)
            for (int k = 1; k <= 3; ++k) {
                seen[self] = k;
#pragma omp barrier
                late += seen[next] != k;
#pragma omp barrier
            }
    }
    return late;
}

static long single(int run) {
    int early = 0;
    int done = 0;
    int others = 0;
#pragma omp parallel
    if (run > looked_at) {
#pragma omp single nowait
        ++early;
#pragma omp single
        ++done;
#pragma omp atomic
        others += done;
    }
    return 100L * (early + done) + others;
}

// Without any wait.
static long nowait(int run) {
    int done = 0;
#pragma omp parallel
    if (run > looked_at) {
#pragma omp single nowait
        ++done;
    }
    return done;
}

// Loops and sections of a team, from one run on.
static long shared(int run) {
    long all = 0;
#pragma omp parallel reduction(+ : all)
    if (run > looked_at) {
#pragma omp for schedule(dynamic, 7)
        for (int i = 10; i > -1000; --i) all += i;
#pragma omp for schedule(guided) nowait
        for (unsigned long i = 0; i < 1000; ++i) all += (long)(i * i);
#pragma omp for schedule(runtime)
        for (unsigned long i = 1000; i > 3; i -= 3) all += (long)i;
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 0; ++i) all += 1000000;
#pragma omp sections
        {
            all += 1;
#pragma omp section
            all += 100;
#pragma omp section
            all += 10000;
        }
    }
    return all;
}

// Regions that are a loop of a team, or sections.
static long loops(int run) {
    long all = 0;
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 300; ++i)
#pragma omp atomic
        all += i;
#pragma omp parallel for schedule(guided, 3)
    for (int i = 300; i > -300; i -= 7)
#pragma omp atomic
        all += i + run;
#pragma omp parallel for schedule(dynamic, 5) reduction(+ : all)
    for (unsigned long i = 7; i < 1000; i += 2) all += (long)(i * i);
#pragma omp parallel for schedule(runtime)
    for (int i = 5; i < 5; ++i) all += 1000000;
#pragma omp parallel sections reduction(+ : all)
    {
        all += 1;
#pragma omp section
        all += 100;
#pragma omp section
        all += 10000;
    }
    // More of them than a row shares out.
#pragma omp parallel reduction(+ : all)
    for (int k = 0; k < 100; ++k) {
#pragma omp for schedule(dynamic) nowait
        for (int i = 0; i < 10; ++i) all += i * k;
#pragma omp single nowait
        all += 3;
    }
    return all;
}

// Each waits in memory for the next one, as solvers that work in a wave do.
static long neighbour(int run) {
    for (int k = 0; k < most; ++k) flags[k] = 0;
    int done = 0;
#pragma omp parallel reduction(+ : done)
    {
        const int self = omp_get_thread_num();
        if (run > looked_at && self + 1 < omp_get_num_threads())
            while (!flags[self + 1]) sched_yield();
        flags[self] = 1;
        ++done;
    }
    return done;
}

// The same behind a barrier.
static long wave(int run) {
    for (int k = 0; k < most; ++k) flags[k] = 0;
    int done = 0;
#pragma omp parallel reduction(+ : done)
    {
        const int self = omp_get_thread_num();
        if (run > looked_at) {
#pragma omp barrier
            if (self + 1 < omp_get_num_threads())
                while (!flags[self + 1]) sched_yield();
            flags[self] = 1;
#pragma omp barrier
            done += flags[0];
        }
    }
    return done;
}

// What a part keeps on its stack is still there behind a barrier.
static long kept(int run) {
    long all = 0;
#pragma omp parallel reduction(+ : all)
    {
        const int self = omp_get_thread_num();
        double own[2000];
        for (int k = 0; k < 2000; ++k) own[k] = self + k % (run + 1);
#pragma omp for schedule(static)
        for (int i = 0; i < size; ++i) numbers[i] = i % 100;
#pragma omp for schedule(static)
        for (int i = 0; i < size; ++i) all += (long)numbers[size - 1 - i];
        for (int k = 0; k < 2000; ++k) all += own[k] == self + k % (run + 1);
        all += 1000000L * (self == omp_get_thread_num());
    }
    return all;
}

static long nested(int run) {
    long all = 0;
    int teams = 0;
#pragma omp parallel reduction(+ : all, teams)
    if (run > looked_at) {
        long inside = 0;
#pragma omp parallel for schedule(static) reduction(+ : inside)
        for (int i = 0; i < 1000; ++i) inside += i;
        all += inside;
#pragma omp parallel for schedule(dynamic, 10)
        for (int i = 0; i < 100; ++i)
#pragma omp atomic
            all += i;
#pragma omp parallel reduction(+ : teams)
        {
#pragma omp barrier
#pragma omp single
            teams += omp_get_num_threads() + omp_get_thread_num();
        }
    }
    return all + teams;
}

static long locked(int run) {
    static omp_lock_t lock;
    if (run == 0) omp_init_lock(&lock);
    int one = 0;
    int two = 0;
#pragma omp parallel
    for (int k = 0; k < 100; ++k) {
#pragma omp critical
        ++one;
        omp_set_lock(&lock);
        ++two;
        omp_unset_lock(&lock);
    }
    return 1000L * one + two;
}

// A child has none of the threads.
static long forked(int run) {
    loop();
    if (run > looked_at && run % 20 == 10) {
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) _exit(run);
        int status = 0;
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    return sum(run);
}

static void* last(void* unused) {
    usleep(200000);
    exit(0);
    return unused;
}

int main(int count, char** words) {
    const struct {
        const char* name;
        long (*run)(int);
    } ways[] = {{"plain", plain},   {"sum", sum},       {"asked", asked},   {"barrier", barrier},
                {"single", single}, {"nowait", nowait}, {"shared", shared}, {"neighbour", neighbour},
                {"wave", wave},     {"kept", kept},     {"loops", loops},   {"named", named},
                {"nested", nested}, {"locked", locked}, {"forked", forked}, {"left", sum}};
    if (count != 2) return 2;
    loop();  // the runtime starts its threads
    printf("begun\n");
    fflush(stdout);
    listen();
#if UNSAFE == 1
    own = 1;
#elif UNSAFE == 2
    if (pthread_self() == 0) return 5;
#elif UNSAFE == 3
#pragma omp task
    numbers[0] = 0;
#elif UNSAFE == 4
    omp_set_nested(1);
#elif UNSAFE == 5
    omp_set_max_active_levels(2);
#else
    omp_set_max_active_levels(1);
#endif
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        if (strcmp(words[1], ways[k].name) != 0) continue;
        unsigned long all = 0;
        for (int run = 0; run < runs; ++run) {
            all = 31 * all + (unsigned long)ways[k].run(run);
            if (run == looked_at) {
                printf("looked at\n");
                fflush(stdout);
                listen();
            }
        }
        printf("%lu\n", all);
        fflush(stdout);
        listen();
        if (strcmp(words[1], "left") == 0) {
            pthread_t other;
            pthread_create(&other, NULL, last, NULL);
            pthread_exit(NULL);
        }
        return 0;
    }
    return 2;
}
