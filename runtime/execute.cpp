// One loop from its call to its report, under each schedule.

#include <algorithm>
#include <utility>

#include "team_state.hpp"

namespace tauto::detail {

bool team_state::run_inline(const loop_call& call) {
    const bool outer = std::exchange(inside_loop, true);
    struct restore {
        bool value;
        ~restore() { inside_loop = value; }
    } const guard{outer};
    // Nobody but this thread runs it, so the chunks exist only to let a stop request in.
    const bool cancellable = call.options->stop.stop_possible();
    const index step = cancellable ? std::max<index>(1, call.n / 64) : call.n;
    for (index begin = 0; begin < call.n; begin += step) {
        if (cancellable && call.options->stop.stop_requested()) return false;
        call.invoke(call.body, {begin, std::min(call.n, begin + step)}, 0);
    }
    if (call.options->report != nullptr) *call.options->report = {.width = 1, .steals = 0, .iterations = {}};
    return true;
}

void team_state::prepare(const loop_call& call, std::span<const int> ranks) {
    loop.ranks.assign(ranks.begin(), ranks.end());
    loop.stop = call.options->stop.stop_possible() ? &call.options->stop : nullptr;
    loop.name = call.options->name;
    loop.workers_may_steal = true;
}

void team_state::fill_report(const loop_call& call, int width) const {
    if (call.options->report == nullptr) return;
    loop_report& report = *call.options->report;
    report.width = width;
    report.steals = 0;
    report.iterations.assign(cpus.size(), 0);
    for (const int rank : loop.ranks) {
        const report_line& line = reports[static_cast<std::size_t>(rank)];
        report.steals += line.steals;
        report.iterations[static_cast<std::size_t>(rank)] = line.iterations;
    }
}

// static_, static_chunk, dynamic and guided: all members, nothing learned.
bool team_state::run_schedule(const loop_call& call) {
    const auto width = static_cast<int>(std::min<index>(call.n, static_cast<index>(cpus.size())));
    prepare(call, std::span<const int>(everyone).first(static_cast<std::size_t>(width)));
    if (std::holds_alternative<static_>(call.options->schedule)) {
        loop.bounds.resize(static_cast<std::size_t>(width) + 1);
        for (int position = 0; position < width; ++position) {
            loop.bounds[static_cast<std::size_t>(position)] = equal_share(call.n, width, position).begin;
        }
        loop.bounds[static_cast<std::size_t>(width)] = call.n;
        fork_and_join(call, launch_mode::fixed);
    } else {
        shared.reset(call.options->schedule, call.n,
                     std::span<const double>(equal_speeds).first(loop.ranks.size()));
        loop.shared = &shared;
        fork_and_join(call, launch_mode::shared);
    }
    fill_report(call, width);
    return iterations_done() == call.n;
}

void team_state::plan_adaptive(const loop_call& call, const loop_model& model) {
    const auto width = static_cast<std::size_t>(loop.width());
    loop.speeds.resize(width);
    loop.margins.resize(width);
    loop.bounds.resize(width + 1);
    for (std::size_t position = 0; position < width; ++position) {
        const auto rank = static_cast<std::size_t>(loop.ranks[position]);
        loop.speeds[position] = model.share_speeds()[rank];
        loop.margins[position] = model.margin_ticks()[rank];
    }
    loop.fastest = *std::max_element(loop.speeds.begin(), loop.speeds.end());
    weighted_bounds(call.n, loop.speeds, loop.bounds);
    loop.plan.n = call.n;
    loop.plan.unit_shift = unit_shift_for(call.n);
    loop.plan.members = loop.width();
    loop.plan.speeds = loop.speeds.data();
    const double per_iteration = model.ticks_per_iteration();
    const double n = static_cast<double>(call.n);
    // A steal costs about one round trip between two cores, which is what the smallest team's fork and join
    // is.
    const double steal = std::min(fork_ticks, model_options.microsecond);
    const double grain = per_iteration > 0 ? steal / per_iteration : n / (64.0 * static_cast<double>(width));
    const double units = static_cast<double>(index{1} << loop.plan.unit_shift);
    loop.plan.grain = static_cast<std::uint32_t>(std::clamp(grain / units, 1.0, 1e9));
    loop.workers_may_steal = per_iteration <= 0 || n * per_iteration > 16 * model_options.microsecond;
    // From ticks to the plan's time; the caller, whose speed the model knows in both, is its position 0.
    const double ticks_of_one = units * per_iteration * loop.speeds[0];
    for (double& margin : loop.margins) margin = ticks_of_one > 0 ? margin / ticks_of_one : 0;
    loop.plan.margins = loop.margins.data();
    // Where a look at the others would cost more than it can give, a share is taken whole.
    loop.plan.divisor = !loop.workers_may_steal ? 1 : model.speeds_known() ? 2 : 4;
    for (std::size_t position = 0; position < width; ++position) {
        const auto unit = [&](std::size_t p) {
            return p == width ? loop.plan.units()
                              : static_cast<std::uint32_t>(loop.bounds[p] >> loop.plan.unit_shift);
        };
        boxes[static_cast<std::size_t>(loop.ranks[position])].share.store(
            pack_share(unit(position), unit(position + 1)), std::memory_order_relaxed);
    }
}

void team_state::record_members(loop_model& model, std::int64_t end) const {
    for (const int rank : loop.ranks) {
        const report_line& line = reports[static_cast<std::size_t>(rank)];
        // Counters of two sockets may differ by more than a short loop takes; then this call teaches nothing.
        const std::int64_t busy = line.end_ticks - loop.launch_ticks;
        if (busy <= 0 || busy > end - loop.launch_ticks) continue;
        // The report takes one transfer to arrive: a worker that shall not be waited for must end that much
        // earlier.
        const double transfer = rank == 0 ? 0 : steal_ticks() / 2;
        model.record_member(rank, line.iterations, busy + static_cast<std::int64_t>(transfer));
    }
}

bool team_state::run_weighted(const loop_call& call, loop_model& model) {
    loop.launch_ticks = ticks();
    const auto width = static_cast<std::size_t>(std::min<index>(call.n, static_cast<index>(cpus.size())));
    prepare(call, std::span<const int>(everyone).first(width));
    shared.reset(call.options->schedule, call.n, model.share_speeds().first(width));
    loop.shared = &shared;
    fork_and_join(call, launch_mode::shared);
    const std::int64_t end = ticks();
    fill_report(call, loop.width());
    if (iterations_done() != call.n) return false;
    record_members(model, end);
    model.record_speeds(end - loop.launch_ticks);
    return true;
}

bool team_state::run_forked_adaptive(const loop_call& call, loop_model& model) {
    loop.launch_ticks = ticks();
    prepare(call, model.order().first(static_cast<std::size_t>(model.width())));
    plan_adaptive(call, model);
    fork_and_join(call, launch_mode::adaptive);
    const std::int64_t end = ticks();
    fill_report(call, loop.width());
    if (iterations_done() != call.n) return false;
    record_members(model, end);
    model.record(call.n, end - loop.launch_ticks);
    return true;
}

namespace {

// A loop without its first iterations.
struct later_part {
    const loop_call* call;
    index offset;

