#include "balance/paces.hpp"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "balance/hold.hpp"
#include "balance/promptness.hpp"

namespace tauto::balance {

namespace {

constexpr nanoseconds sample_for = 500'000;  // of CPU time
constexpr auto every = std::chrono::milliseconds(500);
constexpr auto soon = std::chrono::milliseconds(20);
constexpr auto at_once = std::chrono::milliseconds(2);
constexpr int steps_of_a_block = 2'000;  // some 3 us

}  // namespace

bool probe_one(int cpu, nanoseconds length, for_so_long by, probed& into) {
    const cpu_set_t only = only_on(static_cast<std::uint32_t>(cpu));
    const bool is_there = pthread_setaffinity_np(pthread_self(), sizeof only, &only) == 0;
    volatile std::uint64_t keep = 1;
    std::uint64_t value = keep;
    const nanoseconds began = timer::now();
    const nanoseconds began_processor = timer::processor_time();
    const auto passed = [&] {
        return by == for_so_long::wall ? timer::now() - began : timer::processor_time() - began_processor;
    };
    for (; passed() < length; ++into.blocks)
        for (int i = 0; i < steps_of_a_block; ++i)
            value = value * 6364136223846793005U + 1442695040888963407U;
    keep = value;
    into.wall += static_cast<double>(timer::now() - began);
    into.processor += static_cast<double>(timer::processor_time() - began_processor);
    return is_there;
}

paces::paces(std::vector<int> cpus) : cpus_(std::move(cpus)), thread_([this] { run(); }) {}

paces::~paces() {
    {
        const std::lock_guard lock(mutex_);
        over_ = true;
    }
    wakes_.notify_one();
    thread_.join();
}

std::vector<paces::sample> paces::take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(samples_, {});
}

void paces::hurry() {
    {
        const std::lock_guard lock(mutex_);
        hurried_ = cpus_.size();
    }
    wakes_.notify_one();
}

nanoseconds paces::spent() {
    const std::lock_guard lock(mutex_);
    return static_cast<nanoseconds>(spent_);
}

void paces::run() {
    const patience always;
    std::vector<double> last(cpus_.size());
    bool again = false;  // what differs from the last time is looked at once more, and soon
    std::size_t next = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
        const bool hurries = hurried_ > 0;
        const auto span = again ? soon : hurries ? at_once : every;
        wakes_.wait_for(lock, span, [&] { return over_ || (!hurries && hurried_ > 0); });
        if (over_) return;
        lock.unlock();
        probed seen;
        const bool is_of_it = probe_one(cpus_[next], sample_for, for_so_long::processor, seen);
        lock.lock();
        spent_ += seen.processor;
        if (is_of_it) samples_.push_back({next, seen.pace()});
        const double before = std::exchange(last[next], is_of_it ? seen.pace() : 0.0);
        const bool differs = std::max(before, last[next]) > changed_pace * std::min(before, last[next]);
        again = !again && last[next] > 0 && (before > 0 ? differs : hurries);
        if (again) continue;
        next = (next + 1) % cpus_.size();
        if (hurried_ > 0) --hurried_;
    }
}

}  // namespace tauto::balance
