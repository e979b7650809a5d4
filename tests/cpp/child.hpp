#pragma once
// A test in a process of its own.

#include <sys/wait.h>
#include <unistd.h>

namespace tauto::testing {

// Runs `test` in a forked child that must say yes within the time limit; 0: it did.
template <class Test>
int in_child(Test test) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        int status = 1;
        try {
            status = test() ? 0 : 1;
        } catch (...) {
            status = 2;
        }
        _exit(status);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace tauto::testing
