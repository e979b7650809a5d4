// What the threads of a team of GCC's OpenMP share out among themselves inside of a region: loops, sections,
// and what one of them alone does.
//
// The parts of a row (part_row.hpp) share them out among those that run at the same time; the others find
// nothing left. Any schedule but the static one may do that, and take several of its chunks at once; static
// loops are shared out by the compiler.

#include <cstdint>

#include "balance/waits/gcc_region.hpp"
#include "balance/waits/marks.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/part_row.hpp"

namespace tauto::balance {

namespace {

bool comes_first(running_part& part) noexcept {
    if (part.row != nullptr) return part.row->take_single();
    part.alone = 0;
    return true;
}

bool take(running_part& part, std::uint64_t& first, std::uint64_t& end) noexcept {
    if (part.row != nullptr) return part.row->take_pieces(first, end);
    first = part.alone;
    end = part.alone = part.work.pieces;
    return first < end;
}

template <class Number>
bool next_of_loop(running_part& part, Number* from, Number* to) noexcept {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    if (!take(part, first, end)) return false;
    const shared_work& work = part.work;
    *from = static_cast<Number>(work.begin + first * work.step);
    *to = static_cast<Number>(end == work.pieces ? work.end : work.begin + end * work.step);
    return true;
}

template <class Number>
bool start_loop(running_part& part, const shared_work& work, Number* from, Number* to) noexcept {
    comes_first(part);
    part.work = work;
    return next_of_loop(part, from, to);
}

unsigned next_section(running_part& part) noexcept {
    if (part.section == part.sections) {
        std::uint64_t first = 0;
        std::uint64_t end = 0;
        if (!take(part, first, end)) return 0;
        part.section = static_cast<std::uint32_t>(first);
        part.sections = static_cast<std::uint32_t>(end);
    }
    return ++part.section;
}

// One at least, and less than 2^64 - 1.
shared_work loop_work(bool up, std::uint64_t begin, std::uint64_t end, std::uint64_t step,
                      std::uint64_t chunk) noexcept {
    const std::uint64_t stride = up ? step : 0 - step;
    const std::uint64_t length = up ? end - begin : begin - end;
    return {begin, end, step, (length - 1) / stride + 1, chunk};
}

}  // namespace

shared_work signed_loop_work(long begin, long end, long step, long chunk) noexcept {
    const bool up = step > 0;
    if (up ? begin >= end : begin <= end) return {};
    return loop_work(up, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end),
                     static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(chunk));
}

shared_work unsigned_loop_work(bool up, std::uint64_t begin, std::uint64_t end, std::uint64_t step,
                               std::uint64_t chunk) noexcept {
    if (up ? begin >= end : begin <= end) return {};
    return loop_work(up, begin, end, step, chunk);
}

shared_work sections_work(unsigned count) noexcept {
    return {0, count, 1, count, 1};
}

}  // namespace tauto::balance

using namespace tauto::balance;

TAUTO_IN_FRONT bool GOMP_single_start();
TAUTO_RUNTIME(GOMP_single_start);
TAUTO_IN_FRONT bool GOMP_single_start() {
    if (running_part* part = part_in_row(); part != nullptr) return comes_first(*part);
    return original<bool()>(real_GOMP_single_start)();
}

TAUTO_IN_FRONT unsigned GOMP_sections_start(unsigned count);
TAUTO_RUNTIME(GOMP_sections_start);
TAUTO_IN_FRONT unsigned GOMP_sections_start(unsigned count) {
    if (running_part* part = part_in_row(); part != nullptr) {
        comes_first(*part);
        part->work = sections_work(count);
        part->section = part->sections = 0;
        return next_section(*part);
    }
    return original<unsigned(unsigned)>(real_GOMP_sections_start)(count);
}

TAUTO_IN_FRONT unsigned GOMP_sections_next();
TAUTO_RUNTIME(GOMP_sections_next);
TAUTO_IN_FRONT unsigned GOMP_sections_next() {
    if (running_part* part = part_in_row(); part != nullptr) return next_section(*part);
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

#define TAUTO_SHARED_START(NAME, WORK, PARAMETERS, ...)                                                    \
    TAUTO_IN_FRONT bool NAME PARAMETERS;                                                                   \
    TAUTO_RUNTIME(NAME);                                                                                   \
    TAUTO_IN_FRONT bool NAME PARAMETERS {                                                                  \
        if (running_part* part = part_in_row(); part != nullptr) return start_loop(*part, WORK, from, to); \
        return original<bool PARAMETERS>(real_##NAME)(__VA_ARGS__);                                        \
    }
#define TAUTO_SHARED_NEXT(NAME, NUMBER)                                                                \
    TAUTO_IN_FRONT bool NAME(NUMBER* from, NUMBER* to);                                                \
    TAUTO_RUNTIME(NAME);                                                                               \
    TAUTO_IN_FRONT bool NAME(NUMBER* from, NUMBER* to) {                                               \
        if (running_part* part = part_in_row(); part != nullptr) return next_of_loop(*part, from, to); \
        return original<bool(NUMBER*, NUMBER*)>(real_##NAME)(from, to);                                \
    }

// With a size of chunks, and with the one of OMP_SCHEDULE; the second of each kind counts without a sign.
#define TAUTO_CHUNKED_LOOP(KIND)                                                                        \
    TAUTO_SHARED_START(GOMP_loop_##KIND##_start, signed_loop_work(begin, end, step, chunk),             \
                       (long begin, long end, long step, long chunk, long* from, long* to), begin, end, \
                       step, chunk, from, to)                                                           \
    TAUTO_SHARED_NEXT(GOMP_loop_##KIND##_next, long)                                                    \
    TAUTO_SHARED_START(GOMP_loop_ull_##KIND##_start, unsigned_loop_work(up, begin, end, step, chunk),   \
                       (bool up, std::uint64_t begin, std::uint64_t end, std::uint64_t step,            \
                        std::uint64_t chunk, std::uint64_t* from, std::uint64_t* to),                   \
                       up, begin, end, step, chunk, from, to)                                           \
    TAUTO_SHARED_NEXT(GOMP_loop_ull_##KIND##_next, std::uint64_t)
#define TAUTO_RUNTIME_LOOP(KIND)                                                                            \
    TAUTO_SHARED_START(GOMP_loop_##KIND##_start, signed_loop_work(begin, end, step, 1),                     \
                       (long begin, long end, long step, long* from, long* to), begin, end, step, from, to) \
    TAUTO_SHARED_NEXT(GOMP_loop_##KIND##_next, long)                                                        \
    TAUTO_SHARED_START(GOMP_loop_ull_##KIND##_start, unsigned_loop_work(up, begin, end, step, 1),           \
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
