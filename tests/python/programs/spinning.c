/* Two threads of OpenMP: one sleeps, the other one waits for it at the end of each region. A line of standard
   input begins a hundred of them, and is answered with the milliseconds of CPU time that they took. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    char line[16];
    while (fgets(line, sizeof line, stdin) != NULL) {
        const clock_t before = clock();
        for (int k = 0; k < 100; ++k) {
#pragma omp parallel num_threads(2)
#pragma omp single nowait
            usleep(2000);
        }
        printf("%ld\n", (long)((clock() - before) * 1000 / CLOCKS_PER_SEC));
        fflush(stdout);
    }
    return 0;
}
