#pragma once
// What the compiler's and the linker's calls ask of the explorer (hooks.cpp).

#include <cstddef>
#include <cstdint>

#include "explorer.hpp"

namespace explorer {

// True while a program is explored and one of its threads runs.
bool exploring() noexcept;

// While it lives, what the explorer itself does is not explored.
class own_work {
  public:
    // `asked_from`: the place in the program, for reports.
    explicit own_work(const void* asked_from = nullptr) noexcept;
    ~own_work();
    own_work(const own_work&) = delete;
    own_work& operator=(const own_work&) = delete;
};

void access(const volatile void* address, std::size_t size, bool write);
void forget(const volatile void* address, std::size_t size);
void freed(const volatile void* address, std::size_t size);

std::uint64_t atomic_load(const volatile void* address, std::size_t size, order how);
void atomic_store(volatile void* address, std::size_t size, std::uint64_t value, order how);
// With operation exchange or add. Returns the value before.
std::uint64_t atomic_change(volatile void* address, std::size_t size, operation what, std::uint64_t value,
                            order how);
bool atomic_compare_exchange(volatile void* address, std::size_t size, std::uint64_t& expected,
                             std::uint64_t value, bool weak, order how, order failing);
void atomic_fence(order how);

// As the system calls and functions of these names.
int futex_wait(const void* word, std::uint32_t expected);
int futex_wake(const void* word, int most);
void lock(const void* mutex);
bool try_lock(const void* mutex);
// False: the time was over, whenever the explorer wants.
bool lock_in_time(const void* mutex);
void unlock(const void* mutex);
// As a condition variable of which each has one waiter. False: the time was over, whenever the explorer
// wants.
bool wait_on(const void* condition, const void* mutex);
void tell_one(const void* condition);
std::uintptr_t start_thread(void* (*run)(void*), void* argument);
void join_thread(std::uintptr_t thread);
void end_other_threads();
int this_thread() noexcept;
std::int64_t clock_ticks();
void yield();

}  // namespace explorer
