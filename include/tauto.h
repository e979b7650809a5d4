// tautochrone for C: loops, reductions, scans, sorts and searches that are balanced on unequal cores, with
// the same result for every team, schedule and run. Link libtauto.so.1 (CMake: tauto::c, pkg-config: tauto).
//
// Every call returns a code. Whatever is not TAUTO_OK has words: tauto_message(). No exception leaves a call.
// A call that is refused (TAUTO_REFUSED) has done nothing.
//
// A call returns when its work is done. Callbacks run on several threads at once and get the `context` of
// their call; they return, and neither longjmp() nor pthread_exit(). Calls may be made from several threads,
// which take turns, and inside a callback: members with nothing to do take parts of such a loop or reduction
// if it is long; else it runs on the member that makes it.
//
// Options are NULL for the defaults, or a structure that begins as its macro says:
//
//     tauto_options options = TAUTO_OPTIONS;
//     options.schedule = TAUTO_DYNAMIC;
//
// A program runs with every later libtauto.so.1: names are only added, and structures only grow at their
// ends. What a program's older structure lacks has its default.
#ifndef TAUTO_H
#define TAUTO_H

#include <stddef.h>
#include <stdint.h>

#define TAUTO_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// 10000 times the major version, 100 times the minor one, and the patch: of this header, and of the library.
#define TAUTO_VERSION 100
TAUTO_API int tauto_version(void);

typedef enum tauto_status {
    TAUTO_OK = 0,
    TAUTO_STOPPED = 1,    // a stop was requested before the end; there is no result
    TAUTO_REFUSED = 2,    // an argument is wrong, or the system does not give what was asked for
    TAUTO_NO_MEMORY = 3,  // the memory is used up
    TAUTO_THROWN = 4      // a callback that is written in C++ threw an exception; there is no result
} tauto_status;

// What was asked, what was found and what to do, of the calling thread's last call that did not return
// TAUTO_OK; empty before. It stays until the thread's next such call.
TAUTO_API const char* tauto_message(void);

// ---- A team: one thread for each of a set of CPUs. The thread that calls is its first member. ----

typedef struct tauto_team tauto_team;

typedef enum tauto_wait {
    TAUTO_WAIT_DEFAULT = 0,   // what TAUTO_WAIT says, else balanced
    TAUTO_WAIT_ACTIVE = 1,    // spin for up to a second
    TAUTO_WAIT_BALANCED = 2,  // spin about as long as recent gaps last, then sleep
    TAUTO_WAIT_PASSIVE = 3    // spin for the cost of a wake-up, then sleep
} tauto_wait;

typedef struct tauto_team_options {
    size_t bytes;        // of this structure
    const int* cpus;     // of the members, by rank; NULL: what TAUTO_CPUS says, else each usable one
    size_t cpu_count;    // how many stand there
    int members;         // 0: one for each CPU. More than CPUs share them
    int wait;            // a tauto_wait: what a member does while it has no work
    int pin;             // not 0: pins each member, also the thread that makes the team, until the team ends
    size_t stack_bytes;  // of each worker's stack; 0: what TAUTO_STACK says, else the system's
    const char* name;    // of the workers' threads, before their rank; NULL: "tauto"
    void (*on_start)(void* context, int rank);  // called on each worker as it starts; NULL: nothing
    void* context;                              // of on_start
} tauto_team_options;

#define TAUTO_TEAM_OPTIONS \
    { sizeof(tauto_team_options), NULL, 0, 0, TAUTO_WAIT_DEFAULT, 1, 0, NULL, NULL, NULL }

TAUTO_API tauto_status tauto_team_create(const tauto_team_options* options, tauto_team** team);
// Not inside a callback of the team. NULL is none.
TAUTO_API void tauto_team_destroy(tauto_team* team);
// 0 for NULL.
TAUTO_API int tauto_team_size(const tauto_team* team);
// The CPU of a member; -1 where there is no such member.
TAUTO_API int tauto_team_cpu(const tauto_team* team, int rank);
// *pinned becomes 1, or 0 where the system refused to pin a member. Starts the members.
TAUTO_API tauto_status tauto_team_pinned(tauto_team* team, int* pinned);
// In a callback: the rank of the member that runs it, from 0 to the size - 1. 0 elsewhere.
TAUTO_API int tauto_rank(void);

// ---- Options of a call. ----

