#include "forks.hpp"

#include <pthread.h>

#include <atomic>

namespace tauto::detail {
namespace {

std::atomic<unsigned> fork_generations{0};

// Constructed at load time, so that no fork can come before it.
const int fork_handler =
    pthread_atfork(nullptr, nullptr, [] { fork_generations.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned current_fork_generation() noexcept {
    return fork_generations.load(std::memory_order_relaxed);
}

}  // namespace tauto::detail
