#pragma once
// Threads that stay on one CPU each, and the arithmetic of repeated timings.

#include <chrono>
#include <functional>
#include <vector>

namespace tauto::probe {

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs task(rank) on one thread for each CPU, all started together, and waits. The caller is not pinned.
// Rethrows the first exception. Throws tauto::error, before any task starts, if a CPU cannot be used.
void run_pinned(const std::vector<int>& cpus, const std::function<void(int rank)>& task);

// The calling thread goes to this CPU and stays there. Throws tauto::error if it cannot be used.
void move_this_thread(int cpu);

// p from 0 to 1; the values must not be empty.
double quantile(std::vector<double> values, double p);
inline double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

// The compiler must assume that the value is used and changed.
template <class T>
void keep(T& value) {
    asm volatile("" : "+m"(value) : : "memory");
}

// Median rate of `batches` batches that together take about `seconds`; step() does some work and returns its
// amount. A first batch warms up and is not counted. If other programs take the CPU, it ends after a quarter
// more time with fewer batches, but at least three.
template <class Step, class Clock = double (*)()>
double median_rate(double seconds, int batches, Step&& step, Clock&& now = seconds_now) {
    const double batch_seconds = seconds / (batches + 1);
    const double begun = now();
    std::vector<double> rates;
    for (int batch = 0; batch <= batches; ++batch) {
        if (batch > 3 && now() - begun > 1.25 * seconds) break;
        const double start = now();
        double work = 0;
        double elapsed = 0;
        do {
            work += step();
            elapsed = now() - start;
        } while (elapsed < batch_seconds);
        if (batch > 0) rates.push_back(work / elapsed);
    }
    return median(std::move(rates));
}

}  // namespace tauto::probe
