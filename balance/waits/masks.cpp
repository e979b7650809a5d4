// A thread that the controller keeps on some CPUs gives itself the program's own mask again before it starts
// a thread or a program, which would inherit it, and before it asks for its mask. A mask that the program
// gives it meanwhile stays.

#include <alloca.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstddef>

#include "balance/waits/marks.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/steps.hpp"

using tauto::balance::original;
using tauto::balance::own_mask;

TAUTO_SYSTEM(pthread_create, nullptr);
TAUTO_SYSTEM(posix_spawn, nullptr);
TAUTO_SYSTEM(posix_spawnp, nullptr);
TAUTO_SYSTEM(system, nullptr);
TAUTO_SYSTEM(popen, nullptr);
TAUTO_SYSTEM(execve, nullptr);
TAUTO_SYSTEM(execv, nullptr);
TAUTO_SYSTEM(execvp, nullptr);
TAUTO_SYSTEM(execvpe, nullptr);
TAUTO_SYSTEM(fexecve, nullptr);
TAUTO_SYSTEM(sched_getaffinity, nullptr);
TAUTO_SYSTEM(pthread_getaffinity_np, nullptr);
TAUTO_SYSTEM(sched_setaffinity, nullptr);
TAUTO_SYSTEM(pthread_setaffinity_np, nullptr);

TAUTO_IN_FRONT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*code)(void*),
                                  void* data) noexcept {
    tauto::balance::take_up_runtime_of(__builtin_return_address(0));
    const own_mask meanwhile;
    return tauto::balance::start_counted(code, data, [&](void* (*what)(void*), void* with) {
        return original<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>(real_pthread_create)(
            thread, attributes, what, with);
    });
}

#define TAUTO_SPAWN(NAME)                                                                                \
    TAUTO_IN_FRONT int NAME(pid_t* process, const char* path, const posix_spawn_file_actions_t* actions, \
                            const posix_spawnattr_t* attributes, char* const* words,                     \
                            char* const* variables) {                                                    \
        const own_mask meanwhile;                                                                        \
        return original<int(pid_t*, const char*, const posix_spawn_file_actions_t*,                      \
                            const posix_spawnattr_t*, char* const*, char* const*)>(real_##NAME)(         \
            process, path, actions, attributes, words, variables);                                       \
    }
TAUTO_SPAWN(posix_spawn)
TAUTO_SPAWN(posix_spawnp)

TAUTO_IN_FRONT int system(const char* words) {
    const own_mask meanwhile;
    return original<int(const char*)>(real_system)(words);
}

TAUTO_IN_FRONT FILE* popen(const char* words, const char* mode) {
    const own_mask meanwhile;
    return original<FILE*(const char*, const char*)>(real_popen)(words, mode);
}

TAUTO_IN_FRONT int execve(const char* path, char* const* words, char* const* variables) noexcept {
    const own_mask meanwhile;
    return original<int(const char*, char* const*, char* const*)>(real_execve)(path, words, variables);
}

TAUTO_IN_FRONT int execvpe(const char* name, char* const* words, char* const* variables) noexcept {
    const own_mask meanwhile;
    return original<int(const char*, char* const*, char* const*)>(real_execvpe)(name, words, variables);
}

TAUTO_IN_FRONT int execv(const char* path, char* const* words) noexcept {
    const own_mask meanwhile;
    return original<int(const char*, char* const*)>(real_execv)(path, words);
}

TAUTO_IN_FRONT int execvp(const char* name, char* const* words) noexcept {
    const own_mask meanwhile;
    return original<int(const char*, char* const*)>(real_execvp)(name, words);
}

TAUTO_IN_FRONT int fexecve(int file, char* const* words, char* const* variables) noexcept {
    const own_mask meanwhile;
    return original<int(int, char* const*, char* const*)>(real_fexecve)(file, words, variables);
}

namespace {

// Of a call's words with the null at their end, the first of which is no part of `rest`.
std::size_t count_words(std::va_list* rest) noexcept {
    std::size_t count = 2;
    while (va_arg(*rest, char*) != nullptr) ++count;
    return count;
}

void copy_words(char** to, const char* first, std::va_list* rest) noexcept {
    *to = const_cast<char*>(first);
    while (*to != nullptr) *++to = va_arg(*rest, char*);
}

}  // namespace

// The system's library calls its own execve in these.
#define TAUTO_EXEC_WORDS(NAME, CALL)                                                          \
    TAUTO_IN_FRONT int NAME(const char* path, const char* word, ...) noexcept {               \
        std::va_list rest;                                                                    \
        va_start(rest, word);                                                                 \
        auto** const words = static_cast<char**>(alloca(count_words(&rest) * sizeof(char*))); \
        va_end(rest);                                                                         \
        va_start(rest, word);                                                                 \
        copy_words(words, word, &rest);                                                       \
        const int result = CALL;                                                              \
        va_end(rest);                                                                         \
        return result;                                                                        \
    }
TAUTO_EXEC_WORDS(execl, execv(path, words))
TAUTO_EXEC_WORDS(execlp, execvp(path, words))
TAUTO_EXEC_WORDS(execle, execve(path, words, va_arg(rest, char* const*)))

TAUTO_IN_FRONT int sched_getaffinity(pid_t thread, size_t size, cpu_set_t* mask) noexcept {
    const own_mask meanwhile;
    return original<int(pid_t, size_t, cpu_set_t*)>(real_sched_getaffinity)(thread, size, mask);
}

TAUTO_IN_FRONT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t* mask) noexcept {
    const own_mask meanwhile;
    return original<int(pthread_t, size_t, cpu_set_t*)>(real_pthread_getaffinity_np)(thread, size, mask);
}

namespace {

// Of this thread: the program's mask, and nobody changes it meanwhile. The controller then finds a mask that
// is not its own.
template <class Call>
int set_own_mask(bool is_own, Call set) noexcept {
    if (!is_own) return set();
    const own_mask meanwhile;
    return set();
}

}  // namespace

TAUTO_IN_FRONT int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* mask) noexcept {
    return set_own_mask(thread == 0 || thread == gettid(), [&] {
        return original<int(pid_t, size_t, const cpu_set_t*)>(real_sched_setaffinity)(thread, size, mask);
    });
}

TAUTO_IN_FRONT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t* mask) noexcept {
    return set_own_mask(pthread_equal(thread, pthread_self()) != 0, [&] {
        return original<int(pthread_t, size_t, const cpu_set_t*)>(real_pthread_setaffinity_np)(thread, size,
                                                                                               mask);
    });
}