    static void invoke(const void* self, range r, int rank) {
        const auto& part = *static_cast<const later_part*>(self);
        part.call->invoke(part.call->body, {r.begin + part.offset, r.end + part.offset}, rank);
    }
};

}  // namespace

// The first call of a loop on a team that is dear to launch (its members share CPUs): the caller begins alone
// and forks only when it has not come to the end in the time that a fork takes. That costs at most twice what
// a prophet would pay.
bool team_state::run_first_dear(const loop_call& call, loop_model& model) {
    const std::int64_t start = ticks();
    index done = 0;
    index piece = std::max<index>(1, call.n / 1024);
    while (done < call.n && static_cast<double>(ticks() - start) < fork_ticks) {
        if (call.options->stop.stop_requested()) return false;
        piece = std::min(piece, call.n - done);
        const later_part part{&call, done};
        run_inline({&later_part::invoke, &part, piece, call.site, call.options});
        done += piece;
        piece *= 2;
    }
    if (done == call.n) {
        model.begin_inline(call.n, ticks() - start);
        return true;
    }
    const later_part part{&call, done};
    return run_forked_adaptive({&later_part::invoke, &part, call.n - done, call.site, call.options}, model);
}

bool team_state::run_adaptive(const loop_call& call, loop_model& model) {
    const bool dear = fork_ticks > 20 * model_options.microsecond;
    if (dear && model.fresh() && call.n > 1) return run_first_dear(call, model);
    if (model.width() > 1 && call.n > 1) return run_forked_adaptive(call, model);
    const std::int64_t start = ticks();
    const bool all = run_inline(call);
    if (all && model.width() == 1) model.record(call.n, ticks() - start);
    return all;
}

}  // namespace tauto::detail
