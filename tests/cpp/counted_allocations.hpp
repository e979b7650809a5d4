#pragma once
// Counts what a program of one source file allocates with new.

#include <atomic>
#include <cstdlib>
#include <new>

inline constinit std::atomic<int> allocations{0};
inline thread_local constinit int allocations_of_this_thread = 0;

// Not inlined: where a compiler sees malloc and free through them, it takes them for a pair that does not
// match operator new.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    allocations.fetch_add(1, std::memory_order_relaxed);
    ++allocations_of_this_thread;
    return std::malloc(size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
    if (void* const memory = operator new(size, std::nothrow)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}