typedef enum tauto_schedule {
    TAUTO_ADAPTIVE = 0,      // learns speeds, and how many members pay; idle members steal
    TAUTO_STATIC = 1,        // equal contiguous shares
    TAUTO_STATIC_CHUNK = 2,  // chunks, dealt in turn by rank
    TAUTO_DYNAMIC = 3,       // chunks from one counter
    TAUTO_GUIDED = 4,        // shrinking chunks, at least `chunk`
    TAUTO_WEIGHTED = 5       // contiguous shares in proportion to the learned speeds
} tauto_schedule;

typedef enum tauto_priority {
    TAUTO_NORMAL = 0,  // before all low ones that wait for the team
    TAUTO_LOW = 1      // waits for normal ones; long loops give their turn away about once a millisecond
} tauto_priority;

// Something that ends calls before their time, from any thread.
typedef struct tauto_stop tauto_stop;
TAUTO_API tauto_status tauto_stop_create(tauto_stop** stop);
TAUTO_API void tauto_stop_request(tauto_stop* stop);
TAUTO_API int tauto_stop_requested(const tauto_stop* stop);
// Not while a call has it. NULL is none.
TAUTO_API void tauto_stop_destroy(tauto_stop* stop);

typedef struct tauto_options {
    size_t bytes;            // of this structure
    int schedule;            // a tauto_schedule
    int64_t chunk;           // of static_chunk, dynamic and guided; 0: 1
    const tauto_stop* stop;  // NULL: none
    int64_t grain;           // indices of a block of a reduction; 0: chosen from their number
    const void* site;        // any address that names this place of the program; NULL: the callback names it
    const char* name;        // shown in traces; must outlive the team. NULL: none
    int members;             // at most so many take part, of the lowest ranks; 0: all, 1: the calling thread
    int priority;            // a tauto_priority
} tauto_options;

#define TAUTO_OPTIONS \
    { sizeof(tauto_options), TAUTO_ADAPTIVE, 0, NULL, 0, NULL, NULL, 0, TAUTO_NORMAL }

// ---- Loops. What is learned of a loop is kept by its site and the power of two of its length. ----

// body(context, b, e) for ranges [b, e) that cover [first, last) once. Nothing is run where last <= first.
TAUTO_API tauto_status tauto_parallel_for(tauto_team* team, int64_t first, int64_t last,
                                          void (*body)(void* context, int64_t begin, int64_t end),
                                          void* context, const tauto_options* options);
// body(context, i) for first, first + stride, ... before last, which a negative stride reaches by counting
// down.
TAUTO_API tauto_status tauto_parallel_for_each(tauto_team* team, int64_t first, int64_t last, int64_t stride,
                                               void (*body)(void* context, int64_t i), void* context,
                                               const tauto_options* options);

// One value of `bytes` bytes from all indices. map writes the value of a range to `value`; combine makes
// `left` the value of `left` and, after it, `right`, and must be associative up to rounding. *result is the
// identity before and the value after; it is combined once, from the left. Values that callbacks see are
// aligned to 16.
TAUTO_API tauto_status tauto_reduce(tauto_team* team, int64_t first, int64_t last, size_t bytes,
                                    void (*map)(void* context, int64_t begin, int64_t end, void* value),
                                    void (*combine)(void* context, void* left, const void* right),
                                    void* context, void* result, const tauto_options* options);
// The same for doubles. combine NULL: their sum.
TAUTO_API tauto_status tauto_reduce_double(tauto_team* team, int64_t first, int64_t last, double identity,
                                           double (*map)(void* context, int64_t begin, int64_t end),
                                           double (*combine)(void* context, double left, double right),
                                           void* context, double* result, const tauto_options* options);
// *place becomes the first index that is chosen (a result other than 0), else `last`.
TAUTO_API tauto_status tauto_find(tauto_team* team, int64_t first, int64_t last,
                                  int (*chosen)(void* context, int64_t i), void* context, int64_t* place,
                                  const tauto_options* options);

// ---- Arrays of n elements. ----

// Integers are added modulo 2^64.
TAUTO_API tauto_status tauto_sum_double(tauto_team* team, const double* values, int64_t n, double* sum,
                                        const tauto_options* options);
TAUTO_API tauto_status tauto_sum_int64(tauto_team* team, const int64_t* values, int64_t n, int64_t* sum,
                                       const tauto_options* options);
