// Launch, wait and join: the protocol whose table and invariant stand in team.hpp.

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <tauto/trace.hpp>

#include "team_state.hpp"

namespace tauto::detail {
namespace {

// One chunk of a loop on one member, with its slice in the trace.
void run_chunk(const mailbox& box, range chunk, int rank, bool stolen, const char* name) {
    if (!trace::enabled()) {
        box.invoke(box.body, chunk, rank);
        return;
    }
    const std::int64_t begin = trace::now_nanoseconds();
    box.invoke(box.body, chunk, rank);
    trace::record_chunk(name, rank, chunk, stolen, begin, trace::now_nanoseconds());
}

void run_fixed_part(mailbox& box, report_line& report, int rank) {
    if (box.fixed.empty()) return;
    run_chunk(box, box.fixed, rank, false, trace::enabled() ? box.loop->name : nullptr);
    report.iterations = box.fixed.size();
}

void run_chunks(mailbox& box, report_line& report, int rank) {
    loop_state& loop = *box.loop;
    for (;;) {
        if (loop.should_stop(box.cancellable)) return;
        const range chunk = loop.shared->next(box.position);
        if (chunk.empty()) return;
        run_chunk(box, chunk, rank, false, loop.name);
        report.iterations += chunk.size();
    }
}

void run_share(mailbox& box, report_line& report, int rank) {
    loop_state& loop = *box.loop;
    const adaptive_plan& plan = box.plan;
    const auto share_of = [&](int position) -> std::atomic<std::uint64_t>& {
        return loop.boxes[static_cast<std::size_t>(loop.ranks[static_cast<std::size_t>(position)])].share;
    };
    // The own share first: it needs no line but the mailbox's.
    range chunk = take_front(plan, box.share);
    for (;;) {
        const int steals_before = report.steals;
        if (chunk.empty() && box.may_steal)
            chunk = adaptive_next(plan, share_of, box.position, report.steals);
        if (chunk.empty()) return;
        run_chunk(box, chunk, rank, report.steals != steals_before, trace::enabled() ? loop.name : nullptr);
        report.iterations += chunk.size();
        if (loop.should_stop(box.cancellable)) return;
        if (box.may_leave && leaves_early(plan, share_of, box.position)) {
            report.left_early = true;
            return;
        }
        chunk = take_front(plan, box.share);
    }
}

}  // namespace

void team_state::run_member(int rank) noexcept {
    mailbox& box = boxes[static_cast<std::size_t>(rank)];
    report_line& report = reports[static_cast<std::size_t>(rank)];
    report.iterations = 0;
    report.steals = 0;
    report.left_early = false;
    const bool outer = std::exchange(inside_loop, true);
    try {
        switch (box.mode) {
            case launch_mode::fixed:
                run_fixed_part(box, report, rank);
                break;
            case launch_mode::shared:
                run_chunks(box, report, rank);
                break;
            default:
                run_share(box, report, rank);
                break;
        }
    } catch (...) {
        if (!box.loop->failed.exchange(true, std::memory_order_relaxed))
            box.loop->failure = std::current_exception();
    }
    inside_loop = outer;
    if (box.mode != launch_mode::fixed) report.end_ticks = ticks();
}

void team_state::launch(const loop_call& call, int position, launch_mode mode, range fixed) noexcept {
    const int rank = loop.ranks[static_cast<std::size_t>(position)];
    mailbox& box = boxes[static_cast<std::size_t>(rank)];
    box.invoke = call.invoke;
    box.body = call.body;
    box.loop = &loop;
    box.mode = mode;
    box.fixed = fixed;
    box.position = position;
    if (mode != launch_mode::fixed) {
        box.plan = loop.plan;
        box.cancellable = loop.stop != nullptr;
        box.may_steal = rank == 0 || loop.workers_may_steal;
        box.may_leave = mode == launch_mode::adaptive && loop.workers_may_steal && loop.may_leave(position);
    }
    // Publishes the fields above (and, for the first member launched, all of `loop`). Pairs with the
    // acquire load in worker_loop.
    if (rank != 0)
        box.ticket.store(box.ticket.load(std::memory_order_relaxed) + 2, std::memory_order_release);
}

void team_state::wake_parked(std::span<const int> ranks) noexcept {
    // Orders the tickets before the reads of parked; pairs with the fence in worker_loop.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (const int rank : ranks) {
        mailbox& box = boxes[static_cast<std::size_t>(rank)];
        if (box.parked.load(std::memory_order_relaxed) != 0) futex_wake(box.ticket);
    }
}

