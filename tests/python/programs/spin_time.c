// Short static loops, region after region. Says how many milliseconds threads of LLVM's OpenMP were to spin
// after one of them, at most; an argument sets that at the start.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int kmp_get_blocktime(void);
void kmp_set_blocktime(int);

enum { iterations = 960, regions = 3000, steps = 100 };
static uint64_t numbers[iterations];

int main(int count, char** values) {
    if (count > 1) kmp_set_blocktime(atoi(values[1]));
    int most = 0;
    for (int region = 0; region < regions; ++region) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < iterations; ++i) {
            uint64_t value = numbers[i] + (uint64_t)i;
            for (int step = 0; step < steps; ++step) value = value * 6364136223846793005U + (value >> 7);
            numbers[i] = value;
        }
        if (kmp_get_blocktime() > most) most = kmp_get_blocktime();
    }
    uint64_t all = 0;
    for (int i = 0; i < iterations; ++i) all ^= numbers[i];
    printf("%d %016llx\n", most, (unsigned long long)all);
    return 0;
}
