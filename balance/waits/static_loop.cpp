// Static loops of LLVM's OpenMP runtime, shared out by the speeds of CPUs instead of equally.
//
// What makes it safe: OpenMP promises that two static loops of one region with as many iterations are shared
// out alike, and nothing between regions nor about the size of a share. A member's share is a function of the
// number of iterations, of its number in the team and of what the thread that forked has fixed for the whole
// region.
//
// Left as they are: loops with a chunk or any schedule but plain static, sections, loops of `distribute`,
// regions inside others, teams of another size than there are CPUs with a weight, teams with two members on
// one CPU, and loops with few iterations for each member, which are often one for each thread. A program that
// keeps data for each thread from one region to the next (threadprivate) and finds it by iteration relies on
// more than OpenMP promises; it cannot be told from others.

#include "balance/waits/static_loop.hpp"

#include <dlfcn.h>

#include <type_traits>

#include "balance/waits/marks.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/shares.hpp"

namespace {

using namespace tauto::balance;

constexpr std::int32_t plain_static = 34;
constexpr std::int32_t sections_or_distribute = 0x400 | 0x800;
constexpr std::uint32_t fewest_iterations = 16;  // of each member

// The start of LLVM's description of a place in the source.
struct place {
    std::int32_t reserved;
    std::int32_t flags;
};

struct team_functions {
    std::int32_t (*size)() = nullptr;
    std::int32_t (*level)() = nullptr;
    // Of the team that this thread forks next, in milliseconds; both or none.
    int (*spin_time)() = nullptr;
    void (*set_spin_time)(int milliseconds) = nullptr;
};

void* base_of(void* function) noexcept {
    Dl_info where{};
    return function != nullptr && dladdr(function, &where) != 0 ? where.dli_fbase : nullptr;
}

// Of the runtime that has the loops: there may be two in a program, and GCC's knows nothing of LLVM's teams.
team_functions find_team_functions() noexcept {
    void* runtime = base_of(dlsym(RTLD_NEXT, "__kmpc_fork_call"));
    void* size = dlsym(RTLD_NEXT, "omp_get_num_threads");
    void* level = dlsym(RTLD_NEXT, "omp_get_level");
    if (runtime == nullptr || base_of(size) != runtime || base_of(level) != runtime ||
        base_of(dlsym(RTLD_NEXT, "__kmpc_for_static_init_4")) != runtime)
        return {};
    void* spin_time = dlsym(RTLD_NEXT, "kmp_get_blocktime");
    void* set_spin_time = dlsym(RTLD_NEXT, "kmp_set_blocktime");
    if (base_of(spin_time) != runtime || base_of(set_spin_time) != runtime)
        spin_time = set_spin_time = nullptr;
    return {reinterpret_cast<std::int32_t (*)()>(size), reinterpret_cast<std::int32_t (*)()>(level),
            reinterpret_cast<int (*)()>(spin_time), reinterpret_cast<void (*)(int)>(set_spin_time)};
}

std::atomic<int> looked{0};  // 1: found, 2: not there
team_functions functions;
std::atomic<bool> program_sets_spin_time{false};

// `before` of `whole` of so many iterations, rounded.
std::uint64_t part_of(std::uint64_t iterations, std::uint32_t before) noexcept {
    return (iterations / whole) * before + ((iterations % whole) * before + whole / 2) / whole;
}

template <class Bound, class Step>
std::uint64_t count_iterations(Bound lower, Bound upper, Step step) noexcept {
    using plain = std::make_unsigned_t<Bound>;
    const auto from = static_cast<plain>(lower);
    const auto to = static_cast<plain>(upper);
    const auto by = static_cast<plain>(step);
    if (step > 0 && upper >= lower) {
        const auto more = static_cast<plain>(static_cast<plain>(to - from) / by);
        return static_cast<plain>(more + 1);
    }
    if (step < 0 && lower >= upper) {
        const auto more =
            static_cast<plain>(static_cast<plain>(from - to) / static_cast<plain>(plain{0} - by));
        return static_cast<plain>(more + 1);
    }
    return 0;
}

template <class Bound, class Step>
struct loop_bounds {
    std::int32_t* last;
    Bound* lower;
    Bound* upper;
    Step step;
};

// After the runtime's own shares: this member's by weight. All members decide alike, since they ask for
// nothing but what they have in common.
template <class Bound, class Step>
void share_by_weight(const place* where, Bound lower, Bound upper,
                     const loop_bounds<Bound, Step>& loop) noexcept {
    using plain = std::make_unsigned_t<Bound>;
    const region_shares& shares = *this_thread.part.shares;
    const std::uint64_t iterations = count_iterations(lower, upper, loop.step);
    if (iterations < std::uint64_t{fewest_iterations} * shares.members() || where == nullptr ||
        (where->flags & sections_or_distribute) != 0 || region_level() != this_thread.part.level ||
        team_size() != shares.members())
        return;
    this_thread.part.asked = true;
    const auto member = static_cast<std::size_t>(this_thread.part.member);
    const std::uint64_t first = part_of(iterations, shares.before(member));
    const std::uint64_t end = part_of(iterations, shares.before(member + 1));
    const auto at = [&](std::uint64_t iteration) {
        return static_cast<Bound>(
            static_cast<plain>(lower) +
            static_cast<plain>(static_cast<plain>(loop.step) * static_cast<plain>(iteration)));
    };
    if (first < end) {
        *loop.lower = at(first);
        *loop.upper = at(end - 1);
    } else {  // none: neither bound leaves the loop's own
        *loop.lower = at(1);
        *loop.upper = at(0);
    }
    if (loop.last != nullptr) *loop.last = first < end && end == iterations;
}

}  // namespace

