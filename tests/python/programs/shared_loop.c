// A static loop of LLVM's OpenMP, region after region. Says a number that depends on all of the work, how
// many iterations the threads did that did least and most, for how many milliseconds threads were to spin
// after a region, at most and at least, after how many regions they were to spin at all, and how many
// microseconds its barriers were apart in the mean. A third argument sets the spinning at the start, unless
// it is negative, and a fourth is the number of loops in a region.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int omp_get_thread_num(void);
int kmp_get_blocktime(void);
void kmp_set_blocktime(int);

enum { iterations = 960, most_threads = 64 };
static uint64_t numbers[iterations];
static struct { _Alignas(64) long count; } of_thread[most_threads];

static long microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int main(int count, char** values) {
    const long regions = count > 1 ? atol(values[1]) : 1;
    const long steps = count > 2 ? atol(values[2]) : 1;
    if (count > 3 && atoi(values[3]) >= 0) kmp_set_blocktime(atoi(values[3]));
    const int loops = count > 4 ? atoi(values[4]) : 1;
    long spinning = 0;
    int least_spins = 0;
    int most_spins = 0;
    const long begin = microseconds();
    for (long region = 0; region < regions; ++region) {
#pragma omp parallel
        for (int loop = 0; loop < loops; ++loop) {
#pragma omp for schedule(static)
            for (int i = 0; i < iterations; ++i) {
                uint64_t value = numbers[i] + (uint64_t)i;
                for (long step = 0; step < steps; ++step) value = value * 6364136223846793005U + (value >> 7);
                numbers[i] = value;
                ++of_thread[omp_get_thread_num() % most_threads].count;
            }
        }
        const int spins = kmp_get_blocktime();
        spinning += spins > 0;
        if (spins > most_spins) most_spins = spins;
        if (region == 0 || spins < least_spins) least_spins = spins;
    }
    const long apart = (microseconds() - begin) / (regions * (loops + 1));
    long least = 0;
    long most = 0;
    for (int k = 0; k < most_threads; ++k) {
        const long own = of_thread[k].count;
        if (own > 0 && (least == 0 || own < least)) least = own;
        if (own > most) most = own;
    }
    uint64_t all = 0;
    for (int i = 0; i < iterations; ++i) all ^= numbers[i];
    printf("%016llx %ld %ld %d %d %ld %ld\n", (unsigned long long)all, least, most, most_spins, least_spins,
           spinning, apart);
    return 0;
}
