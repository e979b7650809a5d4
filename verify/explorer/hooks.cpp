// Where the compiler, with -fsanitize=thread, and the linker, with --wrap, hand a program over to the
// explorer. Nothing here is explored itself.

#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "engine.hpp"

using namespace explorer;

// Plain memory.
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define TAUTO_ACCESS(name, size, write)                   \
    void __tsan_##name(void* address) {                   \
        if (!exploring()) return;                         \
        const own_work mine(__builtin_return_address(0)); \
        access(address, size, write);                     \
    }
#define TAUTO_ACCESSES(size)                        \
    TAUTO_ACCESS(read##size, size, false)           \
    TAUTO_ACCESS(write##size, size, true)           \
    TAUTO_ACCESS(unaligned_read##size, size, false) \
    TAUTO_ACCESS(unaligned_write##size, size, true)
TAUTO_ACCESSES(1)
TAUTO_ACCESSES(2)
TAUTO_ACCESSES(4)
TAUTO_ACCESSES(8)
TAUTO_ACCESSES(16)

void __tsan_read_range(void* address, unsigned long size) {
    if (!exploring() || size == 0) return;
    const own_work mine(__builtin_return_address(0));
    access(address, size, false);
}
void __tsan_write_range(void* address, unsigned long size) {
    if (!exploring() || size == 0) return;
    const own_work mine(__builtin_return_address(0));
    access(address, size, true);
}

void* __real_memcpy(void*, const void*, size_t);
void* __real_memmove(void*, const void*, size_t);
void* __real_memset(void*, int, size_t);
void* __wrap_memcpy(void* to, const void* from, size_t size) {
    __tsan_read_range(const_cast<void*>(from), size);
    __tsan_write_range(to, size);
    return __real_memcpy(to, from, size);
}
void* __wrap_memmove(void* to, const void* from, size_t size) {
    __tsan_read_range(const_cast<void*>(from), size);
    __tsan_write_range(to, size);
    return __real_memmove(to, from, size);
}
void* __wrap_memset(void* to, int byte, size_t size) {
    __tsan_write_range(to, size);
    return __real_memset(to, byte, size);
}

// Atomic variables.
#define TAUTO_ATOMICS(bits, type)                                                                            \
    type __tsan_atomic##bits##_load(const volatile type* at, int how) {                                      \
        if (!exploring()) return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                      \
        const own_work mine(__builtin_return_address(0));                                                    \
        return static_cast<type>(atomic_load(at, sizeof(type), static_cast<order>(how)));                    \
    }                                                                                                        \
    void __tsan_atomic##bits##_store(volatile type* at, type value, int how) {                               \
        if (!exploring()) return __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                              \
        const own_work mine(__builtin_return_address(0));                                                    \
        atomic_store(at, sizeof(type), value, static_cast<order>(how));                                      \
    }                                                                                                        \
    type __tsan_atomic##bits##_exchange(volatile type* at, type value, int how) {                            \
        if (!exploring()) return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                           \
        const own_work mine(__builtin_return_address(0));                                                    \
        return static_cast<type>(atomic_change(at, sizeof(type), exchange, value, static_cast<order>(how))); \
    }                                                                                                        \
    type __tsan_atomic##bits##_fetch_add(volatile type* at, type value, int how) {                           \
        if (!exploring()) return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                            \
        const own_work mine(__builtin_return_address(0));                                                    \
        return static_cast<type>(atomic_change(at, sizeof(type), add, value, static_cast<order>(how)));      \
    }                                                                                                        \
    type __tsan_atomic##bits##_fetch_sub(volatile type* at, type value, int how) {                           \
        return __tsan_atomic##bits##_fetch_add(at, static_cast<type>(-value), how);                          \
    }                                                                                                        \
    static bool compare_exchange_##bits(volatile type* at, type* expected, type value, bool weak, int how,   \
                                        int failing) {                                                       \
        if (!exploring())                                                                                    \
            return __atomic_compare_exchange_n(at, expected, value, weak, __ATOMIC_SEQ_CST,                  \
                                               __ATOMIC_SEQ_CST);                                            \
        const own_work mine(__builtin_return_address(0));                                                    \
        std::uint64_t wanted = *expected;                                                                    \
        const bool done = atomic_compare_exchange(at, sizeof(type), wanted, value, weak,                     \
                                                  static_cast<order>(how), static_cast<order>(failing));     \
        *expected = static_cast<type>(wanted);                                                               \
        return done;                                                                                         \
    }                                                                                                        \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile type* at, type* expected, type value,        \
                                                       int how, int failing) {                               \
        return compare_exchange_##bits(at, expected, value, false, how, failing);                            \
    }                                                                                                        \
    bool __tsan_atomic##bits##_compare_exchange_weak(volatile type* at, type* expected, type value, int how, \
                                                     int failing) {                                          \
        return compare_exchange_##bits(at, expected, value, true, how, failing);                             \
    }                                                                                                        \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type* at, type expected, type value, int how,   \
                                                    int failing) {                                           \
        compare_exchange_##bits(at, &expected, value, false, how, failing);                                  \
        return expected;                                                                                     \
    }
TAUTO_ATOMICS(8, std::uint8_t)
TAUTO_ATOMICS(16, std::uint16_t)
TAUTO_ATOMICS(32, std::uint32_t)
TAUTO_ATOMICS(64, std::uint64_t)

