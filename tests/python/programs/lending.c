// Two threads that meet at barriers. The second comes when it has read a line, and the first waits for it.
#define _GNU_SOURCE
#include <pthread.h>

#include "conversation.h"

enum { rounds = 4 };

static pthread_barrier_t barrier;

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
