// Calls of the system by their numbers come through with all their arguments, results and errors.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int word = 1, other = 2;

static int failed_with(long result, int wanted) {
    return result == -1 && errno == wanted;
}

static int need(int right, const char* what) {
    if (!right) printf("wrong: %s, errno %d\n", what, errno);
    return !right;
}

int main(void) {
    int wrong = 0;
    // Six arguments, of which the last is the place in the file.
    FILE* file = tmpfile();
    const long page = sysconf(_SC_PAGESIZE);
    wrong += need(file != NULL && ftruncate(fileno(file), 2 * page) == 0, "a file");
    wrong += need(pwrite(fileno(file), "x", 1, page) == 1, "a byte");
    const char* mapped =
        (const char*)syscall(SYS_mmap, NULL, page, PROT_READ, MAP_SHARED, fileno(file), page);
    wrong += need(mapped != MAP_FAILED && mapped[0] == 'x', "mmap");
    wrong += need(syscall(SYS_gettid) == gettid(), "gettid");
    wrong += need(failed_with(syscall(SYS_close, -1), EBADF), "close");

    const struct timespec soon = {0, 1000000};
    wrong +=
        need(failed_with(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL), EAGAIN), "another value");
    wrong +=
        need(failed_with(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &soon), ETIMEDOUT), "a timeout");
    wrong +=
        need(failed_with(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, &soon, NULL, 1), ETIMEDOUT),
             "a time that has passed");
    wrong += need(failed_with(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE_PRIVATE, 1, 1L, &other, 7), EAGAIN),
                  "the last argument of a futex");
    wrong += need(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 5) == 0, "nobody to wake");
    wrong += need(failed_with(syscall(SYS_futex, &word, 99, 0), ENOSYS), "no such futex");

    // A child that comes back from the same call.
    const pid_t parent = getpid();
    const long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(getpid() != parent && syscall(SYS_getppid) == parent ? 17 : 1);
    int status = 0;
    wrong += need(child > 0 && waitpid((pid_t)child, &status, 0) == child, "clone");
    wrong += need(WIFEXITED(status) && WEXITSTATUS(status) == 17, "the child");
    puts(wrong == 0 ? "right" : "wrong");
    return wrong;
}
