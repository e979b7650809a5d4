#include "probe/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

#include <tauto/error.hpp>
#include <tauto/wait.hpp>

namespace tauto::probe {

void move_this_thread(int cpu) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(cpu) + 1);
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpu) + 1);
    CPU_ZERO_S(bytes, set);
    CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
    const int failure = pthread_setaffinity_np(pthread_self(), bytes, set);
    CPU_FREE(set);
    if (failure == 0) return;
    throw error("a thread could not be pinned to CPU " + std::to_string(cpu) + " (" + std::strerror(failure) +
                "); the CPUs of this process have changed, so start again");
}

void run_pinned(const std::vector<int>& cpus, const std::function<void(int rank)>& task) {
    const int count = static_cast<int>(cpus.size());
    std::atomic<int> ready{0};
    std::atomic<bool> abandoned{false};
    std::mutex first;
    std::exception_ptr failure;
    const auto keep_failure = [&] {
        const std::lock_guard lock(first);
        if (!failure) failure = std::current_exception();
    };
    const auto member = [&](int rank) {
        try {
            const int cpu = cpus[static_cast<std::size_t>(rank)];
            try {
                move_this_thread(cpu);
            } catch (...) {
                abandoned = true;
                ++ready;
                throw;
            }
            ++ready;
            // The threads spin until the last one is created and moved.
            while (ready.load() < count) detail::relax();
            if (!abandoned) task(rank);
        } catch (...) {
            keep_failure();
        }
    };
    std::vector<std::thread> threads;
    try {
        for (int rank = 0; rank < count; ++rank) threads.emplace_back(member, rank);
    } catch (const std::system_error& refused) {
        abandoned = true;
        ready += count;
        for (std::thread& thread : threads) thread.join();
        throw error("no thread could be started for CPU " + std::to_string(cpus[threads.size()]) + ": " +
                    refused.what() + "; raise the limit on processes (ulimit -u, pids.max)");
    }
    for (std::thread& thread : threads) thread.join();
    if (failure) std::rethrow_exception(failure);
}

double quantile(std::vector<double> values, double p) {
    std::sort(values.begin(), values.end());
    const double position = p * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    const double part = position - std::floor(position);
    return values[below] + part * (values[above] - values[below]);
}

}  // namespace tauto::probe
