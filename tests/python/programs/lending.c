// Two threads that meet again and again: at barriers, at a condition, or at a futex that the program calls
// itself. The second comes when it has read a line, and the first waits for it.
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conversation.h"

enum { rounds = 4, threads = 2 };

static const char* way;
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static atomic_int came, meetings;

static void meet_at_condition(void) {
    pthread_mutex_lock(&mutex);
    const int before = meetings;
    if (++came == threads) {
        came = 0;
        ++meetings;
        pthread_cond_broadcast(&condition);
    }
    while (meetings == before) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void meet_at_futex(void) {
    const int before = atomic_load(&meetings);
    if (atomic_fetch_add(&came, 1) + 1 == threads) {
        atomic_store(&came, 0);
        atomic_fetch_add(&meetings, 1);
        syscall(SYS_futex, &meetings, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    }
    while (atomic_load(&meetings) == before)
        syscall(SYS_futex, &meetings, FUTEX_WAIT_PRIVATE, before, NULL, NULL, 0);
}

static void meet(void) {
    if (strcmp(way, "condition") == 0)
        meet_at_condition();
    else if (strcmp(way, "futex") == 0)
        meet_at_futex();
    else
        pthread_barrier_wait(&barrier);
}

static void* second(void* unused) {
    meet();
    for (int k = 0; k < rounds; ++k) {
        say("works");
        listen();
        meet();
    }
    return unused;
}

int main(int count, char** words) {
    if (count != 2) return 2;
    way = words[1];
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, threads);
    pthread_create(&thread, NULL, second, NULL);
    for (int k = 0; k <= rounds; ++k) meet();
    pthread_join(thread, NULL);
    say("ended");
    listen();
    return 0;
}
