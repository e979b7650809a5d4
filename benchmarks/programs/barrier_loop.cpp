// Threads that work and then wait for each other: it knows nothing of unequal CPUs.
// tauto-bench-barrier-loop STEPS ROUNDS THREADS [spins]: a round has STEPS steps in all. They wait in a
// barrier of pthreads, or look at memory again and again. Prints its seconds and a number that depends on all
// of the work.

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace {

class meeting {
  public:
    meeting(long threads, bool spins) : threads_(threads), spins_(spins) {
        pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads));
    }

    void wait() {
        if (!spins_) {
            pthread_barrier_wait(&barrier_);
            return;
        }
        const long round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
        } else {
            while (round_.load(std::memory_order_acquire) == round) {
            }
        }
    }

  private:
    long threads_;
    bool spins_;
    pthread_barrier_t barrier_;
    std::atomic<long> arrived_{0};
    std::atomic<long> round_{0};
};

struct worker {
    pthread_t thread{};
    meeting* place = nullptr;
    long steps = 0;
    long rounds = 0;
    std::uint64_t value = 0;
};

void* work(void* given) {
    auto& own = *static_cast<worker*>(given);
    for (long round = 0; round < own.rounds; ++round) {
        for (long step = 0; step < own.steps; ++step)
            own.value = own.value * 6364136223846793005U + 1442695040888963407U;
        own.place->wait();
    }
    return nullptr;
}

}  // namespace

int main(int count, char** values) {
    const bool spins = count == 5 && std::string_view(values[4]) == "spins";
    if (count != 4 && !spins) {
        std::fprintf(stderr, "usage: tauto-bench-barrier-loop STEPS ROUNDS THREADS [spins]\n");
        return 2;
    }
    const long threads = std::atol(values[3]);
    meeting place(threads, spins);
    std::vector<worker> workers(static_cast<std::size_t>(threads));
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        worker& one = workers[i];
        one.place = &place;
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
