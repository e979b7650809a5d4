// Launch, wait and join: the protocol whose table and invariant stand in team.hpp.

#include "launcher.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <set>
#include <string>

#include <tauto/trace.hpp>

#include "forks.hpp"
#include "machine_limits.hpp"
#include "unwinding.hpp"

namespace tauto::detail {
namespace {

// One chunk of a loop on one member. It and its two callers are inlined, so that the report of a fixed part
// stays in registers.
[[gnu::always_inline]] inline void invoke(const mailbox& box, member_report& report, range chunk, int rank) {
    report.begun = chunk.begin;
    box.invoke(box.body, chunk, rank);
    report.iterations += chunk.size();
}

// The same, with its slice in the trace.
void run_chunk(const mailbox& box, member_report& report, range chunk, int rank, bool stolen,
               const char* name) {
    if (!trace::enabled()) return invoke(box, report, chunk, rank);
    const std::int64_t begin = trace::now_nanoseconds();
    invoke(box, report, chunk, rank);
    trace::record_chunk(name, rank, chunk, stolen, begin, trace::now_nanoseconds());
}

// Iterations of a piece of a share that its member was given whole. It depends on the share's size alone, so
// that a body which adds up each range has the same bits every time. A vectorised body takes 12 ns longer for
// each piece, so there are many only where iterations are few, and probably dear, or a piece takes far
// longer.
constexpr index piece_of(index share) noexcept {
    if (share <= 8) return 1;  // without a division, which takes as long as all the rest
    const index fewest = share <= 64 ? 8 : share <= 1024 ? 4 : 2;
    const index pieces = std::clamp<index>(share / 16'384, fewest, 64);
    const index size = (share + pieces - 1) / pieces;
    return size < 64 ? size : (size + 15) / 16 * 16;  // a cache line of floats
}

// Between the pieces a stop and a failure are heard. The first one runs whatever the others have thrown.
[[gnu::always_inline]] inline void run_whole_share(const mailbox& box, member_report& report, range share,
                                                   int rank) {
    const index size = piece_of(share.size());
    for (index begin = share.begin;;) {
        const index end = share.end - begin > size ? begin + size : share.end;
        invoke(box, report, {begin, end}, rank);
        if (end == share.end || box.loop->should_stop(box.cancellable)) return;
        begin = end;
    }
}

[[gnu::always_inline]] inline void run_traced_share(const mailbox& box, member_report& report, range share,
                                                    int rank) {
    if (share.empty()) return;
    if (!trace::enabled()) return run_whole_share(box, report, share, rank);
    const std::int64_t begin = trace::now_nanoseconds();
    run_whole_share(box, report, share, rank);
    const range ran{share.begin, share.begin + report.iterations};
    trace::record_chunk(box.loop->name, rank, ran, false, begin, trace::now_nanoseconds());
}

// Who is late still runs what is below all failures: where chunks are handed out in order, the loop throws
// what a serial one would.
void run_chunks(mailbox& box, member_report& report, int rank) {
    const loop_state& loop = *box.loop;
    while (!loop.stopped(box.cancellable)) {
        const range chunk = loop.shared->next(box.position);
        if (chunk.empty() || chunk.begin > loop.failed_at.load(std::memory_order_relaxed)) return;
        if (loop.shared->hands_out_shares()) return run_traced_share(box, report, chunk, rank);
        run_chunk(box, report, chunk, rank, false, loop.name);
    }
}

thread_local constinit bool starting_here = false;

// In a ticket: the worker may share tasks.
constexpr std::uint32_t invited = 1;

// While the team is not used, for threads that the caller starts meanwhile.
constexpr std::chrono::milliseconds first_until_look{10};
constexpr std::chrono::milliseconds longest_until_look{200};

}  // namespace

void launcher::run_share(mailbox& box, member_report& report, int rank) {
    const adaptive_plan& plan = box.plan;
    const auto share_of = [&](int position) -> std::atomic<std::uint64_t>& {
        return at(loop.boxes, at(loop.ranks, position)).share;
    };
    chunk_log* const log = box.may.timed ? &at(logs, rank) : nullptr;
    if (log != nullptr) log->count = 0;
    const auto victim_of = [&](int thief) { return last_to_finish(plan, share_of, thief); };
    for (bool begun = false;; begun = true) {
        const int steals_before = report.steals;
        const range chunk = member_next(plan, box.may, box.share, share_of, victim_of, box.position, begun,
                                        report.steals, report.left_early);
        if (chunk.empty()) return;
        const std::int64_t begin = log != nullptr ? ticks() : 0;
        run_chunk(box, report, chunk, rank, report.steals != steals_before,
                  trace::enabled() ? loop.name : nullptr);
        if (log != nullptr) log->note(chunk, ticks() - begin);
        if (loop.should_stop(box.cancellable)) return;
    }
}

// Runs the member's part of the loop. Returns what it did.
template <class Part>
member_report launcher::run_part(const mailbox& box, int rank, Part part) noexcept {
    member_report report;
    try {
        // A worker is inside for all its life. The caller enters here: around the whole of run_member, an
        // empty loop over two members takes 3 ns longer.
        if (rank == 0) {
            const inside_body inside(team_, rank);
            part(report);
        } else {
            part(report);
        }
    } catch (...) {
        at(reports, rank).failure = thrown_by_body(std::current_exception());
        box.loop->note_failure(report.begun);
    }
    return report;
}

void launcher::run_member(int rank, bool slept) noexcept {
    mailbox& box = at(boxes, rank);
    report_line& line = at(reports, rank);
    // Few stores: the report is seen after all of them. Field by field: a copy of several at once would wait
    // for the stores before it.
    if (box.mode == launch_mode::fixed) {
        line.steals = 0;  // before the body: the cache line comes while the body runs
        line.left_early = false;
        const member_report report =
            run_part(box, rank, [&](member_report& own) { run_traced_share(box, own, box.fixed, rank); });
        line.iterations = report.iterations;
        line.begun = report.begun;
        return;
    }
    const std::int64_t start = box.mode == launch_mode::adaptive ? ticks() : 0;
    const member_report report = run_part(box, rank, [&](member_report& own) {
        if (box.mode == launch_mode::shared) {
            run_chunks(box, own, rank);
        } else {
            run_share(box, own, rank);
        }
    });
    line.end_ticks = ticks();
    if (start != 0) calls_in_bodies::time_after(line.end_ticks - start);
    line.steals = report.steals;
    line.left_early = report.left_early;
    line.slept = slept;
    line.iterations = report.iterations;
    line.begun = report.begun;
    line.start_ticks = start;
}

void launcher::launch(const loop_call& call, int position, launch_mode mode, range fixed,
                      bool crowded) noexcept {
    const int rank = at(loop.ranks, position);
    mailbox& box = at(boxes, rank);
    box.invoke = call.invoke;
    box.body = call.body;
    box.loop = &loop;
    box.mode = mode;
    box.crowded = crowded;
    box.fixed = fixed;
    box.cancellable = loop.stop != nullptr;
    box.position = position;
    if (mode == launch_mode::adaptive) {
        // Written only where it is new: else the line stays in the worker's cache.
        const adaptive_rights may = loop.adaptive.rights(position);
        if (box.plan != loop.adaptive.plan()) box.plan = loop.adaptive.plan();
        if (box.may != may) box.may = may;
    }
    // Publishes the fields above (and, for the first member launched, all of `loop`). Pairs with the
    // acquire load in worker_loop.
    if (rank != 0)
        box.ticket.store(box.ticket.load(std::memory_order_relaxed) + 2, std::memory_order_release);
}

void launcher::wake_parked(std::span<const int> ranks, parking least) noexcept {
    // Orders the tickets before the reads of parked; pairs with the fences in park.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const int rank : ranks) {
        mailbox& box = at(boxes, rank);
        if (box.parked.load(std::memory_order_relaxed) >= least) futex_wake(box.ticket);
    }
}

std::uint32_t launcher::park(int rank, std::uint32_t last, doze& dozing) noexcept {
    mailbox& box = at(boxes, rank);
    std::chrono::milliseconds until_look = first_until_look;
    std::uint32_t ticket = last;
    parking said = parking::awake;
    for (;;) {
        const std::uint32_t left = left_dozing_.load(std::memory_order_relaxed);
        dozing.in_vain =
            std::exchange(dozing.left, left) == left ? std::min(dozing.in_vain + 1, doze::most_in_vain) : 0;
        const bool dozes = dozing.in_vain < doze::most_in_vain;
        const parking now = dozes ? parking::dozes : parking::sleeps;
        if (std::exchange(said, now) != now) {
            box.parked.store(now, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
        }
        ticket = box.ticket.load(std::memory_order_acquire);
        if (ticket != last) break;
        if (dozes) {
            futex_wait_for(box.ticket, last, std::chrono::milliseconds(10));
        } else if (rank != 1) {
            futex_wait(box.ticket, last);
        } else {
            // A wait that its time ends is a wake-up for no reason, which verify/launch.pml allows for.
            futex_wait_for(box.ticket, last, until_look);
            if (box.ticket.load(std::memory_order_relaxed) == last) pins_.widen_started(false);
            until_look = std::min(2 * until_look, longest_until_look);
        }
    }
    box.parked.store(parking::awake, std::memory_order_relaxed);
    return ticket;
}

void launcher::worker_loop(int rank) noexcept {
    mailbox& box = at(boxes, rank);
    report_line& report = at(reports, rank);
    spin_budget budget(wait_);
    bool crowded = this->crowded();
    const unsigned born = current_fork_generation();
    doze dozing;
    std::uint32_t last = report.done.load(std::memory_order_relaxed) & ~1U;
    for (;;) {
        std::uint32_t ticket = spin_while_equal(box.ticket, last, crowded ? 0 : budget.ticks());
        const bool slept = ticket == last;
        if (slept) {
            if (born != current_fork_generation()) end_copy_of_member();
            const std::int64_t parked_at = ticks();
            ticket = park(rank, last, dozing);
            budget.learn(budget.ticks() + ticks() - parked_at);
        }
        if ((ticket & invited) != 0) {
            tasks_->take_part(rank, [&] { return box.ticket.load(std::memory_order_relaxed) != ticket; });
            continue;
        }
        last = ticket;
        if (box.mode == launch_mode::end) return;
        crowded = box.crowded;  // here: after its report the box is the next launch's
        run_member(rank, slept);
        // Releases all that this member wrote; pairs with the acquire load in join. An exchange and not a
        // store, because bit 0 says that the caller sleeps.
        if ((report.done.exchange(ticket, std::memory_order_acq_rel) & 1U) != 0) futex_wake(report.done);
        if (!slept) budget.note_short_wait();  // here, where no thread waits for it
    }
}

void launcher::check_not_forked() const {
    if (made_in_ == current_fork_generation()) return;
    throw error(
        "fork() was called inside a loop body: the other members do not exist in the child, so the loop "
        "cannot "
        "end there; leave the child with _exit or exec");
}

void launcher::join(int rank, bool crowded) {
    report_line& report = at(reports, rank);
    const std::uint32_t ticket = at(boxes, rank).ticket.load(std::memory_order_relaxed);
    const std::uint32_t before = ticket - 2;
    std::uint32_t seen = spin_while_equal(report.done, before, crowded ? 0 : join_budget_.ticks());
    if (seen == ticket) {
        join_budget_.note_short_wait();
        return;
    }
    const std::int64_t parked_at = ticks();
    while (seen != ticket) {
        check_not_forked();
        if (seen == before &&
            !report.done.compare_exchange_strong(seen, before | 1U, std::memory_order_acquire)) {
            continue;
        }
        futex_wait(report.done, before | 1U);
        seen = report.done.load(std::memory_order_acquire);
    }
    join_budget_.learn(join_budget_.ticks() + ticks() - parked_at);
}

void launcher::look_around() {
    if (!room_.due(ticks)) return;
    pins_.pin_maker();  // where another thread has started the members
    room_.look(masks(), ticks());
    pins_.widen_started(false);
}

void launcher::invite(bool wakes) noexcept {
    const std::span<const int> others = std::span<const int>(everyone).subspan(1);
    if (!wakes)
        left_dozing_.store(left_dozing_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    for (const int rank : others) {
        std::atomic<std::uint32_t>& ticket = at(boxes, rank).ticket;
        // Publishes what the members need to take part. Pairs with the acquire load in worker_loop.
        ticket.store(ticket.load(std::memory_order_relaxed) | invited, std::memory_order_release);
    }
    wake_parked(others, wakes ? parking::dozes : parking::sleeps);
}

task_region& launcher::begin_tasks(const region_options& options, std::int64_t alone_until, bool wakes) {
    look_around();
    if (tasks_ == nullptr) tasks_ = std::make_unique<task_region>(team_, size());
    tasks_->begin(options.speeds, crowded(), options.name, alone_until);
    invite(wakes);
    return *tasks_;
}

void launcher::end_tasks() noexcept {
    for (const int rank : std::span<const int>(everyone).subspan(1)) {
        std::atomic<std::uint32_t>& ticket = at(boxes, rank).ticket;
        ticket.store(ticket.load(std::memory_order_relaxed) & ~invited, std::memory_order_relaxed);
    }
    tasks_->idle().wake();
}

void launcher::fork_and_join(const loop_call& call, launch_mode mode) {
    const std::span<const int> others = std::span<const int>(loop.ranks).subspan(1);
    look_around();
    const bool crowded =
        room_.crowded() || callers_.others_have_all() || (oversubscribed() && participants_share_cpus());
    for (int position = loop.width() - 1; position >= 0; --position) {
        const range fixed = mode == launch_mode::fixed
                                ? range{at(loop.bounds, position), at(loop.bounds, position + 1)}
                                : range{};
        launch(call, position, mode, fixed, crowded);
    }
    wake_parked(others, parking::dozes);
    run_member(0, false);
    for (const int rank : others) join(rank, crowded);
    if (mode == launch_mode::adaptive) run_what_was_left();
    if (loop.failed()) rethrow_failure();
}

void launcher::rethrow_failure() {
    loop.failed_at.store(loop_state::no_failure, std::memory_order_relaxed);
    std::exception_ptr first;
    index least = loop_state::no_failure;
    for (const int rank : loop.ranks) {
        report_line& report = at(reports, rank);
        const std::exception_ptr thrown = std::exchange(report.failure, nullptr);
        if (thrown == nullptr || report.begun >= least) continue;
        least = report.begun;
        first = thrown;
    }
    std::rethrow_exception(first);
}

// All members are idle, so no share changes any more. Usually none has anything left, also when a member left
// early: the others took it.
void launcher::run_what_was_left() {
    const bool left_early = std::any_of(loop.ranks.begin(), loop.ranks.end(),
                                        [this](int rank) { return at(reports, rank).left_early; });
    if (!left_early || loop.should_stop(loop.stop != nullptr)) return;
    const mailbox& own = boxes[0];
    const auto run = [&](range rest) {
        try {
            const inside_body inside(team_, 0);
            run_chunk(own, reports[0], rest, 0, true, loop.name);
        } catch (...) {
            reports[0].failure = thrown_by_body(std::current_exception());
            loop.note_failure(rest.begin);
        }
        return !loop.should_stop(loop.stop != nullptr);
    };
    for (const int rank : loop.ranks) {
        for_each_left(loop.adaptive.plan(), at(boxes, rank).share.load(std::memory_order_relaxed), run);
        if (loop.should_stop(loop.stop != nullptr)) return;
    }
}

index launcher::iterations_done() const noexcept {
    index sum = 0;
    for (const int rank : loop.ranks) sum += at(reports, rank).iterations;
    return sum;
}

void* launcher::worker_main(void* argument) {
    auto* self = static_cast<worker*>(argument);
    char name[16];  // the longest that the system takes
    char number[8];
    const int digits = std::snprintf(number, sizeof number, " %d", self->rank);
    std::snprintf(name, sizeof name, "%.*s%s", static_cast<int>(sizeof name) - 1 - digits,
                  self->owner->wanted_.name.c_str(), number);
    pthread_setname_np(pthread_self(), name);
    at(self->owner->reports, self->rank)
        .thread.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_relaxed);
    self->owner->pins_.pin_worker(self->rank);
    const inside_body for_life(self->owner->team_, self->rank);
    self->owner->run_start_hook(self->rank);
    self->owner->worker_loop(self->rank);
    return nullptr;
}

// Before the worker's first loop, which throws what this threw.
void launcher::run_start_hook(int rank) noexcept {
    if (!wanted_.on_start) return;
    starting_here = true;
    try {
        wanted_.on_start(rank);
    } catch (...) {
        report_line& report = at(reports, rank);
        report.failure = thrown_by_body(std::current_exception());
        report.begun = rank;
        loop.note_failure(rank);
    }
    starting_here = false;
}

bool launcher::in_start_hook() noexcept {
    return starting_here;
}

launcher::launcher(team_state* team, pinning& pins, const callers& of_cpus, wait_policy wait,
                   worker_options wanted)
    : team_(team),
      pins_(pins),
      callers_(of_cpus),
      wait_(wait),
      wanted_(std::move(wanted)),
      join_budget_(wait) {
    const std::size_t members = pins.cpus().size();
    boxes = std::make_unique<mailbox[]>(members);
    reports = std::make_unique<report_line[]>(members);
    everyone.resize(members);
    std::iota(everyone.begin(), everyone.end(), 0);
    std::set<int> taken;
    for (const int rank : everyone) {
        if (taken.insert(at(pins.cpus(), rank)).second) one_a_cpu.push_back(rank);
    }
    loop.boxes = {boxes.get(), members};
    loop.ranks.reserve(members);
    loop.bounds.reserve(members + 1);
    loop.adaptive.reserve(members);
}

bool launcher::participants_share_cpus() const noexcept {
    return !std::all_of(loop.ranks.begin(), loop.ranks.end(), [this](int rank) {
        return std::binary_search(one_a_cpu.begin(), one_a_cpu.end(), rank);
    });
}

// Of the first member on each CPU, as far as the system tells.
std::vector<std::vector<int>> launcher::masks() const {
    std::vector<std::vector<int>> found;
    for (const int rank : one_a_cpu) {
        const pid_t thread = at(reports, rank).thread.load(std::memory_order_relaxed);  // 0: the calling one
        auto mask = rank == 0 || thread != 0 ? affinity_of(thread) : std::vector<int>{};
        if (!mask.empty()) found.push_back(std::move(mask));
    }
    return found;
}

void launcher::deal_one_each(const char* name) {
    loop.ranks = everyone;
    loop.bounds.resize(everyone.size() + 1);
    std::iota(loop.bounds.begin(), loop.bounds.end(), index{0});
    loop.stop = nullptr;
    loop.name = name;
}

void launcher::launch_and_join(std::span<const int> ranks) {
    loop.ranks.assign(ranks.begin(), ranks.end());
    loop.bounds.assign(ranks.size() + 1, 0);
    loop.stop = nullptr;
    fork_and_join({nullptr, nullptr, 0, nullptr, nullptr}, launch_mode::fixed);
}

void launcher::make_threads() {
    workers_.assign(everyone.size(), {});
    // Signals to the process belong to the program's own threads. A member handles its own faults and a
    // profiler's clock.
    sigset_t others;
    sigset_t before;
    sigfillset(&others);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF}) sigdelset(&others, own);
    pthread_sigmask(SIG_SETMASK, &others, &before);
    int failure = 0;
    for (int rank = 1; rank < size() && failure == 0; ++rank) {
        worker& fresh = at(workers_, rank);
        fresh.owner = this;
        fresh.rank = rank;
        failure = make_thread(fresh, true);
        // The system may refuse the CPU, not the thread.
        if (failure != 0) failure = make_thread(fresh, false);
        fresh.started = failure == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failure != 0) {
        end_started();
        const std::string stack = wanted_.stack_bytes == 0
                                      ? ""
                                      : " with stacks of " + std::to_string(wanted_.stack_bytes) + " bytes";
        throw error("the system gave no thread for a team of " + std::to_string(size()) + " members" + stack +
                    ": " + std::strerror(failure) + "; ask for fewer" + (stack.empty() ? "" : " or less") +
                    ", or raise the limit (ulimit -u, pids.max)");
    }
}

