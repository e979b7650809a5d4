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

namespace {

// As many of these ranks as there are iterations, and as the call allows.
std::span<const int> first_of(std::span<const int> ranks, const loop_call& call) noexcept {
    const index most = call.options->members == 0 ? std::ssize(ranks) : call.options->members;
    return ranks.first(usize(std::min<index>({call.n, std::ssize(ranks), most})));
}

}  // namespace

loop_runner::loop_runner(launcher& members)
    : members_(members), shared_(members.size()), equal_speeds_(usize(members.size()), 1.0) {}

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
void loop_runner::run_shared(const loop_call& call, std::span<const int> ranks,
                             std::span<const double> speeds) {
    prepare(call, ranks);
    shared_.reset(call.options->schedule, call.n, speeds.first(ranks.size()));
    members_.loop.shared = &shared_;
    members_.fork_and_join(call, launch_mode::shared);
}

bool loop_runner::run_schedule(const loop_call& call) {
    const std::span<const int> ranks = first_of(members_.everyone, call);
    if (std::holds_alternative<static_>(call.options->schedule)) {
        prepare(call, ranks);
        loop_state& loop = members_.loop;
        const int width = loop.width();
        loop.bounds.resize(usize(width) + 1);
        for (int position = 0; position < width; ++position) {
            at(loop.bounds, position) = equal_share(call.n, width, position).begin;
        }
        at(loop.bounds, width) = call.n;
        members_.fork_and_join(call, launch_mode::fixed);
    } else {
        run_shared(call, ranks, equal_speeds_);
    }
    return finish(call);
}

void loop_runner::record_members(loop_model& model, std::span<const int> places, std::int64_t end,
                                 bool own_starts) const {
    const loop_state& loop = members_.loop;
    for (const int place : places) {
        const report_line& line = at(members_.reports, at(members_.one_a_cpu, place));
        // Counters of two sockets may differ by more than a short loop takes; then this call teaches nothing.
        const std::int64_t busy = line.end_ticks - loop.launch_ticks;
        if (busy <= 0 || busy > end - loop.launch_ticks) continue;
        const std::int64_t start = own_starts ? line.start_ticks - loop.launch_ticks : 0;
        if (start < 0 || start > busy) continue;
        model.record_member(place, line.iterations, busy, start, own_starts && line.slept);
    }
}

void loop_runner::record_chunks(loop_model& model, std::span<const int> places, index n) const {
    for (const int place : places) {
        const chunk_log& log = at(members_.logs, at(members_.one_a_cpu, place));
        for (const chunk_log::entry& one : std::span(log.entries).first(log.count)) {
            // A counter that was set back says nothing.
            if (one.ticks > 0) model.record_chunk(place, n, one.chunk, one.ticks);
        }
    }
}

bool loop_runner::run_weighted(const loop_call& call, loop_model& model) {
    const std::int64_t start = ticks();
    members_.loop.launch_ticks = start;
    run_shared(call, first_of(members_.one_a_cpu, call), model.share_speeds());
    const std::int64_t end = ticks();
    if (!finish(call)) return false;
    if (end < start) return true;                           // set back meanwhile: it teaches nothing
    const std::span<const int> places = members_.everyone;  // 0, 1, …
    record_members(model, places.first(members_.loop.ranks.size()), end, false);
    model.record_speeds(end - start);
    return true;
}

bool loop_runner::run_adaptive(const loop_call& call, loop_model& model) {
    const std::int64_t start = ticks();
    loop_state& loop = members_.loop;
    loop.launch_ticks = start;
    loop.adaptive.make(model, call.n);
    const std::span<const int> places = model.order().first(usize(loop.adaptive.plan().members));
    prepare(call, places);
    for (int& rank : loop.ranks) rank = at(members_.one_a_cpu, rank);
    deal_shares(
        loop.adaptive.plan(), loop.adaptive.bounds(), [&](int position) -> auto& {
            return at(loop.boxes, at(loop.ranks, position)).share;
        });
    const bool timed = model.timed_chunk(call.n) > 0;
    if (timed && members_.logs == nullptr)
        members_.logs = std::make_unique<chunk_log[]>(members_.everyone.size());
    members_.fork_and_join(call, launch_mode::adaptive);
    if (!timed && model.skip_recording()) return finish(call);
    const std::int64_t end = ticks();
    if (!finish(call)) return false;
    if (end < start) return true;
    if (timed) record_chunks(model, places, call.n);
    record_members(model, places, end, true);
    model.record(call.n, end - start);
    return true;
}

void record_alone(const loop_call& call, loop_model& model, std::int64_t elapsed) {
    // A counter that was set back says nothing; and another thread may have taught the model meanwhile.
    if (elapsed < 0) return;
    if (model.fresh()) {
        model.begin_inline(call.n, elapsed);  // one iteration
    } else if (model.width() == 1) {
        model.record(call.n, elapsed);
    }
}

}  // namespace tauto::detail