void team_state::worker_loop(int rank) noexcept {
    mailbox& box = boxes[static_cast<std::size_t>(rank)];
    report_line& report = reports[static_cast<std::size_t>(rank)];
    spin_budget budget(wait, oversubscribed);
    std::uint32_t last = report.done.load(std::memory_order_relaxed) & ~1U;
    for (;;) {
        std::uint32_t ticket = spin_while_equal(box.ticket, last, budget.ticks());
        const bool slept = ticket == last;
        if (slept) {
            const std::int64_t parked_at = ticks();
            box.parked.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            while ((ticket = box.ticket.load(std::memory_order_acquire)) == last)
                futex_wait(box.ticket, last);
            box.parked.store(0, std::memory_order_relaxed);
            budget.learn(budget.ticks() + ticks() - parked_at);
        }
        last = ticket;
        if (box.mode == launch_mode::end) return;
        run_member(rank);
        // Releases all that this member wrote; pairs with the acquire load in join. An exchange and not a
        // store, because bit 0 tells that the caller sleeps.
        if ((report.done.exchange(ticket, std::memory_order_acq_rel) & 1U) != 0) futex_wake(report.done);
        if (!slept) budget.note_short_wait();  // here, where nobody waits for it
    }
}

void team_state::join(int rank) {
    report_line& report = reports[static_cast<std::size_t>(rank)];
    const std::uint32_t ticket = boxes[static_cast<std::size_t>(rank)].ticket.load(std::memory_order_relaxed);
    const std::uint32_t before = ticket - 2;
    std::uint32_t seen = spin_while_equal(report.done, before, join_budget->ticks());
    if (seen == ticket) {
        join_budget->note_short_wait();
        return;
    }
    const std::int64_t parked_at = ticks();
    while (seen != ticket) {
        if (fork_generation.load(std::memory_order_relaxed) != current_fork_generation()) {
            throw error(
                "fork() was called inside a loop body: the other members do not exist in the child, so the "
                "loop "
                "cannot end there; leave the child with _exit or exec");
        }
        if (seen == before &&
            !report.done.compare_exchange_strong(seen, before | 1U, std::memory_order_acquire)) {
            continue;
        }
        futex_wait(report.done, before | 1U);
        seen = report.done.load(std::memory_order_acquire);
    }
    join_budget->learn(join_budget->ticks() + ticks() - parked_at);
}

void team_state::fork_and_join(const loop_call& call, launch_mode mode) {
    const std::span<const int> others = std::span<const int>(loop.ranks).subspan(1);
    for (int position = loop.width() - 1; position >= 0; --position) {
        const range fixed = mode == launch_mode::fixed
                                ? range{loop.bounds[static_cast<std::size_t>(position)],
                                        loop.bounds[static_cast<std::size_t>(position) + 1]}
                                : range{};
        launch(call, position, mode, fixed);
    }
    wake_parked(others);
    run_member(0);
    for (const int rank : others) join(rank);
    if (mode == launch_mode::adaptive) run_what_was_left();
    if (loop.failed.load(std::memory_order_relaxed)) {
        loop.failed.store(false, std::memory_order_relaxed);
        std::rethrow_exception(std::exchange(loop.failure, nullptr));
    }
}

// All members are idle, so no share changes any more. Usually none has anything left, also when a member left
// early: the others took it.
void team_state::run_what_was_left() {
    const bool left_early = std::any_of(loop.ranks.begin(), loop.ranks.end(), [this](int rank) {
        return reports[static_cast<std::size_t>(rank)].left_early;
    });
    if (!left_early || loop.should_stop(loop.stop != nullptr)) return;
    const mailbox& own = boxes[0];
    for (const int rank : loop.ranks) {
        const std::uint64_t word =
            boxes[static_cast<std::size_t>(rank)].share.load(std::memory_order_relaxed);
        if (share_size(word) == 0) continue;
        const range rest = loop.plan.iterations(share_begin(word), share_end(word));
        const bool outer = std::exchange(inside_loop, true);
        try {
            run_chunk(own, rest, 0, true, loop.name);
        } catch (...) {
            loop.failed.store(true, std::memory_order_relaxed);
            loop.failure = std::current_exception();
        }
        inside_loop = outer;
        reports[0].iterations += rest.size();
        if (loop.should_stop(loop.stop != nullptr)) return;
    }
}

index team_state::iterations_done() const noexcept {
    index sum = 0;
    for (const int rank : loop.ranks) sum += reports[static_cast<std::size_t>(rank)].iterations;
    return sum;
}

void* team_state::worker_main(void* argument) {
    auto* self = static_cast<worker*>(argument);
    team_state& team = *self->owner;
    const std::string name = "tauto-" + std::to_string(self->rank);
    pthread_setname_np(pthread_self(), name.c_str());
    if (team.pin) {
        cpu_set_t mask;
        CPU_ZERO(&mask);
        const int cpu = team.cpus[static_cast<std::size_t>(self->rank)];
        CPU_SET(static_cast<std::size_t>(cpu), &mask);
        if (set_affinity(0, mask) != 0) team.note_pin_refused(self->rank, cpu, errno);
    }
    team.worker_loop(self->rank);
    return nullptr;
}

}  // namespace tauto::detail
