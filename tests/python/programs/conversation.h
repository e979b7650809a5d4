// A program says in a line what it does, with the id of its thread, and goes on when it reads one.
// Before it: _GNU_SOURCE, for gettid.
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void say(const char* what) {
    char line[64];
    const int length = snprintf(line, sizeof line, "%s %d\n", what, (int)gettid());
    if (write(1, line, (size_t)length) != length) exit(4);
}

static void listen(void) {
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL) exit(3);
}
