// A thread runs regions of a library that was loaded late, while others load and unload more of its users:
// late_loads LIBRARY LIBRARY LIBRARY. With SUM it is such a library.
#ifdef SUM
int sum(int threads) {
    int found = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : found)
    for (int k = 0; k < 1000; ++k) found += 1;
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
#pragma omp atomic
        found += 1;
    }
    return found - threads;
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_int at_work;

static int answer(const char* path, int threads, int unload) {
    void* library = dlopen(path, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    int (*sum)(int);
    *(void**)&sum = dlsym(library, "sum");
    const int found = sum(threads);
    if (unload) dlclose(library);
    return found;
}

static void* load_often(void* path) {
    for (int k = 0; k < 2000; ++k)
        if (answer(path, 2, 1) != 1000) exit(4);
    atomic_fetch_sub(&at_work, 1);
    return NULL;
}

int main(int count, char** words) {
    if (count != 4) return 2;
    pthread_t threads[2];
    atomic_store(&at_work, 2);
    for (int k = 0; k < 2; ++k) pthread_create(&threads[k], NULL, load_often, words[2 + k]);
    // With each more, the runtime starts threads.
    for (int size = 1; atomic_load(&at_work) > 0; size = size % 8 + 1)
        if (answer(words[1], size, 0) != 1000) return 5;
    for (int k = 0; k < 2; ++k) pthread_join(threads[k], NULL);
    return 0;
}
#endif
