// Static loops of all kinds, in a team of two whose first region only shows where its threads run. It prints for each
// loop what came out, which does not depend on shares, and after a colon how many iterations each thread did.
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int omp_get_thread_num(void);  // not every system has its header
int omp_get_num_threads(void);

enum { MOST = 4000 };

static long done[2];
static int owner[MOST];

#define COUNT (done[omp_get_thread_num()] += 1)

static void show(const char* name, unsigned long long result) {
    printf("%s %llu : %ld %ld\n", name, result, done[0], done[1]);
    done[0] = done[1] = 0;
}

#define LOOP(NAME, TYPE, FROM, CONDITION, CHANGE)                         \
    do {                                                                  \
        unsigned long long sum = 0;                                       \
        TYPE last = 0;                                                    \
        _Pragma("omp parallel for lastprivate(last) reduction(+ : sum)")  \
        for (TYPE k = FROM; CONDITION; CHANGE) {                          \
            COUNT;                                                        \
            last = k;                                                     \
            sum += ((unsigned long long)k % 1009) * 31;                   \
        }                                                                 \
        show(NAME, sum * 100003ULL + (unsigned long long)last);           \
    } while (0)

static void plain_loops(void) {
    LOOP("int", int, 0, k < 1000, ++k);
    LOOP("int-down", int, 1000, k > 0, --k);
    LOOP("int-step", int, -300, k <= 700, k += 7);
    LOOP("int-step-down", int, 700, k >= -300, k -= 3);
    LOOP("int-end", int, INT_MAX - 1000, k < INT_MAX, ++k);
    LOOP("int-start", int, INT_MIN + 1000, k > INT_MIN, --k);
    LOOP("unsigned", unsigned, 3000000000u, k < 3000001000u, ++k);
    LOOP("unsigned-down", unsigned, UINT_MAX, k > UINT_MAX - 1000, k -= 2);
    LOOP("long", long, -4000000000L, k < -3999999000L, ++k);
    LOOP("long-down", long, 4000000000L, k > 3999999000L, k -= 5);
    LOOP("unsigned-long", unsigned long, ULONG_MAX - 1000, k < ULONG_MAX, ++k);
    LOOP("short", short, 0, k < 1000, ++k);
    LOOP("empty", int, 5, k < 5, ++k);
    LOOP("one", int, 5, k < 6, ++k);
    LOOP("few", int, 0, k < 31, ++k);
    LOOP("enough", int, 0, k < 32, ++k);
}

// Two loops of one region rely on the same shares.
static void loops_of_one_region(void) {
    int others = 0;
#pragma omp parallel reduction(+ : others)
    {
#pragma omp for nowait
        for (int k = 0; k < MOST; ++k) {
            COUNT;
            owner[k] = omp_get_thread_num();
        }
#pragma omp for
        for (long k = MOST - 1; k >= 0; --k) others += owner[MOST - 1 - k] != omp_get_thread_num();
    }
    show("same", (unsigned)others);
}

static void other_schedules(void) {
    long sum = 0;
#pragma omp parallel for schedule(static, 10) reduction(+ : sum)
    for (int k = 0; k < 1000; ++k) {
        COUNT;
        sum += k;
    }
    show("chunk", (unsigned long)sum);
#pragma omp parallel sections reduction(+ : sum)
    {
#pragma omp section
        COUNT, sum += 1;
#pragma omp section
        COUNT, sum += 2;
    }
    show("sections", (unsigned long)sum);
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int k = 0; k < 20; ++k)
        for (int m = 0; m < 50; ++m) {
            COUNT;
            sum += k * m;
        }
    show("collapse", (unsigned long)sum);
}

static int visited[2 * MOST];

// A region inside a member's part has a team of one, or of its own.
static void nested(int threads, const char* name) {
    for (int k = 0; k < 2 * MOST; ++k) visited[k] = 0;
#pragma omp parallel num_threads(2)
    {
        const int at = omp_get_thread_num() * MOST;
#pragma omp parallel for num_threads(threads)
        for (int k = 0; k < MOST; ++k) {
#pragma omp atomic
            visited[at + k] += 1;
        }
#pragma omp for
        for (int k = 0; k < 1000; ++k) COUNT;
    }
    int wrong = 0;
    for (int k = 0; k < 2 * MOST; ++k) wrong += visited[k] != 1;
    show(name, (unsigned)wrong);
}

struct place {
    int32_t reserved_1, flags, reserved_2, reserved_3;
    const char* source;
};
int32_t __kmpc_global_thread_num(struct place*);
#define DECLARE(NAME, BOUND, STEP) \
    void NAME(struct place*, int32_t, int32_t, int32_t*, BOUND*, BOUND*, STEP*, STEP, STEP)
