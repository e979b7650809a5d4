#include "probe/latency.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include <tauto/wait.hpp>

#include "probe/threads.hpp"

namespace tauto::probe {
namespace {

struct alignas(128) line {
    std::atomic<std::uint32_t> value{0};
};

template <bool Pause>
void wait_for(const line& answer, std::uint32_t wanted) {
    while (answer.value.load(std::memory_order_acquire) != wanted) {
        if constexpr (Pause) detail::relax();
    }
}

// 30 us for each batch: most batches end without an interruption, so the median is undisturbed.
constexpr std::uint32_t trips_a_batch = 100;

template <bool Pause>
double one_round_trip(int first, int second, double seconds) {
    line there;
    line back;
    std::atomic<bool> enough{false};
    std::vector<double> trips;
    run_pinned({first, second}, [&](int rank) {
        const double begun = seconds_now();
        std::uint32_t ticket = 0;
        while (!enough) {
            const double start = seconds_now();
            for (std::uint32_t i = 0; i < trips_a_batch; ++i) {
                ++ticket;
                if (rank == 0) {
                    // The last ticket of the last batch must say that it is the last.
                    if (i + 1 == trips_a_batch && trips.size() >= 50 && start - begun > seconds)
                        enough = true;
                    there.value.store(ticket, std::memory_order_release);
                    wait_for<Pause>(back, ticket);
                } else {
                    wait_for<Pause>(there, ticket);
                    back.value.store(ticket, std::memory_order_release);
                }
            }
            if (rank == 0) trips.push_back((seconds_now() - start) / trips_a_batch);
        }
    });
    trips.erase(trips.begin());  // the caches and the clock were cold
    return median(trips);
}

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
    return syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

double round_trip_seconds(int first, int second, double seconds) {
    return std::min(one_round_trip<false>(first, second, seconds / 2),
                    one_round_trip<true>(first, second, seconds / 2));
}

futex_measurement measure_futex_wake(int waker, int sleeper, int wakes) {
    constexpr double asleep_seconds = 1e-4;
    line word;
    line going_to_sleep;
    std::atomic<double> woken{0};
    line answered;
    std::vector<double> calls;
    std::vector<double> latencies;
    run_pinned({waker, sleeper}, [&](int rank) {
        for (std::uint32_t turn = 1; turn <= static_cast<std::uint32_t>(wakes); ++turn) {
            if (rank == 1) {
                going_to_sleep.value.store(turn, std::memory_order_release);
                while (word.value.load(std::memory_order_acquire) != turn)
                    futex(word.value, FUTEX_WAIT_PRIVATE, turn - 1);
                woken = seconds_now();
                answered.value.store(turn, std::memory_order_release);
                continue;
            }
            wait_for<true>(going_to_sleep, turn);
            const double announced = seconds_now();
            while (seconds_now() - announced < asleep_seconds) detail::relax();
            const double start = seconds_now();
            word.value.store(turn, std::memory_order_release);
            const long count = futex(word.value, FUTEX_WAKE_PRIVATE, 1);
            const double end = seconds_now();
            wait_for<true>(answered, turn);
            if (count != 1) continue;  // the sleeper was not asleep yet
            calls.push_back(end - start);
            latencies.push_back(woken.load() - start);
        }
    });
    if (calls.empty()) return {};
    return {median(calls), median(latencies)};
}

double barrier_seconds(const std::vector<int>& cpus, double seconds) {
    const auto members = static_cast<std::uint32_t>(cpus.size());
    line arrived;
    line phase;
    std::atomic<bool> enough{false};
    std::vector<double> times;
    run_pinned(cpus, [&](int rank) {
        const double begun = seconds_now();
        std::uint32_t turn = 0;
        while (!enough) {
            const double start = seconds_now();
            for (std::uint32_t i = 0; i < trips_a_batch; ++i) {
                ++turn;
                if (rank == 0 && i + 1 == trips_a_batch && times.size() >= 50 && start - begun > seconds)
                    enough = true;
                if (arrived.value.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
                    arrived.value.store(0, std::memory_order_relaxed);
                    phase.value.store(turn, std::memory_order_release);
                } else {
                    wait_for<false>(phase, turn);
                }
            }
            if (rank == 0) times.push_back((seconds_now() - start) / trips_a_batch);
        }
    });
    times.erase(times.begin());
    return median(times);
}

}  // namespace tauto::probe
