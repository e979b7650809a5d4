// B2's yardstick: the round trip of one cache line there and one back between two pinned threads. No launch
// and join can be faster than that. With PAUSE between two looks, or without: the suite takes the faster.

#include <atomic>
#include <thread>

#include "benchmarks/programs/program.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

using namespace tauto::bench;

constexpr std::uint32_t trips_a_batch = 100;

// 128: neighbouring lines are fetched in pairs on current Intel CPUs.
struct alignas(128) line {
    std::atomic<std::uint32_t> value{0};
};

void relax() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

template <bool Pause>
void wait_for(const line& answer, std::uint32_t wanted) {
    while (answer.value.load(std::memory_order_acquire) != wanted) {
        if constexpr (Pause) relax();
    }
}

template <bool Pause>
std::vector<double> round_trips(const options& asked) {
    constexpr std::uint32_t last = 0;
    line there;
    line back;
    std::atomic<bool> ready{false};
    std::thread echo([&] {
        tauto::runner::pin_to(std::span(asked.cpus).subspan(1, 1));
        ready = true;
        for (std::uint32_t seen = 0;;) {
            std::uint32_t ticket;
            while ((ticket = there.value.load(std::memory_order_acquire)) == seen) {
                if constexpr (Pause) relax();
            }
            back.value.store(ticket, std::memory_order_release);
            seen = ticket;
            if (ticket == last) return;
        }
    });
    tauto::runner::pin_to(std::span(asked.cpus).first(1));
    while (!ready) relax();
    std::uint32_t ticket = 0;
    const auto trip = [&] {
        ticket = ticket + 1 == last ? last + 1 : ticket + 1;
        there.value.store(ticket, std::memory_order_release);
        wait_for<Pause>(back, ticket);
    };
    std::vector<double> batches = batch_seconds(asked, trips_a_batch, trip);
    there.value.store(last, std::memory_order_release);
    echo.join();
    return batches;
}

}  // namespace

int main(int argc, char** argv) {
    bool pause = false;
    return run_program(
        argc, argv, "tauto-bench-round-trip", "Time of a round trip between two pinned threads.",
        [&](arguments& app) { app.flag("--pause", pause, "PAUSE between two looks at the line"); },
        [&](const options& asked) {
            if (asked.cpus.size() != 2) throw input_error("a round trip needs two CPUs, such as --cpus 0,1");
            json row = timed(pause ? round_trips<true>(asked) : round_trips<false>(asked));
            row["library"] = "none";
            row["pause"] = pause;
            return row;
        });
}
