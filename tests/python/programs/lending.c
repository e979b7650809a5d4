// Two threads that meet at barriers. The second comes when it has read a line, and the first waits for it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { rounds = 4 };

static pthread_barrier_t barrier;

static void say(const char* what) {
    char line[64];
    const int length = snprintf(line, sizeof line, "%s %d\n", what, (int)gettid());
    if (write(1, line, (size_t)length) != length) exit(4);
}

static void listen(void) {
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL) exit(3);
}

static void* second(void* unused) {
    pthread_barrier_wait(&barrier);
    for (int k = 0; k < rounds; ++k) {
        say("works");
        listen();
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, second, NULL);
    for (int k = 0; k <= rounds; ++k) pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    say("ended");
    listen();
    return 0;
}
