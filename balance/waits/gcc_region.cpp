// Parallel regions of GCC's OpenMP runtime.
//
// Where the controller keeps the threads of a program on seats, the parts of a short region may be run by a
// thread for each CPU (part_row.hpp): by the one that forks, and by threads that this library starts. Where
// all are held on one CPU, the one that forks may run them all. That is done where no part can tell the
// difference (part_safety.hpp), and only as long as it takes less time (part_choice.hpp).

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "balance/waits/gcc_region.hpp"
#include "balance/waits/idle_team.hpp"
#include "balance/waits/marks.hpp"
#include "balance/waits/openmp_region.hpp"
#include "balance/waits/originals.hpp"
#include "balance/waits/own_thread.hpp"
#include "balance/waits/part_choice.hpp"
#include "balance/waits/part_row.hpp"
#include "balance/waits/part_safety.hpp"

// What a part of a row asks the runtime is answered here. `name_` is Fortran's.
#define TAUTO_ASKED(RESULT, NAME) \
    TAUTO_IN_FRONT RESULT NAME(); \
    TAUTO_RUNTIME(NAME)
TAUTO_ASKED(int, omp_get_thread_num);
TAUTO_ASKED(int, omp_get_thread_num_);
TAUTO_ASKED(int, omp_get_num_threads);
TAUTO_ASKED(int, omp_get_num_threads_);
TAUTO_ASKED(int, omp_get_max_threads);
TAUTO_ASKED(int, omp_get_max_threads_);
TAUTO_ASKED(int, omp_in_parallel);
TAUTO_ASKED(int, omp_in_parallel_);
TAUTO_IN_FRONT void GOMP_parallel(void (*code)(void*), void* data, unsigned threads, unsigned flags);
TAUTO_RUNTIME(GOMP_parallel);