// 0, or the number of the failure.
int launcher::make_thread(worker& fresh, bool on_own_cpu) noexcept {
    pthread_attr_t how;
    if (const int failure = pthread_attr_init(&how); failure != 0) return failure;
    // A thread begins on the CPUs of its maker, which is pinned and waits, so it would wait there too.
    if (on_own_cpu) pins_.begin_on_cpu_of(fresh.rank, how);
    int failure = wanted_.stack_bytes == 0 ? 0 : pthread_attr_setstacksize(&how, wanted_.stack_bytes);
    if (failure == 0) failure = pthread_create(&fresh.thread, &how, &worker_main, &fresh);
    pthread_attr_destroy(&how);
    return failure;
}

void launcher::stop_workers() noexcept {
    if (has_workers()) end_started();
}

void launcher::end_started() noexcept {
    for (worker& ending : workers_) {
        if (!ending.started) continue;
        mailbox& box = at(boxes, ending.rank);
        box.mode = launch_mode::end;
        box.ticket.store(box.ticket.load(std::memory_order_relaxed) + 2, std::memory_order_release);
        wake_parked({&ending.rank, 1}, parking::dozes);
        pthread_join(ending.thread, nullptr);
        ending.started = false;
    }
}

std::vector<pid_t> launcher::threads() const {
    std::vector<pid_t> numbers;
    for (int rank = 1; rank < size(); ++rank)
        numbers.push_back(at(reports, rank).thread.load(std::memory_order_relaxed));
    return numbers;
}