namespace tauto::balance {

bool static_loops_are_known() noexcept {
    int known = looked.load(std::memory_order_acquire);
    if (known == 0) {
        static std::atomic<bool> looking{false};
        if (looking.exchange(true, std::memory_order_acquire))
            return false;  // another thread does: next time
        functions = find_team_functions();
        known = functions.level != nullptr ? 1 : 2;
        looked.store(known, std::memory_order_release);
    }
    return known == 1;
}

std::uint32_t team_size() noexcept {
    return static_cast<std::uint32_t>(functions.size());
}

std::int32_t region_level() noexcept {
    return functions.level();
}

bool can_spin() noexcept {
    return functions.set_spin_time != nullptr && !program_sets_spin_time.load(std::memory_order_relaxed);
}

int spin_time() noexcept {
    return functions.spin_time();
}

void spin_for(int milliseconds) noexcept {
    functions.set_spin_time(milliseconds);
}

}  // namespace tauto::balance

// A program that chooses itself how long it spins is obeyed.
TAUTO_IN_FRONT void kmp_set_blocktime(int milliseconds);
TAUTO_RUNTIME(kmp_set_blocktime);
TAUTO_IN_FRONT void kmp_set_blocktime(int milliseconds) {
    program_sets_spin_time.store(true, std::memory_order_relaxed);
    original<void(int)>(real_kmp_set_blocktime)(milliseconds);
}

TAUTO_IN_FRONT void kmp_set_blocktime_(const int* milliseconds);
TAUTO_RUNTIME(kmp_set_blocktime_);
TAUTO_IN_FRONT void kmp_set_blocktime_(const int* milliseconds) {
    program_sets_spin_time.store(true, std::memory_order_relaxed);
    original<void(const int*)>(real_kmp_set_blocktime_)(milliseconds);
}

#define TAUTO_STATIC_LOOP(NAME, BOUND, STEP)                                                                 \
    TAUTO_IN_FRONT void NAME(const place* where, std::int32_t thread, std::int32_t schedule,                 \
                             std::int32_t* last, BOUND* lower, BOUND* upper, STEP* stride, STEP step,        \
                             STEP chunk);                                                                    \
    TAUTO_RUNTIME(NAME);                                                                                     \
    TAUTO_IN_FRONT void NAME(const place* where, std::int32_t thread, std::int32_t schedule,                 \
                             std::int32_t* last, BOUND* lower, BOUND* upper, STEP* stride, STEP step,        \
                             STEP chunk) {                                                                   \
        const BOUND from = *lower;                                                                           \
        const BOUND to = *upper;                                                                             \
        original<void(const place*, std::int32_t, std::int32_t, std::int32_t*, BOUND*, BOUND*, STEP*, STEP,  \
                      STEP)>(real_##NAME)(where, thread, schedule, last, lower, upper, stride, step, chunk); \
        if (this_thread.part.shares != nullptr && schedule == plain_static)                                  \
            share_by_weight(where, from, to, loop_bounds<BOUND, STEP>{last, lower, upper, step});            \
    }

TAUTO_STATIC_LOOP(__kmpc_for_static_init_4, std::int32_t, std::int32_t)
TAUTO_STATIC_LOOP(__kmpc_for_static_init_4u, std::uint32_t, std::int32_t)
TAUTO_STATIC_LOOP(__kmpc_for_static_init_8, std::int64_t, std::int64_t)
TAUTO_STATIC_LOOP(__kmpc_for_static_init_8u, std::uint64_t, std::int64_t)