namespace tauto::balance {

namespace {

constexpr std::size_t most_codes = 64;
constexpr std::int64_t spins = 1'000'000;   // ns
constexpr double worth_spinning = 2e6;      // ns of a region
constexpr long between_looks = 20'000'000;  // ns, of who looks for rows that do not end
constexpr long between_idle_looks = 100'000'000;
constexpr int looks_until_stuck = 3;
constexpr int looks_until_idle = 50;

constinit part_row the_row{start_detached};

// What the threads of this library know. They only read it.
std::atomic<std::int64_t> helpers_spin{0};  // ns
std::atomic<std::uint64_t> places{0};       // that the forking thread had come past when it forked
std::atomic<int> most_threads{0};           // of a team without a number that a part would fork
std::atomic<bool> rows_end{false};
std::atomic<bool> nests{false};  // the program has asked for teams inside of teams

// One thread's regions are run in rows: that of the process itself. All of this is its own.
struct {
    bool is_broken = false;          // no thread can be started, or it is over
    std::atomic<bool> begun{false};  // a row may have been run; others only ask whether
    std::uint16_t own_cpu = 0;       // 1 + its seat; 0: nothing is known yet
    std::uint32_t runners = 0;
    std::uint32_t helpers = 0;  // that were started
    std::array<double, most_runners> speeds{};
    std::array<std::uint32_t, most_runners> cpus{};
    struct known_code {
        void (*code)(void*) = nullptr;
        part_choice choice;
    };
    std::array<known_code, most_codes> seated{};
    std::array<known_code, most_codes> on_one_cpu{};
} known;

// What a thread of this library is started with.
struct helper {
    std::uint32_t runner = 0;
    std::uint32_t seen = 0;             // the last run before its start
    std::atomic<std::uint32_t> cpu{0};  // 1 + that for which it takes parts
    std::atomic<slot*> own{nullptr};
};
std::array<helper, most_runners> helpers;

std::uint64_t places_of(const slot* one) noexcept {
    return one == nullptr ? 0 : one->passed.load(std::memory_order_relaxed) / 2;
}

// The controller is told for which CPU a helper is.
void tell_cpu(const helper& one) noexcept {
    page* here = the_page();
    if (const slot* own = one.own.load(std::memory_order_acquire); own != nullptr)
        here->helps_on[static_cast<std::size_t>(own - here->slots.data())].store(
            one.cpu.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

// Between two runs a helper waits, and its time is no work.
void begin_rest() noexcept {
    slot* begun = begin_mark(0);
    this_thread.outermost = UINTPTR_MAX;
    if (begun != nullptr) begin_timed_wait(*begun, static_cast<std::uint64_t>(timer::now()));
}

void end_rest() noexcept {
    slot* own = this_thread.own;
    if (own == nullptr) return;
    end_time_of_wait(*own);
    forget_waits(*own);
}

// A runner whose parts all wait for those of others: one place that it comes past.
void note_wait(bool begins) noexcept {
    if (!begins) return end_rest();
    begin_rest();
    note_progress(this_thread.own, false);
}

void* help(void* given) {
    auto& self = *static_cast<helper*>(given);
    if (this_thread.own == nullptr) take_slot();
    self.own.store(this_thread.own, std::memory_order_release);
    tell_cpu(self);
    begin_rest();
    for (std::uint32_t seen = self.seen;;) {
        seen = the_row.wait_for_run(seen, [] { return helpers_spin.load(std::memory_order_relaxed); });
        if (rows_end.load(std::memory_order_acquire)) return nullptr;
        end_rest();
        if (slot* own = this_thread.own; own != nullptr)
            catch_up(*own, places.load(std::memory_order_relaxed));
        const std::int64_t spinning = helpers_spin.load(std::memory_order_relaxed);
        if (the_row.run_parts(self.runner, spinning, note_wait) > 0) note_progress(this_thread.own, false);
        begin_rest();
    }
}

// A part may look at memory until another one writes there, which nobody has begun, or gone on with behind a
// barrier.
void* look_for_stuck_rows(void*) {
    be_idle();
    std::uint64_t seen = 0;
    int looks = 0;
    while (!rows_end.load(std::memory_order_acquire)) {
        const timespec pause{0, looks < looks_until_idle ? between_looks : between_idle_looks};
        nanosleep(&pause, nullptr);
        const std::uint32_t run = the_row.runs();
        const std::uint64_t progress = the_row.progress();
        looks = progress == seen ? looks + 1 : 0;
        seen = progress;
        if (looks < looks_until_stuck || !the_row.runs_now()) continue;
        the_row.start_unbegun(run);
        the_row.start_waiting();
    }
    return nullptr;
}

bool begin_rows() noexcept {
    if (known.begun.load(std::memory_order_relaxed)) return true;
    const bool looks = start_idle(look_for_stuck_rows, nullptr);
    known.begun.store(looks, std::memory_order_relaxed);
    return looks;
}

bool start_helpers(std::uint32_t runners) noexcept {
    for (; known.helpers + 1 < runners; ++known.helpers) {
        helper& one = helpers[known.helpers + 1];
        one.runner = known.helpers + 1;
        one.seen = the_row.runs();
        one.cpu.store(known.cpus[one.runner], std::memory_order_relaxed);
        if (!start_detached(help, &one)) return false;
    }
    return true;
}

// The controller has put each helper onto its CPU.
bool helpers_sit(std::uint32_t runners) noexcept {
    for (std::uint32_t k = 1; k < runners; ++k) {
        const slot* own = helpers[k].own.load(std::memory_order_acquire);
        if (own == nullptr) return false;
        const hold_value seat = own->held.read(std::memory_order_relaxed);
        if (seat.state != is_held || seat.on != helpers[k].cpu.load(std::memory_order_relaxed)) return false;
    }
    return true;
}

// Each CPU that the program was given and that has a pace gets a runner, the forking thread's first.
void seat_runners(const page& here, std::uint16_t own_cpu) noexcept {
    known.own_cpu = own_cpu;
    for (auto& one : known.seated) one.code = nullptr;
    std::array<std::pair<std::uint32_t, std::uint32_t>, most_runners> found{};  // pace, 1 + CPU
    std::uint32_t count = 0;
    for (std::uint32_t cpu = 0; cpu < CPU_SETSIZE && count + 1 < most_runners; ++cpu) {
        const std::uint32_t pace = here.paces[cpu].load(std::memory_order_relaxed);
        if (CPU_ISSET(cpu, &here.given) && pace > 0 && cpu + 1 != own_cpu) found[count++] = {pace, cpu + 1};
    }
    std::sort(found.begin(), found.begin() + count, std::greater<>());
    known.runners = count + 1;
    known.speeds[0] = std::max(1U, here.paces[own_cpu - 1U].load(std::memory_order_relaxed));
    known.cpus[0] = own_cpu;
    for (std::uint32_t k = 0; k < count; ++k) {
        known.speeds[k + 1] = found[k].first;
        known.cpus[k + 1] = found[k].second;
    }
    for (std::uint32_t k = 1; k <= known.helpers; ++k) {
        helpers[k].cpu.store(k < known.runners ? known.cpus[k] : 0, std::memory_order_relaxed);
        tell_cpu(helpers[k]);
    }
}

// For a region that this thread forks now, with as many parts as its team has threads: `threads`, or 0 where
// it names no number; null where it must have them all.
part_choice* choice_for(void (*code)(void*), unsigned threads, unsigned flags) noexcept {
    page* here = the_page();
    const slot* own = this_thread.own;
    constexpr unsigned places_asked = 7;
    if (here == nullptr || own == nullptr || (flags & places_asked) != 0 || this_thread.in_region ||
        tasks_seen.load(std::memory_order_relaxed) || nests.load(std::memory_order_relaxed))
        return nullptr;
    const hold_value seat = own->held.read(std::memory_order_relaxed);
    if (seat.state != is_held || seat.on > most_cpus) return nullptr;
    const bool sits = seat.on > 0 && here->lending.load(std::memory_order_relaxed) != 0;
    const bool all_on_one = seat.on == 0 && here->crowded.load(std::memory_order_relaxed) == 1;
    if (!(sits || all_on_one) || own->thread() != getpid() || known.is_broken) return nullptr;
    const auto parts = threads != 0 ? threads : static_cast<std::uint32_t>(omp_get_max_threads());
    if (parts < 2 || parts > most_parts || !parts_can_share_a_thread()) return nullptr;
    if (sits && seat.on != known.own_cpu) seat_runners(*here, seat.on);
    if (sits && known.runners < 2) return nullptr;
    constexpr double own_speed = 1;
    const std::span<const double> speeds =
        sits ? std::span<const double>{known.speeds.data(), known.runners} : std::span{&own_speed, 1};
    auto& codes = sits ? known.seated : known.on_one_cpu;
    auto at = reinterpret_cast<std::uintptr_t>(code) / 16;
    for (std::size_t tries = 0; tries < most_codes; ++tries, ++at) {
        auto& one = codes[at % most_codes];
        if (one.code != nullptr && one.code != code) continue;
        if (one.code == nullptr || one.choice.parts() != parts) {
            one.code = code;
            one.choice.begin(parts, speeds);
        }
        return &one.choice;
    }
    return nullptr;
}

std::int64_t spinning_suits(const part_choice& choice) noexcept {
    return may_spin() && choice.length() < worth_spinning ? spins : 0;
}

void run_in_a_row(part_choice& choice, void (*code)(void*), void* data, const shared_work* work) noexcept {
    const std::int64_t spinning = spinning_suits(choice);
    helpers_spin.store(choice.counts().size() > 1 ? spinning : 0, std::memory_order_relaxed);
    places.store(places_of(this_thread.own), std::memory_order_relaxed);
    most_threads.store(omp_get_max_threads(), std::memory_order_relaxed);
    const timer::nanoseconds began = timer::now();
    this_thread.in_region = true;
    const std::uint32_t met = the_row.meetings();
    the_row.begin(code, data, choice.counts(), choice.speeds(), choice.on_stacks(), work);
    the_row.run_parts(0, spinning, note_wait);
    this_thread.in_region = false;
    forked_region region{&this_thread, nullptr, true};
    end_part(region);
    the_row.join(spinning);
    end_join(region);
    const auto took = static_cast<double>(timer::now() - began);
    if (page* here = the_page()) here->in_a_row.fetch_add(1, std::memory_order_relaxed);
    if (the_row.has_met() && !choice.on_stacks()) return choice.parts_meet();
    if (the_row.was_rescued()) return choice.refuse();
    if (the_row.has_shared_out()) choice.parts_share_out();
    std::array<runner_seen, most_runners> seen;
    for (std::uint32_t k = 0; k < choice.runners(); ++k) seen[k] = the_row.seen(k);
    choice.note_row(took, {seen.data(), choice.runners()}, 1 + the_row.meetings() - met);
}

// A region inside of a part of a row has one part.
void run_alone(void (*code)(void*), void* data, const shared_work* work) {
    running_part inside;
    if (work != nullptr) inside.work = *work;
    running_part* const around = std::exchange(part_in_row(), &inside);
    code(data);
    part_in_row() = around;
}

// A region, on the stack of the thread that forks. It lives until all have ended their parts.
struct gcc_region : forked_region {
    void (*code)(void*) = nullptr;
    void* data = nullptr;
    std::atomic<bool> meets{false};  // its parts wait for each other
};

void run_gcc_part(void* given) {
    auto& region = *static_cast<gcc_region*>(given);
    begin_part(region);
    this_thread.meets = false;
    region.code(region.data);
    if (this_thread.meets) region.meets.store(true, std::memory_order_relaxed);
    this_thread.meets = true;  // what the part around this one did before is not known any more
    end_part(region);
}

// With a thread for each part. Whether its parts waited for each other.
template <class... Rest>
bool fork_gcc(original_function& name, void (*code)(void*), void* data, Rest... rest) {
    gcc_region region;
    region.forker = &this_thread;
    region.code = code;
    region.data = data;
    if (!this_thread.in_region && known.begun.load(std::memory_order_relaxed)) {
        helpers_spin.store(0, std::memory_order_relaxed);
        region.places = places_of(this_thread.own);
    }
    send_guests_home();
    const bool inside = std::exchange(this_thread.in_region, true);
    original<void(void (*)(void*), void*, Rest...)>(name)(run_gcc_part, &region, rest...);
    this_thread.in_region = inside;
    end_join(region);
    return region.meets.load(std::memory_order_relaxed);
}

// `work`: of a region that is a loop or sections, null where it is none; `rest`: what follows the number of
// threads.
template <class... Rest>
void fork_parallel(original_function& name, const shared_work* work, void (*code)(void*), void* data,
                   unsigned threads, unsigned flags, Rest... rest) {
    if (part_in_row() != nullptr) return run_alone(code, data, work);
    follow_waits(threads);
    part_choice* const choice = choice_for(code, threads, flags);
    if (choice != nullptr && choice->in_a_row()) {
        if (choice->on_stacks() && !the_row.make_stacks(choice->parts())) choice->refuse();
        known.is_broken = !begin_rows() || !start_helpers(choice->runners());
        if (!known.is_broken && choice->in_a_row() && helpers_sit(choice->runners()))
            return run_in_a_row(*choice, code, data, work);
    }
    if (choice == nullptr || choice->in_a_row()) {
        fork_gcc(name, code, data, threads, rest...);
        return;
    }
    const timer::nanoseconds began = timer::now();
    const std::uint64_t before = places_of(this_thread.own);
    const bool meets = fork_gcc(name, code, data, threads, rest...);
    const std::uint64_t phases = std::max<std::uint64_t>(1, places_of(this_thread.own) - before);
    if (meets) choice->parts_meet();
    choice->note_threads(static_cast<double>(timer::now() - began), static_cast<std::uint32_t>(phases));
}

int most_threads_in(const running_part& part) noexcept {
    return part.row == nullptr ? 1 : most_threads.load(std::memory_order_relaxed);
}

}  // namespace

void follow_waits(unsigned threads) noexcept {
    if (!waits_shall_change()) return;
    const int error = errno;
    change_waits(threads != 0 ? threads : static_cast<unsigned>(omp_get_max_threads()),
                 original<fork_function>(real_GOMP_parallel));
    errno = error;
}

bool meets_in_a_row() noexcept {
    const running_part* part = part_in_row();
    if (part == nullptr) return false;
    if (part->row != nullptr) part->row->meet();
    return true;
}

void forget_rows() noexcept {
    if (!known.begun.exchange(false, std::memory_order_relaxed)) return;
    the_row.forget_runners();
    known.is_broken = true;
    known.helpers = 0;
}

void end_rows_of_this_thread() noexcept {
    if (!known.begun.load(std::memory_order_relaxed) || this_thread.own == nullptr ||
        this_thread.own->thread() != getpid())
        return;
    known.is_broken = true;
    rows_end.store(true, std::memory_order_release);
    the_row.begin(nullptr, nullptr, {}, {});
}

}  // namespace tauto::balance

using namespace tauto::balance;

TAUTO_IN_FRONT void GOMP_parallel(void (*code)(void*), void* data, unsigned threads, unsigned flags) {
    fork_parallel(real_GOMP_parallel, nullptr, code, data, threads, flags, flags);
}

// Regions that are a loop or sections, and differ in what follows code, data and the number of threads.
#define TAUTO_REGION(NAME, WORK, PARAMETERS, ...)                                   \
    TAUTO_IN_FRONT void NAME PARAMETERS;                                            \
    TAUTO_RUNTIME(NAME);                                                            \
    TAUTO_IN_FRONT void NAME PARAMETERS {                                           \
        const shared_work work = WORK;                                              \
        fork_parallel(real_##NAME, &work, code, data, threads, flags, __VA_ARGS__); \
    }

TAUTO_REGION(GOMP_parallel_sections, sections_work(count),
             (void (*code)(void*), void* data, unsigned threads, unsigned count, unsigned flags), count,
             flags)

#define TAUTO_LOOP_REGION(NAME)                                                                       \
    TAUTO_REGION(NAME, signed_loop_work(start, end, step, chunk),                                     \
                 (void (*code)(void*), void* data, unsigned threads, long start, long end, long step, \
                  long chunk, unsigned flags),                                                        \
                 start, end, step, chunk, flags)
TAUTO_LOOP_REGION(GOMP_parallel_loop_static)
TAUTO_LOOP_REGION(GOMP_parallel_loop_dynamic)
TAUTO_LOOP_REGION(GOMP_parallel_loop_guided)
TAUTO_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_dynamic)
TAUTO_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_guided)

#define TAUTO_RUNTIME_LOOP_REGION(NAME)                                                               \
    TAUTO_REGION(NAME, signed_loop_work(start, end, step, 1),                                         \
                 (void (*code)(void*), void* data, unsigned threads, long start, long end, long step, \
                  unsigned flags),                                                                    \
                 start, end, step, flags)
TAUTO_RUNTIME_LOOP_REGION(GOMP_parallel_loop_runtime)
TAUTO_RUNTIME_LOOP_REGION(GOMP_parallel_loop_nonmonotonic_runtime)
TAUTO_RUNTIME_LOOP_REGION(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#define TAUTO_ANSWER(NAME, IN_A_ROW)                                                                      \
    TAUTO_IN_FRONT int NAME() {                                                                           \
        if (const running_part* part = part_in_row(); part != nullptr) return static_cast<int>(IN_A_ROW); \
        return original<int()>(real_##NAME)();                                                            \
    }
TAUTO_ANSWER(omp_get_thread_num, part->number)
TAUTO_ANSWER(omp_get_thread_num_, part->number)
TAUTO_ANSWER(omp_get_num_threads, part->count)
TAUTO_ANSWER(omp_get_num_threads_, part->count)
TAUTO_ANSWER(omp_get_max_threads, most_threads_in(*part))
TAUTO_ANSWER(omp_get_max_threads_, most_threads_in(*part))
TAUTO_ANSWER(omp_in_parallel, true)
TAUTO_ANSWER(omp_in_parallel_, true)

// What a part sets counts for the regions inside of it, which have one part.
#define TAUTO_SET(NAME, TYPE)                                                   \
    TAUTO_IN_FRONT void NAME(TYPE value);                                       \
    TAUTO_RUNTIME(NAME);                                                        \
    TAUTO_IN_FRONT void NAME(TYPE value) {                                      \
        if (part_in_row() == nullptr) original<void(TYPE)>(real_##NAME)(value); \
    }
TAUTO_SET(omp_set_num_threads, int)
TAUTO_SET(omp_set_num_threads_, const std::int32_t*)
TAUTO_SET(omp_set_dynamic, int)
TAUTO_SET(omp_set_dynamic_, const std::int32_t*)

// Who asks for teams inside of teams gets them.
#define TAUTO_LEVELS(NAME, TYPE, LEVELS)                                        \
    TAUTO_IN_FRONT void NAME(TYPE value);                                       \
    TAUTO_RUNTIME(NAME);                                                        \
    TAUTO_IN_FRONT void NAME(TYPE value) {                                      \
        if ((LEVELS) > 1) nests.store(true, std::memory_order_relaxed);         \
        if (part_in_row() == nullptr) original<void(TYPE)>(real_##NAME)(value); \
    }
TAUTO_LEVELS(omp_set_nested, int, value == 0 ? 1 : 2)
TAUTO_LEVELS(omp_set_nested_, const std::int32_t*, *value == 0 ? 1 : 2)
TAUTO_LEVELS(omp_set_max_active_levels, int, value)
TAUTO_LEVELS(omp_set_max_active_levels_, const std::int32_t*, *value)
