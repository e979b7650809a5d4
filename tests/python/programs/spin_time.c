// Static loops, region after region. Says how many milliseconds threads of LLVM's OpenMP spin after the last;
// an argument sets that at the start.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int kmp_get_blocktime(void);
void kmp_set_blocktime(int);

enum { iterations = 960, regions = 400, steps = 2000 };
static uint64_t numbers[iterations];

int main(int count, char** values) {
    if (count > 1) kmp_set_blocktime(atoi(values[1]));
    for (int region = 0; region < regions; ++region) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < iterations; ++i) {
            uint64_t value = numbers[i] + (uint64_t)i;
            for (int step = 0; step < steps; ++step) value = value * 6364136223846793005U + (value >> 7);
            numbers[i] = value;
        }
    }
    uint64_t all = 0;
    for (int i = 0; i < iterations; ++i) all ^= numbers[i];
    printf("%d %016llx\n", kmp_get_blocktime(), (unsigned long long)all);
    return 0;
}