// Rounded once, so the same for every order of the values.
TAUTO_API tauto_status tauto_exact_sum(tauto_team* team, const double* values, int64_t n, double* sum,
                                       const tauto_options* options);

// results[i] becomes values[0] + ... + values[i]. `results` may be `values`; else they must not overlap.
TAUTO_API tauto_status tauto_inclusive_scan_double(tauto_team* team, const double* values, int64_t n,
                                                   double* results, const tauto_options* options);
TAUTO_API tauto_status tauto_inclusive_scan_int64(tauto_team* team, const int64_t* values, int64_t n,
                                                  int64_t* results, const tauto_options* options);
// results[i] becomes init + values[0] + ... + values[i - 1].
TAUTO_API tauto_status tauto_exclusive_scan_double(tauto_team* team, const double* values, int64_t n,
                                                   double init, double* results,
                                                   const tauto_options* options);
TAUTO_API tauto_status tauto_exclusive_scan_int64(tauto_team* team, const int64_t* values, int64_t n,
                                                  int64_t init, int64_t* results,
                                                  const tauto_options* options);

// Ascending; NaN comes last, and first where its sign bit is set.
TAUTO_API tauto_status tauto_sort_double(tauto_team* team, double* values, int64_t n,
                                         const tauto_options* options);
TAUTO_API tauto_status tauto_sort_float(tauto_team* team, float* values, int64_t n,
                                        const tauto_options* options);
TAUTO_API tauto_status tauto_sort_int32(tauto_team* team, int32_t* values, int64_t n,
                                        const tauto_options* options);
TAUTO_API tauto_status tauto_sort_uint32(tauto_team* team, uint32_t* values, int64_t n,
                                         const tauto_options* options);
TAUTO_API tauto_status tauto_sort_int64(tauto_team* team, int64_t* values, int64_t n,
                                        const tauto_options* options);
TAUTO_API tauto_status tauto_sort_uint64(tauto_team* team, uint64_t* values, int64_t n,
                                         const tauto_options* options);
// Elements of `bytes` bytes, equal ones in their order. compare is qsort_r's: negative where left comes
// first, positive where right does.
TAUTO_API tauto_status tauto_stable_sort(tauto_team* team, void* elements, int64_t n, size_t bytes,
                                         int (*compare)(const void* left, const void* right, void* context),
                                         void* context, const tauto_options* options);

// *place becomes that of the first least or greatest value; -1 where n is 0. NaN has no order: with one,
// *place is some place, the same for every team.
TAUTO_API tauto_status tauto_min_double(tauto_team* team, const double* values, int64_t n, int64_t* place,
                                        const tauto_options* options);
TAUTO_API tauto_status tauto_max_double(tauto_team* team, const double* values, int64_t n, int64_t* place,
                                        const tauto_options* options);

// counts[b] becomes the number of values v with edge(b) <= v < edge(b + 1), where edge(b) = low + b * ((high
// - low) / bins). The last bin has `high` too. Other values and NaN are in no bin.
TAUTO_API tauto_status tauto_histogram_double(tauto_team* team, const double* values, int64_t n, double low,
                                              double high, int64_t bins, uint64_t* counts,
                                              const tauto_options* options);
// counts[b] becomes the number of values that are b. A value below 0 or not below `bins` is refused; the
// counts are then worth nothing.
TAUTO_API tauto_status tauto_histogram_int64(tauto_team* team, const int64_t* values, int64_t n, int64_t bins,
                                             uint64_t* counts, const tauto_options* options);

// ---- Recursion. ----

// Both functions, at the same time where a member is free. They may call it again, with the same team.
TAUTO_API tauto_status tauto_parallel_invoke(tauto_team* team, void (*first)(void* context),
                                             void* first_context, void (*second)(void* context),
                                             void* second_context);

// body(context, group) adds tasks to the group, and so may each task. The call returns when all have ended.
typedef struct tauto_task_group tauto_task_group;
TAUTO_API tauto_status tauto_task_group_run_all(tauto_team* team,
                                                void (*body)(void* context, tauto_task_group* group),
                                                void* context);
TAUTO_API tauto_status tauto_task_group_run(tauto_task_group* group, void (*task)(void* context),
                                            void* context);
// In the body: returns when all tasks so far have ended, and runs tasks meanwhile.
TAUTO_API tauto_status tauto_task_group_wait(tauto_task_group* group);

#ifdef __cplusplus
}
#endif

#endif
