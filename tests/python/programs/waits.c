// A thread that waits in one way, then works, then ends. It says what it does, and goes on when it reads a
// line.
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conversation.h"

static const char* way;
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_t joined;
static atomic_int open_door, at_work, over;
static sigjmp_buf back;
static atomic_int jumped;

static int is(const char* name) {
    return strcmp(way, name) == 0;
}

static struct timespec in_an_hour(clockid_t clock) {
    struct timespec until;
    clock_gettime(clock, &until);
    until.tv_sec += 3600;
    return until;
}

static void work(void) {
    atomic_store(&at_work, 1);
    say("works");
    while (!atomic_load(&over)) {
    }
}

static void* stay(void* unused) {
    while (!atomic_load(&open_door)) usleep(1000);
    return unused;
}

static void jump(int unused) {
    (void)unused;
    atomic_store(&jumped, 1);
    siglongjmp(back, 1);
}

static void clean_up(void* unused) {
    (void)unused;
    work();
}

static void wait_for_condition(void) {
    const struct timespec real = in_an_hour(CLOCK_REALTIME), steady = in_an_hour(CLOCK_MONOTONIC);
    pthread_mutex_lock(&mutex);
    while (!atomic_load(&open_door)) {
        if (is("timedwait"))
            pthread_cond_timedwait(&condition, &mutex, &real);
        else if (is("clockwait"))
            pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &steady);
        else
            pthread_cond_wait(&condition, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

static void wait_once(void) {
    const struct timespec until = in_an_hour(CLOCK_REALTIME);
    if (is("barrier"))
        pthread_barrier_wait(&barrier);
    else if (is("sem") || is("cancelled sem"))
        sem_wait(&semaphore);
    else if (is("timed sem"))
        sem_timedwait(&semaphore, &until);
    else if (is("join"))
        pthread_join(joined, NULL);
    else if (is("timed join"))
        pthread_timedjoin_np(joined, NULL, &until);
    else if (is("futex"))
        syscall(SYS_futex, &open_door, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    else if (is("yield"))
        while (!atomic_load(&open_door)) sched_yield();
    else if (is("jump")) {
        if (sigsetjmp(back, 1) == 0) sem_wait(&semaphore);
        sem_post(&semaphore);
        sem_wait(&semaphore);  // the next one, which ends at once
    } else
        wait_for_condition();
}

static void* waiter(void* unused) {
    say("waits");
    pthread_cleanup_push(clean_up, NULL);
    wait_once();
    pthread_cleanup_pop(0);
    work();
    return unused;
}

static void release(pthread_t thread) {
    pthread_mutex_lock(&mutex);
    atomic_store(&open_door, 1);
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    if (is("jump"))
        pthread_kill(thread, SIGUSR1);
    else
        sem_post(&semaphore);
    if (is("barrier")) pthread_barrier_wait(&barrier);
    if (is("futex")) syscall(SYS_futex, &open_door, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void in_child(void) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        say("waits");
        listen();
        atomic_store(&open_door, 1);
        wait_for_condition();
        sem_post(&semaphore);
        sem_wait(&semaphore);
        say("works");
        listen();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say("ended");
    listen();
}

int main(int count, char** words) {
    if (count != 2) return 2;
    way = words[1];
    signal(SIGUSR1, jump);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    if (is("fork")) {
        in_child();
        return 0;
    }
    if (is("join") || is("timed join")) pthread_create(&joined, NULL, stay, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, waiter, NULL);
    listen();
    if (strncmp(way, "cancelled", 9) == 0)
        pthread_cancel(thread);
    else
        release(thread);
    while (!atomic_load(&at_work)) usleep(1000);
    listen();
    atomic_store(&over, 1);
    pthread_join(thread, NULL);
    say("ended");
    listen();
    return 0;
}
