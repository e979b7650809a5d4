#include "balance/threads.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <limits>

#include "balance/placing.hpp"
#include "balance/preload.hpp"

namespace tauto::balance {

namespace {

constexpr std::size_t most_a_cpu = 5;
constexpr std::array<double, 3> may_be{0.85, 1.0, 1.15};  // of what the slow CPUs are said to do
constexpr double a_thread_costs = 0.004;                  // of the time: it is woken up for each loop
constexpr double worth_adding = 0.05;
constexpr double worth_leaving_out = 1.15;  // so much more is done without the slow CPUs
constexpr char variable[] = "OMP_NUM_THREADS";
constexpr char openblas_variable[] = "OPENBLAS_NUM_THREADS";

std::vector<std::string> set_to(const char* name, std::size_t threads) {
    const std::string value = std::to_string(threads);
    setenv(name, value.c_str(), 1);
    return {name + ("=" + value)};
}

}  // namespace

double time_of(std::size_t threads, std::span<const double> speeds) {
    std::vector<std::size_t> on(speeds.size());
    // Each goes where it is done first.
    for (std::size_t k = 0; k < threads; ++k) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < speeds.size(); ++i)
            if (static_cast<double>(on[i] + 1) / speeds[i] < static_cast<double>(on[best] + 1) / speeds[best])
                best = i;
        ++on[best];
    }
    double last = 0;
    for (std::size_t i = 0; i < speeds.size(); ++i)
        last = std::max(last, static_cast<double>(on[i]) / speeds[i]);
    return last * std::ranges::max(speeds) / static_cast<double>(threads);
}

std::size_t threads_for(std::span<const double> speeds) {
    if (speeds.size() < 2) return speeds.size();
    const double fast = std::ranges::max(speeds);
    if (fast < same_speed * std::ranges::min(speeds)) return speeds.size();
    double least = std::numeric_limits<double>::infinity();
    double as_many_as_cpus = 0;
    std::size_t best = speeds.size();
    std::vector<double> guessed(speeds.size());
    for (std::size_t threads = speeds.size(); threads <= most_a_cpu * speeds.size(); ++threads) {
        double sum = 0;
        for (const double part : may_be) {
            std::ranges::transform(speeds, guessed.begin(),
                                   [&](double one) { return one * same_speed > fast ? one : part * one; });
            sum += time_of(threads, guessed);
        }
        const double time = sum / may_be.size() + a_thread_costs * static_cast<double>(threads) /
                                                      static_cast<double>(speeds.size());
        if (threads == speeds.size()) as_many_as_cpus = time;
        if (time < least) {
            least = time;
            best = threads;
        }
    }
    return least < (1 - worth_adding) * as_many_as_cpus ? best : speeds.size();
}

std::vector<std::string> set_threads(const std::string& program, const speeds& cpus) {
    if (std::getenv(variable) != nullptr || !needs_library(program, "libgomp.so")) return {};
    const std::size_t threads = cpus.one_is_slow_by_itself() ? threads_for(cpus.per_second()) : cpus.size();
    if (threads == cpus.size()) return {};
    return set_to(variable, threads);
}

std::size_t spinning_threads_for(std::span<const double> speeds) {
    std::vector<double> fastest_first(speeds.begin(), speeds.end());
    std::ranges::sort(fastest_first, std::greater<>());
    if (fastest_first.empty()) return 0;
    const auto done = [&](std::size_t threads) {
        return static_cast<double>(threads) * fastest_first[threads - 1];
    };
    std::size_t best = speeds.size();
    for (std::size_t threads = speeds.size() - 1; threads >= 1; --threads)
        if (done(threads) > done(best)) best = threads;
    return done(best) > worth_leaving_out * done(speeds.size()) ? best : speeds.size();
}

std::vector<std::string> set_openblas_threads(const speeds& cpus) {
    for (const char* chosen : {openblas_variable, "GOTO_NUM_THREADS", variable})
        if (std::getenv(chosen) != nullptr) return {};
    const std::size_t threads =
        cpus.one_is_slow_by_itself() ? spinning_threads_for(cpus.per_second()) : cpus.size();
    if (threads == cpus.size()) return {};
    return set_to(openblas_variable, threads);
}

}  // namespace tauto::balance
