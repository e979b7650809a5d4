// Waits in OpenMP's runtimes: barriers, and the time between a thread's part of a parallel region and the
// next.
//
// GCC's functions are in libgomp and in LLVM's libomp, LLVM's in the latter. A region's code is called
// through a function of this library (gcc_region.cpp, llvm_region.cpp), which sees each thread begin and end
// its part: a thread of the runtime's pool waits from there to its next part, the thread that forked until
// its join. Once a program makes tasks nothing here is marked any more, because threads that wait run them,
// and it cannot be told from outside when.

#include <cstdint>

#include "balance/waits/gcc_region.hpp"
#include "balance/waits/marks.hpp"
#include "balance/waits/openmp_region.hpp"
#include "balance/waits/originals.hpp"

namespace {

using namespace tauto::balance;

// Marks nothing in a program with tasks.
class barrier_mark {
  public:
    [[gnu::always_inline]] barrier_mark() noexcept
        : begun_(tasks_seen.load(std::memory_order_relaxed)
                     ? nullptr
                     : begin_mark(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)))) {
        this_thread.meets = true;
        note_progress(begun_, !this_thread.part.spins);
        if (begun_ != nullptr && begun_->waits().depth == 1) time_wait(begun_);
    }
    [[gnu::always_inline]] ~barrier_mark() {
        if (begun_ != nullptr && begun_ == this_thread.own) end_barrier(*begun_);
        take_cpu_back();
        end_mark(begun_);
    }
    barrier_mark(const barrier_mark&) = delete;
    barrier_mark& operator=(const barrier_mark&) = delete;

  private:
    slot* begun_;
};

}  // namespace

// A function of the runtime that waits. All of these are without exceptions: no program may throw through
// them.
#define TAUTO_BARRIER(RESULT, NAME, PARAMETERS, ARGUMENTS)                  \
    TAUTO_IN_FRONT RESULT NAME PARAMETERS noexcept;                         \
    TAUTO_RUNTIME(NAME);                                                    \
    TAUTO_IN_FRONT RESULT NAME PARAMETERS noexcept {                        \
        const barrier_mark waiting;                                         \
        return original<RESULT PARAMETERS noexcept>(real_##NAME) ARGUMENTS; \
    }

#define TAUTO_GCC_BARRIER(NAME)                   \
    TAUTO_IN_FRONT void NAME() noexcept;          \
    TAUTO_RUNTIME(NAME);                          \
    TAUTO_IN_FRONT void NAME() noexcept {         \
        if (meets_in_a_row()) return;             \
        follow_waits();                           \
        const barrier_mark waiting;               \
        original<void() noexcept>(real_##NAME)(); \
    }

TAUTO_GCC_BARRIER(GOMP_barrier)
TAUTO_GCC_BARRIER(GOMP_loop_end)
TAUTO_GCC_BARRIER(GOMP_sections_end)
TAUTO_BARRIER(bool, GOMP_barrier_cancel, (), ())
TAUTO_BARRIER(bool, GOMP_loop_end_cancel, (), ())
TAUTO_BARRIER(bool, GOMP_sections_end_cancel, (), ())
TAUTO_BARRIER(void, __kmpc_barrier, (void* where, std::int32_t thread), (where, thread))
TAUTO_BARRIER(std::int32_t, __kmpc_cancel_barrier, (void* where, std::int32_t thread), (where, thread))
TAUTO_BARRIER(std::int32_t, __kmpc_reduce,
              (void* where, std::int32_t thread, std::int32_t count, std::size_t size, void* data,
               void (*join)(void*, void*), void* lock),
              (where, thread, count, size, data, join, lock))
TAUTO_BARRIER(void, __kmpc_end_reduce, (void* where, std::int32_t thread, void* lock), (where, thread, lock))

// What makes tasks. All arguments are whole words; those that a version of the runtime does not have are not
// read.
#define TAUTO_TASKS(RESULT, NAME)                                                                      \
    TAUTO_IN_FRONT RESULT NAME(long a, long b, long c, long d, long e, long f, long g, long h, long i, \
                               long j, long k);                                                        \
    TAUTO_RUNTIME(NAME);                                                                               \
    TAUTO_IN_FRONT RESULT NAME(long a, long b, long c, long d, long e, long f, long g, long h, long i, \
                               long j, long k) {                                                       \
        openmp_has_tasks();                                                                            \
        return original<RESULT(long, long, long, long, long, long, long, long, long, long, long)>(     \
            real_##NAME)(a, b, c, d, e, f, g, h, i, j, k);                                             \
    }
TAUTO_TASKS(void, GOMP_task)
TAUTO_TASKS(void, GOMP_taskloop)
TAUTO_TASKS(void, GOMP_taskloop_ull)
TAUTO_TASKS(void*, __kmpc_omp_task_alloc)
TAUTO_TASKS(void*, __kmpc_omp_target_task_alloc)
