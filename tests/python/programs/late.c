// Loads a library and runs what it has, as Python does with its packages:   late LIBRARY now|lazily WAY
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int count, char** words) {
    if (count != 4) return 2;
    void* library = dlopen(words[1], strcmp(words[2], "now") == 0 ? RTLD_NOW : RTLD_LAZY);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    int (*run)(int, char**);
    *(void**)&run = dlsym(library, "run");
    return run(count - 2, words + 2);
}
