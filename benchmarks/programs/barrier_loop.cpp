// Threads that work and then wait for each other: it knows nothing of unequal CPUs.
// tauto-bench-barrier-loop STEPS ROUNDS THREADS [WAITS]: a round has STEPS steps in all. They wait in a
// barrier of pthreads (barrier), C++20's (std), at a condition (condition), or look at memory again and again
// (spins). Or they end with each round, and others are started for the next one (ends). Prints its seconds
// and a number that depends on all of the work.

#include <pthread.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

class meeting {
  public:
    meeting(long threads, const std::string& waits)
        : threads_(threads), wait_(ways().at(waits)), of_cpp_(threads) {
        pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(threads));
    }

    using way = void (meeting::*)();
    static const std::map<std::string, way>& ways() {
        static const std::map<std::string, way> all{{"barrier", &meeting::wait_in_pthreads},
                                                    {"std", &meeting::wait_in_cpp},
                                                    {"condition", &meeting::wait_at_condition},
                                                    {"spins", &meeting::spin},
                                                    {"ends", &meeting::go_on}};
        return all;
    }

    void wait() { (this->*wait_)(); }

  private:
    void go_on() {}

    void wait_in_pthreads() { pthread_barrier_wait(&barrier_); }

    void wait_in_cpp() { of_cpp_.arrive_and_wait(); }

    void wait_at_condition() {
        std::unique_lock hold(mutex_);
        const long before = round_;
        if (++came_ == threads_) {
            came_ = 0;
            round_ = before + 1;
            condition_.notify_all();
        }
        condition_.wait(hold, [&] { return round_ != before; });
    }

    void spin() {
        const long before = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(before + 1, std::memory_order_release);
        } else {
            while (round_.load(std::memory_order_acquire) == before) {
            }
        }
    }

    long threads_;
    way wait_;
    pthread_barrier_t barrier_;
    std::barrier<> of_cpp_;
    std::mutex mutex_;
    std::condition_variable condition_;
    long came_ = 0;
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

void run(std::vector<worker>& workers) {
    for (worker& one : workers) pthread_create(&one.thread, nullptr, work, &one);
    for (worker& one : workers) pthread_join(one.thread, nullptr);
}

}  // namespace

int main(int count, char** values) {
    const std::string waits = count == 5 ? values[4] : "barrier";
    if ((count != 4 && count != 5) || !meeting::ways().contains(waits)) {
        std::fprintf(stderr,
                     "usage: tauto-bench-barrier-loop STEPS ROUNDS THREADS "
                     "[barrier|std|condition|spins|ends]\n");
        return 2;
    }
    const long rounds = std::atol(values[2]);
    const long threads = std::atol(values[3]);
    const bool ends = waits == "ends";
    meeting place(threads, waits);
    std::vector<worker> workers(static_cast<std::size_t>(threads));
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < workers.size(); ++i) {
        worker& one = workers[i];
        one.place = &place;
        one.steps = std::atol(values[1]) / threads;
        one.rounds = ends ? 1 : rounds;
        one.value = i;
    }
    for (long round = 0; round < (ends ? rounds : 1); ++round) run(workers);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::uint64_t all = 0;
    for (const worker& one : workers) all ^= one.value;
    std::printf("%.6f %016llx\n", took.count(), static_cast<unsigned long long>(all));
}