void __tsan_atomic_thread_fence(int how) {
    if (!exploring()) return __atomic_thread_fence(__ATOMIC_SEQ_CST);
    const own_work mine(__builtin_return_address(0));
    atomic_fence(static_cast<order>(how));
}

// Threads, locks, sleeps.
int __real_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int __wrap_pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                          void* argument) {
    if (!exploring()) return __real_pthread_create(thread, attributes, run, argument);
    access(thread, sizeof *thread, true);
    const own_work mine;
    *thread = start_thread(run, argument);
    return 0;
}
int __real_pthread_join(pthread_t, void**);
int __wrap_pthread_join(pthread_t thread, void** result) {
    if (!exploring()) return __real_pthread_join(thread, result);
    const own_work mine;
    join_thread(thread);
    return 0;
}
pthread_t __real_pthread_self();
pthread_t __wrap_pthread_self() {
    return exploring() ? static_cast<pthread_t>(this_thread()) : __real_pthread_self();
}
int __wrap_pthread_setname_np(pthread_t, const char*) {
    return 0;
}
int __real_pthread_mutex_lock(pthread_mutex_t*);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
    if (!exploring()) return __real_pthread_mutex_lock(mutex);
    const own_work mine;
    lock(mutex);
    return 0;
}
int __real_pthread_mutex_trylock(pthread_mutex_t*);
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
    if (!exploring()) return __real_pthread_mutex_trylock(mutex);
    const own_work mine;
    return try_lock(mutex) ? 0 : EBUSY;
}
int __real_pthread_mutex_timedlock(pthread_mutex_t*, const timespec*);
int __wrap_pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) {
    if (!exploring()) return __real_pthread_mutex_timedlock(mutex, until);
    const own_work mine;
    return lock_in_time(mutex) ? 0 : ETIMEDOUT;
}
int __real_pthread_mutex_unlock(pthread_mutex_t*);
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
    if (!exploring()) return __real_pthread_mutex_unlock(mutex);
    const own_work mine;
    unlock(mutex);
    return 0;
}
int __real_pthread_cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*);
int __wrap_pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
    if (!exploring()) return __real_pthread_cond_timedwait(condition, mutex, until);
    const own_work mine;
    return wait_on(condition, mutex) ? 0 : ETIMEDOUT;
}
// std::condition_variable::notify_one, whose text is in the C++ library.
void __real__ZNSt18condition_variable10notify_oneEv(void*);
void __wrap__ZNSt18condition_variable10notify_oneEv(void* condition) {
    if (!exploring()) return __real__ZNSt18condition_variable10notify_oneEv(condition);
    const own_work mine;
    tell_one(condition);
}
int __real_sched_yield();
int __wrap_sched_yield() {
    if (!exploring()) return __real_sched_yield();
    const own_work mine;
    yield();
    return 0;
}
struct fork_handlers {
    void (*before)();
    void (*parent)();
    void (*child)();
};
static fork_handlers at_fork[8];
static std::size_t at_fork_used;
int __wrap_pthread_atfork(void (*before)(), void (*parent)(), void (*child)()) {
    if (at_fork_used == std::size(at_fork)) std::abort();
    at_fork[at_fork_used++] = {before, parent, child};
    return 0;
}
long __real_syscall(long, ...);
long __wrap_syscall(long number, ...) {
    va_list arguments;
    va_start(arguments, number);
    long given[6];
    for (long& one : given) one = va_arg(arguments, long);
    va_end(arguments);
    if (!exploring())
        return __real_syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
    const auto* word = reinterpret_cast<const void*>(given[0]);
    const int what = static_cast<int>(given[1]) & FUTEX_CMD_MASK;
    const own_work mine;
    if (number == SYS_gettid) return 1000 + this_thread();
    if (number == SYS_futex && what == FUTEX_WAIT)
        return futex_wait(word, static_cast<std::uint32_t>(given[2]));
    if (number == SYS_futex && what == FUTEX_WAKE) return futex_wake(word, static_cast<int>(given[2]));
    check(false, "a system call that the explorer does not know");
    return -1;
}

// Memory that comes and goes.
void* __real___cxa_allocate_exception(size_t);
void* __wrap___cxa_allocate_exception(size_t size) {
    void* const made = __real___cxa_allocate_exception(size);
    if (exploring()) forget(made, size);
    return made;
}

}  // extern "C"

void explorer::fork_into_child() {
    for (std::size_t i = at_fork_used; i > 0; --i) {
        if (at_fork[i - 1].before != nullptr) at_fork[i - 1].before();
    }
    end_other_threads();
    for (const fork_handlers& one : at_fork) {
        if (one.child != nullptr) one.child();
    }
}

namespace tauto::detail {
std::int64_t ticks() noexcept {
    if (!exploring()) return 0;
    const own_work mine;
    return clock_ticks();
}
}  // namespace tauto::detail

namespace {

void* allocate(std::size_t size, std::size_t alignment) {
    void* made = nullptr;
    if (posix_memalign(&made, alignment, size) != 0) throw std::bad_alloc();
    if (exploring()) {
        const own_work mine;
        forget(made, malloc_usable_size(made));
    }
    return made;
}

void release_memory(void* memory) noexcept {
    if (memory != nullptr && exploring()) {
        const own_work mine;
        freed(memory, malloc_usable_size(memory));
    }
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) {
    return allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
    release_memory(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    release_memory(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
    release_memory(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
    release_memory(memory);
}
