// Threads that work and then wait for each other, with plain pthreads: it knows nothing of unequal CPUs.
// tauto-bench-barrier-loop STEPS ROUNDS THREADS: a round has STEPS steps in all. Prints its seconds and a
// number that depends on all of the work.

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

struct worker {
    pthread_t thread{};
    pthread_barrier_t* barrier = nullptr;
    long steps = 0;
    long rounds = 0;
    std::uint64_t value = 0;
};

void* work(void* given) {
    auto& own = *static_cast<worker*>(given);
    for (long round = 0; round < own.rounds; ++round) {
        for (long step = 0; step < own.steps; ++step)
            own.value = own.value * 6364136223846793005U + 1442695040888963407U;
        pthread_barrier_wait(own.barrier);
    }
    return nullptr;
}

}  // namespace

int main(int count, char** values) {
    if (count != 4) {
        std::fprintf(stderr, "usage: tauto-bench-barrier-loop STEPS ROUNDS THREADS\n");
        return 2;
    }
    const long threads = std::atol(values[3]);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
    std::vector<worker> workers(static_cast<std::size_t>(threads));
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        worker& one = workers[i];
        one.barrier = &barrier;
        one.steps = std::atol(values[1]) / threads;
        one.rounds = std::atol(values[2]);
        one.value = i;
        pthread_create(&one.thread, nullptr, work, &one);
    }
    for (worker& one : workers) pthread_join(one.thread, nullptr);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::uint64_t all = 0;
    for (const worker& one : workers) all ^= one.value;
    std::printf("%.6f %016llx\n", took.count(), static_cast<unsigned long long>(all));
}
