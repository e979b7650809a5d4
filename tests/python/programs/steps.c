// steps ROUNDS [BEHIND]: in each round two threads are started and joined. With BEHIND it is one thread, which
// begins on another CPU than that; a further thread works all the while, and goes to CPU BEHIND in each round.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conversation.h"

static atomic_int over, goes;
static cpu_set_t own;
static int behind = -1;

// By its number: what stands in front of sched_setaffinity would take it for the program's wish.
static void set_mask(const cpu_set_t* mask) { syscall(SYS_sched_setaffinity, 0, sizeof *mask, mask); }

// Onto these CPUs, and may be moved from there.
static void go_to(int cpu, int or_any_but_it) {
    cpu_set_t there = own;
    if (or_any_but_it)
        CPU_CLR(cpu, &there);
    else {
        CPU_ZERO(&there);
        CPU_SET(cpu, &there);
    }
    set_mask(&there);
    set_mask(&own);
}

static void* is_behind(void* unused) {
    while (!atomic_load(&over)) {
        if (atomic_exchange(&goes, 0)) go_to(behind, 0);
    }
    return unused;
}

static void* step(void* unused) {
    if (behind >= 0) {
        atomic_store(&goes, 1);
        go_to(behind, 1);
        while (atomic_load(&goes)) {
        }
    }
    for (volatile int k = 0; k < 100000; ++k) {
    }
    return unused;
}

int main(int count, char** words) {
    if (count < 2) return 2;
    if (count > 2) behind = atoi(words[2]);
    CPU_ZERO(&own);
    syscall(SYS_sched_getaffinity, 0, sizeof own, &own);
    pthread_t other, threads[2];
    if (behind >= 0) pthread_create(&other, NULL, is_behind, NULL);
    say("ready");
    listen();
    for (int round = 0; round < atoi(words[1]); ++round) {
        const int started = behind < 0 ? 2 : 1;
        for (int k = 0; k < started; ++k) pthread_create(&threads[k], NULL, step, NULL);
        for (int k = 0; k < started; ++k) pthread_join(threads[k], NULL);
    }
    say("over");
    listen();
    atomic_store(&over, 1);
    if (behind >= 0) pthread_join(other, NULL);
    return 0;
}
