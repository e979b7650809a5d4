// Says how many CPUs a thread or a program has that this thread starts, in a way that its argument names: "pin" and
// "pin pthread" start a thread after this one has given itself the CPU that the next argument names.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
static char* program;

static void* say(void* unused) {
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    printf("%d\n", CPU_COUNT(&mask));
    fflush(stdout);
    return unused;
}

int main(int count, char** values) {
    program = values[0];
    const char* way = count > 1 ? values[1] : "";
    char command[4096];
    snprintf(command, sizeof command, "%s says", program);
    char* words[] = {program, "says", NULL};
    if (strcmp(way, "says") == 0) {
        say(NULL);
        return 0;
    }
    printf("held %d\n", (int)getpid());
    fflush(stdout);
    if (getchar() == EOF) return 1;
    pid_t child = 0;
    if (strncmp(way, "pin", 3) == 0) {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(atoi(values[2]), &own);
        if (strcmp(way, "pin") == 0 ? sched_setaffinity(0, sizeof own, &own)
                                    : pthread_setaffinity_np(pthread_self(), sizeof own, &own))
            return 1;
    }
    if (strcmp(way, "thread") == 0 || strncmp(way, "pin", 3) == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, say, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(way, "system") == 0) {
        if (system(command) != 0) return 1;
    } else if (strcmp(way, "popen") == 0) {
        char line[16] = "";
        FILE* told = popen(command, "r");
        if (fgets(line, sizeof line, told)) fputs(line, stdout);
        fflush(stdout);
        pclose(told);
    } else if (strcmp(way, "spawn") == 0) {
        if (posix_spawn(&child, program, NULL, NULL, words, environ) == 0) waitpid(child, NULL, 0);
    } else if (strcmp(way, "fork") == 0) {
        if ((child = fork()) == 0) {
            say(NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    } else if (strstr(way, "exec") != NULL) {
        const int file = open(program, O_RDONLY | O_CLOEXEC);
        if ((child = vfork()) == 0) {
            if (strcmp(way, "execv") == 0) execv(program, words);
            if (strcmp(way, "execl") == 0) execl(program, program, "says", NULL);
            if (strcmp(way, "execlp") == 0) execlp(program, program, "says", NULL);
            if (strcmp(way, "execle") == 0) execle(program, program, "says", NULL, environ);
            if (strcmp(way, "fexecve") == 0) fexecve(file, words, environ);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    } else {
        say(NULL);
    }
    return 0;
}