DECLARE(__kmpc_for_static_init_4, int32_t, int32_t);
DECLARE(__kmpc_for_static_init_4u, uint32_t, int32_t);
DECLARE(__kmpc_for_static_init_8, int64_t, int64_t);
DECLARE(__kmpc_for_static_init_8u, uint64_t, int64_t);

static uint64_t state = 88172645463325252ULL;

static uint64_t any(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

// Bounds and steps that Fortran passes as they are: the shares follow each other, and the last is said to be the last.
enum { TURNS = 20000 };

#define ANY_BOUNDS(NAME, FUNCTION, BOUND, STEP)                                                                \
    do {                                                                                                       \
        static BOUND lower[TURNS], upper[TURNS], from[2][TURNS], to[2][TURNS];                                 \
        static STEP step[TURNS];                                                                               \
        static int32_t last[2][TURNS];                                                                         \
        static __int128 iterations[TURNS];                                                                     \
        for (int turn = 0; turn < TURNS;) {                                                                    \
            const BOUND low = (BOUND)any();                                                                    \
            STEP by = (STEP)((STEP)any() >> any() % (8 * sizeof(STEP)));                                       \
            if (turn % 3 == 0) by = (STEP)(by % 5);                                                            \
            if (by == 0) by = 1;                                                                               \
            const BOUND high = turn % 4 == 0 ? low + (BOUND)(turn % 301) * (BOUND)by : (BOUND)any();           \
            if (by > 0 ? high < low : high > low) continue;                                                    \
            const __int128 size = by > 0 ? (__int128)high - low : (__int128)low - high;                        \
            iterations[turn] = size / (by > 0 ? (__int128)by : -(__int128)by) + 1;                             \
            if (iterations[turn] >> (8 * sizeof(BOUND)) != 0) continue;                                        \
            lower[turn] = low, upper[turn] = high, step[turn] = by;                                            \
            ++turn;                                                                                            \
        }                                                                                                      \
        _Pragma("omp parallel num_threads(2)") {                                                               \
            struct place here = {0, 0x202, 0, 0, ";;;;"};                                                      \
            const int me = omp_get_thread_num();                                                               \
            const int32_t thread = __kmpc_global_thread_num(&here);                                            \
            for (int turn = 0; turn < TURNS; ++turn) {                                                         \
                STEP stride = 1;                                                                               \
                from[me][turn] = lower[turn], to[me][turn] = upper[turn];                                      \
                FUNCTION(&here, thread, 34, &last[me][turn], &from[me][turn], &to[me][turn], &stride, step[turn], 1); \
            }                                                                                                  \
        }                                                                                                      \
        long wrong = 0, unequal = 0;                                                                           \
        for (int turn = 0; turn < TURNS; ++turn) {                                                             \
            __int128 next = lower[turn], counts[2];                                                            \
            for (int k = 0; k < 2; ++k) {                                                                      \
                const BOUND low = from[k][turn], high = to[k][turn];                                           \
                const int none = step[turn] > 0 ? high < low : high > low;                                     \
                counts[k] = none ? 0 : ((__int128)high - low) / step[turn] + 1;                                \
                if (!none) wrong += low != next, next = (__int128)low + counts[k] * step[turn];                \
            }                                                                                                  \
            wrong += counts[0] + counts[1] != iterations[turn];                                                \
            wrong += !last[0][turn] != (counts[1] != 0) || !last[1][turn] != (counts[1] == 0);                 \
            unequal += counts[1] - counts[0] > 1 || counts[0] - counts[1] > 1;                                 \
        }                                                                                                      \
        done[0] = unequal > 0;                                                                                 \
        show(NAME, (unsigned long)wrong);                                                                      \
    } while (0)

int main(void) {
    int size = 0;
#pragma omp parallel
    {
#pragma omp single
        size = omp_get_num_threads();
    }
    if (size != 2) {
        fprintf(stderr, "a team of %d instead of 2\n", size);
        return 2;
    }
    plain_loops();
    loops_of_one_region();
    other_schedules();
    nested(1, "inside-one");
    nested(2, "inside-two");
    ANY_BOUNDS("4", __kmpc_for_static_init_4, int32_t, int32_t);
    ANY_BOUNDS("4u", __kmpc_for_static_init_4u, uint32_t, int32_t);
    ANY_BOUNDS("8", __kmpc_for_static_init_8, int64_t, int64_t);
    ANY_BOUNDS("8u", __kmpc_for_static_init_8u, uint64_t, int64_t);
    return 0;
}
