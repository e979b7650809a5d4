// libtauto-own-time.so, preloaded into a program for `tauto compare --calibrate`: how long it was from the
// begin of its main to the end of its exit handlers, or to its _exit, by its own clock.
//
// The time is appended to the file that TAUTO_OWN_TIME names, as eight bytes: nanoseconds, a signed integer
// as the machine stores it. Nothing is written by programs that this one starts or forks, that are linked
// statically, or that end otherwise. What does not work here is left out silently: the program is
// somebody else's.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace {

using main_function = int(int, char**, char**);
using start_function = int(main_function*, int, char**, void (*)(), void (*)(), void (*)(), void*);

constexpr char variable[] = "TAUTO_OWN_TIME";

main_function* real_main;
char path[4096];
std::int64_t begun;
pid_t owner;

std::int64_t now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void tell() {
    const std::int64_t took = now() - begun;
    if (getpid() != owner) return;
    const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file < 0) return;
    [[maybe_unused]] const auto written = write(file, &took, sizeof took);
    close(file);
}

int timed_main(int count, char** words, char** environment) {
    atexit(tell);  // the first, so that it is called last
    begun = now();
    return real_main(count, words, environment);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int __libc_start_main(main_function* asked, int count,
                                                                        char** words, void (*first)(),
                                                                        void (*last)(), void (*linker)(),
                                                                        void* stack) {
    auto* const start = reinterpret_cast<start_function*>(dlsym(RTLD_NEXT, "__libc_start_main"));
    const char* const file = getenv(variable);
    if (file == nullptr || strlen(file) >= sizeof path)
        return start(asked, count, words, first, last, linker, stack);
    strcpy(path, file);
    unsetenv(variable);  // for what it starts
    owner = getpid();
    real_main = asked;
    return start(timed_main, count, words, first, last, linker, stack);
}

extern "C" __attribute__((visibility("default"), noreturn)) void _exit(int code) {
    if (real_main != nullptr) tell();
    for (;;) syscall(SYS_exit_group, code);
}

extern "C" __attribute__((visibility("default"), noreturn)) void _Exit(int code) {
    _exit(code);
}
