// Two OpenMP threads, one of which waits. They say what they do, and the first goes on when it reads a line.
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "conversation.h"

int omp_get_thread_num(void);  // not every compiler has its header

static atomic_int at_work, over, began, waiter;

static void work(void) {
    atomic_store(&at_work, 1);
    say("works");
    while (!atomic_load(&over)) {
    }
}

static void let_work(void) {
    while (!atomic_load(&at_work)) usleep(1000);
    listen();
    atomic_store(&over, 1);
}

static void at_barrier(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            say("waits");
        else
            listen();
#pragma omp barrier
        if (omp_get_thread_num() == 1)
            work();
        else
            let_work();
    }
}

// At the barrier that a loop has at its end.
static void after_loop(int dynamic) {
#pragma omp parallel num_threads(2)
    {
        if (dynamic) {
#pragma omp for schedule(dynamic, 1)
            for (int k = 0; k < 2; ++k) {
                if (atomic_fetch_add(&began, 1) == 0) {
                    while (atomic_load(&began) < 2) usleep(1000);
                    atomic_store(&waiter, omp_get_thread_num());
                    say("waits");
                } else {
                    listen();
                }
            }
        } else {
#pragma omp for
            for (int k = 0; k < 2; ++k) {
                if (k == 0) {
                    listen();
                } else {
                    atomic_store(&waiter, omp_get_thread_num());
                    say("waits");
                }
            }
        }
        if (omp_get_thread_num() == atomic_load(&waiter))
            work();
        else
            let_work();
    }
}

// The first thread waits for the join.
static void at_join(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            say("waits");
        else
            listen();
    }
    say("works");
    listen();
}

// The second waits for its next region.
static void between(void) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) say("waits");
    listen();
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            work();
        else
            let_work();
    }
}

// The second waits at a barrier where it finds a task to do.
static void with_task(void) {
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            say("waits");
        } else {
            listen();
#pragma omp task
            work();
            let_work();
        }
#pragma omp barrier
    }
}

#ifdef LATE
#define main run
// The runtime starts its threads in a region of its own, in which nothing is looked at.
static void first_region(void) {
#pragma omp parallel num_threads(2)
    atomic_store(&began, 0);
}
#else
#define first_region()
#endif

int main(int count, char** words) {
    if (count != 2) return 2;
    first_region();
    if (strcmp(words[1], "barrier") == 0)
        at_barrier();
    else if (strcmp(words[1], "loop") == 0)
        after_loop(0);
    else if (strcmp(words[1], "dynamic loop") == 0)
        after_loop(1);
    else if (strcmp(words[1], "join") == 0)
        at_join();
    else if (strcmp(words[1], "between") == 0)
        between();
    else
        with_task();
    say("ended");
    listen();
    return 0;
}
