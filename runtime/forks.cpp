#include "forks.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "pinning.hpp"

namespace tauto::detail {

constinit std::atomic<unsigned> fork_generations{0};

namespace {

constinit process_locks locks;

void before_fork() {
    locks.start.lock();
    locks.cores.lock();
    locks.copies.lock();
    locks.pins.lock();
    note_forking_thread();
    locks.notes.lock();
    locks.rooms.lock();
}

void after_fork() {
    locks.rooms.unlock();
    locks.notes.unlock();
    locks.pins.unlock();
    locks.copies.unlock();
    locks.cores.unlock();
    locks.start.unlock();
}

void after_fork_in_child() {
    fork_generations.fetch_add(1, std::memory_order_relaxed);
    take_pins_into_child();
    after_fork();
}

// Constructed at load time, so that no fork can come before it.
const int fork_handler = pthread_atfork(&before_fork, &after_fork, &after_fork_in_child);

}  // namespace

void end_copy_of_member() noexcept {
    std::fputs(
        "tautochrone: a body forked and returned in the child, where the other members do not exist; leave "
        "the "
        "child with _exit or exec\n",
        stderr);
    _exit(EXIT_FAILURE);
}

process_locks& locks_of_process() noexcept {
    return locks;
}

}  // namespace tauto::detail
