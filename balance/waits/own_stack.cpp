#include "balance/waits/own_stack.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAUTO_SANITIZED 1
#endif

#if defined(TAUTO_SANITIZED)
// Weak: one of the two sanitizers is there.
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** kept, const void* bottom, std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* kept, const void** bottom, std::size_t* size);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}
#endif

// The exceptions that a thread has caught and not yet left; of the C++ ABI. None where the program has no
// C++.
struct caught_exceptions {
    void* caught;
    unsigned uncaught;
};
extern "C" [[gnu::weak]] caught_exceptions* __cxa_get_globals() noexcept;

namespace tauto::balance {

namespace {

// Of a thread. What is left may go on on another one, so no function knows their place from before.
[[gnu::noinline]] void exchange_exceptions(caught_exceptions& kept) noexcept {
    if (__cxa_get_globals != nullptr) std::swap(*__cxa_get_globals(), kept);
}
[[gnu::noinline]] int read_errno() noexcept {
    return errno;
}
[[gnu::noinline]] void write_errno(int value) noexcept {
    errno = value;
}

constexpr std::size_t least_size = 256 << 10;
constexpr std::size_t usual_size = 8 << 20;

// Of a stack that a new thread would have.
std::size_t size_of_stacks() noexcept {
    pthread_attr_t usual;
    std::size_t size = 0;
    if (pthread_getattr_default_np(&usual) != 0) return usual_size;
    pthread_attr_getstacksize(&usual, &size);
    pthread_attr_destroy(&usual);
    return std::max(size, least_size);
}

}  // namespace

struct own_stack::kept {
    // What the sanitizers have to be told of a change of stacks.
    struct view {
#if defined(TAUTO_SANITIZED)
        const void* bottom = nullptr;
        std::size_t size = 0;
        void* fiber = nullptr;

        static void before(void** kept, const view& to) noexcept {
            if (__sanitizer_start_switch_fiber != nullptr)
                __sanitizer_start_switch_fiber(kept, to.bottom, to.size);
            if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(to.fiber, 0);
        }
        static void after(void* kept, view* from) noexcept {
            if (__sanitizer_finish_switch_fiber == nullptr) return;
            __sanitizer_finish_switch_fiber(kept, from == nullptr ? nullptr : &from->bottom,
                                            from == nullptr ? nullptr : &from->size);
        }
#else
        static void before(void**, const view&) noexcept {}
        static void after(void*, view*) noexcept {}
#endif
    };

    ucontext_t inside;
    ucontext_t outside;
    void* memory;
    std::size_t size;
    void (*code)(void*);
    void* data;
    bool has_returned;
    caught_exceptions exceptions;  // of what runs inside; while it does, of the thread below
    view seen_inside;
    view seen_outside;
    void* left;  // by a sanitizer, of what runs inside
};

bool own_stack::make() noexcept {
    if (kept_ != nullptr) return true;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t size = (size_of_stacks() + page - 1) / page * page;
    void* const memory = mmap(nullptr, size + page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return false;
    if (mprotect(memory, page, PROT_NONE) != 0) {
        munmap(memory, size + page);
        return false;
    }
    auto* const lowest = static_cast<std::byte*>(memory) + page;
    const std::size_t room = (size - sizeof(kept)) / alignof(std::max_align_t) * alignof(std::max_align_t);
    kept_ = ::new (lowest + room) kept{};
    kept_->memory = lowest;
    kept_->size = room;
    return true;
}

// makecontext() passes words of 32 bits alone.
void own_stack::run(unsigned low, unsigned high) noexcept {
    auto& self =
        *reinterpret_cast<kept*>(static_cast<std::uintptr_t>(low) | static_cast<std::uintptr_t>(high) << 32);
    kept::view::after(nullptr, &self.seen_outside);
    self.code(self.data);
    self.has_returned = true;
    kept::view::before(&self.left, self.seen_outside);
    setcontext(&self.outside);  // for good: start() makes it anew
}

bool own_stack::enter() noexcept {
    kept& self = *kept_;
    void* left = nullptr;
#if defined(TAUTO_SANITIZED)
    if (__tsan_get_current_fiber != nullptr) self.seen_outside.fiber = __tsan_get_current_fiber();
#endif
    exchange_exceptions(self.exceptions);
    kept::view::before(&left, self.seen_inside);
    swapcontext(&self.outside, &self.inside);
    kept::view::after(left, nullptr);
    exchange_exceptions(self.exceptions);
    return self.has_returned;
}

bool own_stack::start(void (*code)(void*), void* data) noexcept {
    kept& self = *kept_;
    self.code = code;
    self.data = data;
    self.has_returned = false;
    self.exceptions = {};
#if defined(TAUTO_SANITIZED)
    self.seen_inside.bottom = self.memory;
    self.seen_inside.size = self.size;
    if (__tsan_create_fiber != nullptr && self.seen_inside.fiber == nullptr)
        self.seen_inside.fiber = __tsan_create_fiber(0);
#endif
    // Anew each time: it begins with the calling thread's mask of signals and way of rounding.
    getcontext(&self.inside);
    self.inside.uc_stack = {self.memory, 0, self.size};
    self.inside.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(kept_);
    makecontext(&self.inside, reinterpret_cast<void (*)()>(run), 2, static_cast<unsigned>(address),
                static_cast<unsigned>(std::uint64_t{address} >> 32));
    return enter();
}

bool own_stack::resume() noexcept {
    return enter();
}

void own_stack::leave() noexcept {
    kept& self = *kept_;
    const int error = read_errno();
    kept::view::before(&self.left, self.seen_outside);
    swapcontext(&self.inside, &self.outside);
    kept::view::after(self.left, &self.seen_outside);
    write_errno(error);
}

}  // namespace tauto::balance
