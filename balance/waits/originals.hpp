#pragma once
// The functions that this library stands in front of.

#include <atomic>
#include <cstddef>

namespace tauto::balance {

/// One of them. `in_front` is this library's function of that name where it is one of a runtime that a
/// program may be without, else null.
struct original_function {
    const char* name;
    const char* version;  ///< of the symbol, where the linker's choice is not the right one
    void* in_front;
    std::atomic<void*> found;
};

/// Looks it up behind this library; ends the process where there is none, as the linker would have done.
void* find(original_function& one) noexcept;

/// Looks up all, before the program's own code runs. A runtime's function that is not there is then not
/// offered by this library either: a runtime that the program loads later is bound as if this library were
/// not there, since it could not tell which of several copies a caller means (late_runtime.cpp).
void find_originals() noexcept;

/// These are hidden, with their runtimes; see late_runtime.cpp. They are kept by the caller.
void expect_late_runtime(original_function* const* functions, std::size_t count) noexcept;

/// `caller`: code that starts a thread. Where it belongs to a runtime that was loaded after the start,
/// whoever is bound to that copy calls this library's functions from now on.
void take_up_runtime_of(const void* caller) noexcept;

template <class Function>
Function* original(original_function& one) noexcept {
    void* found = one.found.load(std::memory_order_relaxed);
    return reinterpret_cast<Function*>(found != nullptr ? found : find(one));
}

}  // namespace tauto::balance

#define TAUTO_IN_FRONT extern "C" __attribute__((visibility("default")))

// The entry of a function in the list of all, which the linker puts together.
#define TAUTO_ENTRY(NAME, VERSION, IN_FRONT)                                                          \
    __attribute__((section("tauto_originals"), used)) tauto::balance::original_function real_##NAME { \
#NAME, VERSION, IN_FRONT, {}                                                                  \
    }
// A function of the system's library, and one of a runtime that may be missing.
#define TAUTO_SYSTEM(NAME, VERSION) static TAUTO_ENTRY(NAME, VERSION, nullptr)
#define TAUTO_RUNTIME(NAME) static TAUTO_ENTRY(NAME, nullptr, reinterpret_cast<void*>(&NAME))
