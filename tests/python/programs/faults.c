/* Makes one call to the system fail, the one with a given number from a given moment on, or kills the process
 * there; loaded by LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { HALF = 0, KILLED = -1, KILLED_AT_HALF = -2, MOST_NAMES = 1 << 16 };

static atomic_long calls = -1; /* none is counted before faults_begin */
static long failing;
static int error_number;
static const char* names[MOST_NAMES];

/* From now on the call number `which` (from 1; 0: none) fails with this error. HALF: it writes half. KILLED:
 * the process is killed before it; KILLED_AT_HALF: when it has written half. */
void faults_begin(long which, int error) {
    failing = which;
    error_number = error;
    atomic_store(&calls, 0);
}

/* A process that this one starts: TAUTO_FAULT="which:error:FILE". It makes FILE when the call comes. */
static const char* told = NULL;

__attribute__((constructor)) static void begin_as_told(void) {
    const char* fault = getenv("TAUTO_FAULT");
    long which = 0;
    int error = 0, begin = 0;
    if (fault == NULL || sscanf(fault, "%ld:%d:%n", &which, &error, &begin) < 2) return;
    told = fault + begin;
    faults_begin(which, error);
}

/* How many calls there were. Counts no more. */
long faults_end(void) {
    return atomic_exchange(&calls, -1);
}

/* The name of a call, from 1; null beyond the first 65,536. */
const char* faults_name(long which) {
    return which < 1 || which > MOST_NAMES ? NULL : names[which - 1];
}

static int comes(const char* name) {
    if (atomic_load(&calls) < 0) return 0;
    const long before = atomic_fetch_add(&calls, 1);
    if (before < MOST_NAMES) names[before] = name;
    if (before + 1 != failing) return 0;
    if (told != NULL) close((int)syscall(SYS_openat, AT_FDCWD, told, O_CREAT | O_WRONLY, 0600));
    if (error_number == KILLED) kill(getpid(), SIGKILL);
    return 1;
}

static int fails(const char* name) {
    if (!comes(name)) return 0;
    if (error_number == KILLED_AT_HALF) kill(getpid(), SIGKILL); /* what has no half */
    errno = error_number;
    return error_number > 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAILING(result, name, parameters, arguments) \
    result name parameters {                         \
        if (fails(#name)) return (result)-1;         \
        return REAL(name) arguments;                 \
    }

ssize_t write(int file, const void* bytes, size_t count) {
    if (!comes("write")) return REAL(write)(file, bytes, count);
    if (error_number > 0) {
        errno = error_number;
        return -1;
    }
    const ssize_t written = REAL(write)(file, bytes, count > 1 ? count / 2 : count);
    if (error_number == KILLED_AT_HALF) kill(getpid(), SIGKILL);
    return written;
}

/* What a killed process has written is there without; a disk would be waited for thousands of times. */
int fsync(int file) {
    (void)file;
    return fails("fsync") ? -1 : 0;
}

FAILING(int, ftruncate64, (int file, off64_t length), (file, length))
FAILING(int, rename, (const char* from, const char* to), (from, to))
FAILING(int, renameat, (int a, const char* from, int b, const char* to), (a, from, b, to))
FAILING(int, mkdir, (const char* path, mode_t mode), (path, mode))
FAILING(int, unlink, (const char* path), (path))
FAILING(int, unlinkat, (int folder, const char* path, int flags), (folder, path, flags))
FAILING(int, rmdir, (const char* path), (path))
FAILING(int, flock, (int file, int operation), (file, operation))
FAILING(int, pipe2, (int ends[2], int flags), (ends, flags))
FAILING(pid_t, fork, (void), ())
FAILING(void*, mmap64, (void* at, size_t size, int access, int flags, int file, off64_t offset),
        (at, size, access, flags, file, offset))

static mode_t mode_of(int flags, va_list more) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

int open64(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = mode_of(flags, more);
    va_end(more);
    return fails("open") ? -1 : REAL(open64)(path, flags, mode);
}

int openat64(int folder, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = mode_of(flags, more);
    va_end(more);
    return fails("openat") ? -1 : REAL(openat64)(folder, path, flags, mode);
}
