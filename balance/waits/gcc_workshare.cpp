// What the threads of a team of GCC's OpenMP share out among themselves inside of a region: loops, sections,
// and what one of them alone does.
//
// A part of a row (part_row.hpp) that comes to such a place first takes all of it, and the others find
// nothing left: any schedule but the static one may do that, and static loops are shared out by the compiler.
// It happens in one run of a region at most: from then on, and from the start where a region was seen to
// share something out, each part has a thread.

#include <cstdint>

#include "balance/waits/marks.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/part_row.hpp"

namespace {

using namespace tauto::balance;

bool takes_it(running_part& part) noexcept {
    return part.row == nullptr || part.row->take_single();
}

template <class Number>
bool take_loop(running_part& part, bool up, Number begin, Number end, Number* from, Number* to) noexcept {
    if (!takes_it(part) || (up ? begin >= end : begin <= end)) return false;
    *from = begin;
    *to = end;
    return true;
}

}  // namespace

TAUTO_IN_FRONT bool GOMP_single_start();
TAUTO_RUNTIME(GOMP_single_start);
TAUTO_IN_FRONT bool GOMP_single_start() {
    if (running_part* part = part_in_row(); part != nullptr) return takes_it(*part);
    this_thread.meets = true;
    return original<bool()>(real_GOMP_single_start)();
}

TAUTO_IN_FRONT unsigned GOMP_sections_start(unsigned count);
TAUTO_RUNTIME(GOMP_sections_start);
TAUTO_IN_FRONT unsigned GOMP_sections_start(unsigned count) {
    if (running_part* part = part_in_row(); part != nullptr) {
        const bool takes = takes_it(*part) && count > 0;
        part->sections_left = takes ? count - 1 : 0;
        return part->section = takes ? 1 : 0;
    }
    this_thread.meets = true;
    return original<unsigned(unsigned)>(real_GOMP_sections_start)(count);
}

TAUTO_IN_FRONT unsigned GOMP_sections_next();
TAUTO_RUNTIME(GOMP_sections_next);
TAUTO_IN_FRONT unsigned GOMP_sections_next() {
    if (running_part* part = part_in_row(); part != nullptr) {
        if (part->sections_left == 0) return 0;
        --part->sections_left;
        return ++part->section;
    }
    return original<unsigned()>(real_GOMP_sections_next)();
}

#define TAUTO_END_WITHOUT_WAIT(NAME)                                   \
    TAUTO_IN_FRONT void NAME();                                        \
    TAUTO_RUNTIME(NAME);                                               \
    TAUTO_IN_FRONT void NAME() {                                       \
        if (part_in_row() == nullptr) original<void()>(real_##NAME)(); \
    }
TAUTO_END_WITHOUT_WAIT(GOMP_loop_end_nowait)
TAUTO_END_WITHOUT_WAIT(GOMP_sections_end_nowait)

#define TAUTO_SHARED_START(NAME, UP, PARAMETERS, ...)               \
    TAUTO_IN_FRONT bool NAME PARAMETERS;                            \
    TAUTO_RUNTIME(NAME);                                            \
    TAUTO_IN_FRONT bool NAME PARAMETERS {                           \
        if (running_part* part = part_in_row(); part != nullptr)    \
            return take_loop(*part, UP, begin, end, from, to);      \
        this_thread.meets = true;                                   \
        return original<bool PARAMETERS>(real_##NAME)(__VA_ARGS__); \
    }
#define TAUTO_SHARED_NEXT(NAME, NUMBER)                                 \
    TAUTO_IN_FRONT bool NAME(NUMBER* from, NUMBER* to);                 \
    TAUTO_RUNTIME(NAME);                                                \
    TAUTO_IN_FRONT bool NAME(NUMBER* from, NUMBER* to) {                \
        if (part_in_row() != nullptr) return false;                     \
        return original<bool(NUMBER*, NUMBER*)>(real_##NAME)(from, to); \
    }

// With a size of chunks, and with the one of OMP_SCHEDULE; the second of each kind counts without a sign.
#define TAUTO_CHUNKED_LOOP(KIND)                                                                        \
    TAUTO_SHARED_START(GOMP_loop_##KIND##_start, step > 0,                                              \
                       (long begin, long end, long step, long chunk, long* from, long* to), begin, end, \
                       step, chunk, from, to)                                                           \
    TAUTO_SHARED_NEXT(GOMP_loop_##KIND##_next, long)                                                    \
    TAUTO_SHARED_START(GOMP_loop_ull_##KIND##_start, up,                                                \
                       (bool up, std::uint64_t begin, std::uint64_t end, std::uint64_t step,            \
                        std::uint64_t chunk, std::uint64_t* from, std::uint64_t* to),                   \
                       up, begin, end, step, chunk, from, to)                                           \
    TAUTO_SHARED_NEXT(GOMP_loop_ull_##KIND##_next, std::uint64_t)
#define TAUTO_RUNTIME_LOOP(KIND)                                                                            \
    TAUTO_SHARED_START(GOMP_loop_##KIND##_start, step > 0,                                                  \
                       (long begin, long end, long step, long* from, long* to), begin, end, step, from, to) \
    TAUTO_SHARED_NEXT(GOMP_loop_##KIND##_next, long)                                                        \
    TAUTO_SHARED_START(GOMP_loop_ull_##KIND##_start, up,                                                    \
                       (bool up, std::uint64_t begin, std::uint64_t end, std::uint64_t step,                \
                        std::uint64_t* from, std::uint64_t* to),                                            \
                       up, begin, end, step, from, to)                                                      \
    TAUTO_SHARED_NEXT(GOMP_loop_ull_##KIND##_next, std::uint64_t)

TAUTO_CHUNKED_LOOP(dynamic)
TAUTO_CHUNKED_LOOP(guided)
TAUTO_CHUNKED_LOOP(nonmonotonic_dynamic)
TAUTO_CHUNKED_LOOP(nonmonotonic_guided)
TAUTO_RUNTIME_LOOP(runtime)
TAUTO_RUNTIME_LOOP(nonmonotonic_runtime)
TAUTO_RUNTIME_LOOP(maybe_nonmonotonic_runtime)
