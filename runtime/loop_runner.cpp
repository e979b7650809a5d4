#include "loop_runner.hpp"

#include <algorithm>

namespace tauto::detail {

bool run_inline(const loop_call& call, int rank) {
    // Only this thread runs it: there are chunks only so that a stop request is seen between them.
    const bool cancellable = call.options->stop.stop_possible();
    const index step = cancellable ? std::max<index>(1, call.n / 64) : call.n;
    for (index begin = 0; begin < call.n; begin += step) {
        if (cancellable && call.options->stop.stop_requested()) return false;
        call.invoke(call.body, {begin, std::min(call.n, begin + step)}, rank);
    }
    if (call.options->report != nullptr) *call.options->report = {.width = 1, .steals = 0, .iterations = {}};
    return true;
}

loop_runner::loop_runner(launcher& members, const recorder& known)
    : members_(members), known_(known), shared_(members.size()), equal_speeds_(usize(members.size()), 1.0) {}

std::span<const int> loop_runner::ranks_for(const loop_call& call) const noexcept {
    return std::span<const int>(members_.everyone).first(usize(std::min<index>(call.n, members_.size())));
}

void loop_runner::prepare(const loop_call& call, std::span<const int> ranks) {
    loop_state& loop = members_.loop;
    loop.ranks.assign(ranks.begin(), ranks.end());
    loop.stop = call.options->stop.stop_possible() ? &call.options->stop : nullptr;
    loop.name = call.options->name;
}

bool loop_runner::finish(const loop_call& call) const {
    const loop_state& loop = members_.loop;
    if (call.options->report != nullptr) {
        loop_report& report = *call.options->report;
        report.width = loop.width();
        report.steals = 0;
        report.iterations.assign(members_.everyone.size(), 0);
        for (const int rank : loop.ranks) {
            const report_line& line = at(members_.reports, rank);
            report.steals += line.steals;
            at(report.iterations, rank) = line.iterations;
        }
    }
    return members_.iterations_done() == call.n;
}

// Through a worksharing, which all members ask for their next chunk.
void loop_runner::run_shared(const loop_call& call, std::span<const double> speeds) {
    const std::span<const int> ranks = ranks_for(call);
    prepare(call, ranks);
    shared_.reset(call.options->schedule, call.n, speeds.first(ranks.size()));
    members_.loop.shared = &shared_;
    members_.fork_and_join(call, launch_mode::shared);
}

bool loop_runner::run_schedule(const loop_call& call) {
    if (std::holds_alternative<static_>(call.options->schedule)) {
        prepare(call, ranks_for(call));
        loop_state& loop = members_.loop;
        const int width = loop.width();
        loop.bounds.resize(usize(width) + 1);
        for (int position = 0; position < width; ++position) {
            at(loop.bounds, position) = equal_share(call.n, width, position).begin;
        }
        at(loop.bounds, width) = call.n;
        members_.fork_and_join(call, launch_mode::fixed);
    } else {
        run_shared(call, equal_speeds_);
    }
    return finish(call);
}

void loop_runner::record_members(loop_model& model, std::int64_t end, bool own_starts) const {
    const loop_state& loop = members_.loop;
    for (const int rank : loop.ranks) {
        const report_line& line = at(members_.reports, rank);
        // Counters of two sockets may differ by more than a short loop takes; then this call teaches nothing.
        const std::int64_t busy = line.end_ticks - loop.launch_ticks;
        if (busy <= 0 || busy > end - loop.launch_ticks) continue;
        const std::int64_t start = own_starts ? line.start_ticks - loop.launch_ticks : 0;
        if (start < 0 || start > busy) continue;
        model.record_member(rank, line.iterations, busy, start, own_starts && line.slept);
    }
}

bool loop_runner::run_weighted(const loop_call& call, loop_model& model) {
    const std::int64_t start = ticks();
    members_.loop.launch_ticks = start;
    run_shared(call, model.share_speeds());
    const std::int64_t end = ticks();
    if (!finish(call)) return false;
    record_members(model, end, false);
    model.record_speeds(end - start);
    return true;
}

bool loop_runner::run_on_caller(const loop_call& call) const {
    const inside_body inside(members_.team(), 0);
    return run_inline(call, 0);
}

bool loop_runner::run_forked_adaptive(const loop_call& call, loop_model& model) {
    const std::int64_t start = ticks();
    loop_state& loop = members_.loop;
    loop.launch_ticks = start;
    prepare(call, model.order().first(usize(model.width())));
    loop.adaptive.make(model, call.n);
    deal_shares(
        loop.adaptive.plan(), loop.adaptive.bounds(), [&](int position) -> auto& {
            return at(loop.boxes, at(loop.ranks, position)).share;
        });
    members_.fork_and_join(call, launch_mode::adaptive);
    const std::int64_t end = ticks();
    if (!finish(call)) return false;
    record_members(model, end, true);
    model.record(call.n, end - start);
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

// The first call of a loop on a team whose launch is expensive (its members share CPUs): the caller begins
// alone and forks only if it has not finished in the time that a fork takes. That costs at most twice the
// optimal offline choice (competitive ratio 2).
bool loop_runner::run_first_call(const loop_call& call, loop_model& model) {
    const std::int64_t start = ticks();
    index done = 0;
    index piece = std::max<index>(1, call.n / 1024);
    while (done < call.n && as_double(ticks() - start) < known_.fork_ticks()) {
        if (call.options->stop.stop_requested()) return false;
        piece = std::min(piece, call.n - done);
        const later_part part{&call, done};
        if (!run_on_caller({&later_part::invoke, &part, piece, call.site, call.options})) return false;
        done += piece;
        piece *= 2;
    }
    if (done == call.n) {
        model.begin_inline(call.n, ticks() - start);
        return true;
    }
    const later_part part{&call, done};
    const loop_call rest{&later_part::invoke, &part, call.n - done, call.site, call.options};
    if (!run_forked_adaptive(rest, model)) return false;
    if (call.options->report != nullptr) call.options->report->iterations[0] += done;
    return true;
}

bool loop_runner::run_adaptive(const loop_call& call, loop_model& model) {
    const bool expensive = known_.fork_ticks() > 20 * known_.microsecond();
    if (expensive && model.fresh() && call.n > 1) return run_first_call(call, model);
    if (model.width() > 1 && call.n > 1) return run_forked_adaptive(call, model);
    const std::int64_t start = ticks();
    if (!run_on_caller(call)) return false;
    const std::int64_t elapsed = ticks() - start;
    if (model.fresh()) {
        model.begin_inline(call.n, elapsed);  // one iteration
    } else if (model.width() == 1) {
        model.record(call.n, elapsed);
    }
    return true;
}

}  // namespace tauto::detail