bool launcher::is_worker(pthread_t thread) const noexcept {
    return std::any_of(workers_.begin(), workers_.end(), [thread](const worker& one) {
        return one.started && pthread_equal(one.thread, thread) != 0;
    });
}

bool launcher::has_workers() const noexcept {
    // Pairs with the store in start_workers: who sees that the members are there may use all that it made.
    return ready_in_.load(std::memory_order_acquire) == current_fork_generation();
}

void launcher::start_workers() {
    for (const int rank : everyone) {
        at(boxes, rank).ticket.store(0, std::memory_order_relaxed);
        at(boxes, rank).parked.store(parking::awake, std::memory_order_relaxed);
        at(reports, rank).done.store(0, std::memory_order_relaxed);
        at(reports, rank).thread.store(0, std::memory_order_relaxed);
        at(reports, rank).failure = nullptr;
    }
    loop.failed_at.store(loop_state::no_failure, std::memory_order_relaxed);
    tasks_.reset();  // of a parent's members, if any
    make_threads();
    made_in_ = current_fork_generation();
    try {
        launch_and_join(everyone);
    } catch (...) {  // what a start hook threw
        end_started();
        throw;
    }
    // Not before: who gets no members is to be told so again, and no other thread may use them yet.
    ready_in_.store(made_in_, std::memory_order_release);
}

}  // namespace tauto::detail
