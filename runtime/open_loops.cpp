#include <tauto/open_loops.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <tauto/clock.hpp>
#include <tauto/schedule.hpp>
#include <tauto/task_group.hpp>
#include <tauto/team.hpp>
#include <tauto/trace.hpp>

#include "loop_runner.hpp"
#include "unwinding.hpp"

namespace tauto::detail {
namespace {

// A chunk takes at least as long, where it is known how long iterations take: to steal it costs about a
// tenth. Else it is a small part of the loop.
std::uint32_t grain_of(const adaptive_plan& plan, double ticks_per_iteration) noexcept {
    static const auto least = static_cast<double>(to_ticks(std::chrono::microseconds(2)));
    if (ticks_per_iteration <= 0)
        return std::max(1U, plan.units() / (64 * static_cast<std::uint32_t>(plan.members)));
    const double units = least / (ticks_per_iteration * static_cast<double>(index{1} << plan.unit_shift));
    return static_cast<std::uint32_t>(std::clamp(units, 1.0, std::max(1.0, plan.units() / 8.0)));
}

}  // namespace

// Lives in the frame of the member that opened it.
class open_loop {
  public:
    open_loop(const loop_call& call, int opener, bool outermost, const adaptive_plan& plan,
              open_loops::place& at, scopes& all)
        : scopes_(all),
          own_(all.enter(opener, around_.in)),
          call_(call),
          opener_(opener),
          outermost_(outermost),
          plan_(plan),
          at_(at),
          timed_(call.site->in_bodies_.ticks() == 0 || calls_in_bodies::is_next_timed()),
          stop_(call.options->stop.stop_possible() ? &call.options->stop : nullptr) {
        running_tasks.in = running_tasks.within = own_;
    }
    ~open_loop() {
        running_tasks = around_;
        scopes_.leave(opener_, own_);
    }
    open_loop(const open_loop&) = delete;
    open_loop& operator=(const open_loop&) = delete;

    // Runs parts of it until there are none to take. False where it ran none.
    bool work(int rank) noexcept {
        open_loops::line& line = detail::at(at_.lines, rank);
        const std::int64_t start = outermost_ ? ticks() : 0;
        bool any = false;
        for (; !ended(); any = true) {
            const int steals = line.steals;
            const range chunk = adaptive_next(
                plan_, [this](int r) -> auto& { return detail::at(at_.lines, r).share; }, rank, line.steals);
            if (chunk.empty()) break;
            // What it stole is there for others again.
            if (line.steals != steals) at_.has_more.store(true, std::memory_order_relaxed);
            run_traced(chunk, line, rank, line.steals != steals);
        }
        if (at_.has_more.load(std::memory_order_relaxed))
            at_.has_more.store(false, std::memory_order_relaxed);
        if (outermost_) calls_in_bodies::time_after(ticks() - start);
        return any;
    }

    [[nodiscard]] scope made_in() const noexcept { return around_.in; }

    void rethrow_failure() {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    [[nodiscard]] bool ended() const noexcept {
        return failed_.load(std::memory_order_relaxed) || (stop_ != nullptr && stop_->stop_requested());
    }

    void run_traced(range chunk, open_loops::line& line, int rank, bool stolen) noexcept {
        if (!trace::enabled()) return run(chunk, line, rank);
        const std::int64_t begin = trace::now_nanoseconds();
        run(chunk, line, rank);
        trace::record_chunk(call_.options->name, rank, chunk, stolen, begin, trace::now_nanoseconds());
    }

    void run(range chunk, open_loops::line& line, int rank) noexcept {
        const scope body = scopes_.enter(rank, own_);
        const current_region around = running_tasks;
        running_tasks.in = running_tasks.within = body;
        task_deque<task>& own = running_tasks.region->deque(rank);
        const std::int64_t level = own.level();
        const bool timed = timed_ && rank == opener_ && line.iterations == 0;
        const std::int64_t start = timed ? ticks() : 0;
        try {
            call_.invoke(call_.body, chunk, rank);
            line.iterations += chunk.size();
            if (timed) call_.site->in_bodies_.note(chunk.size(), ticks() - start);
        } catch (...) {
            note_failure(chunk.begin, thrown_by_body(std::current_exception()));
        }
        running_tasks = around;
        scopes_.leave(rank, body);
        // Tasks that it added to a group around the loop: nobody may be there who could take them.
        task_region::run_down_to(own, level);
    }

    void note_failure(index begin, std::exception_ptr thrown) noexcept {
        const std::lock_guard lock(failing_);
        if (begin < failed_at_) {
            failed_at_ = begin;
            failure_ = std::move(thrown);
        }
        failed_.store(true, std::memory_order_relaxed);
    }

    scopes& scopes_;
    current_region around_ = running_tasks;  // of its opener
    scope own_;                              // around its bodies: the opener waits in it
    const loop_call& call_;
    int opener_;
    bool outermost_;
    adaptive_plan plan_;
    open_loops::place& at_;
    bool timed_;
    const std::stop_token* stop_;  // null: it cannot be stopped
    // Relaxed: seen late, it costs one more chunk. The lock orders what is below.
    std::atomic<bool> failed_{false};
    std::mutex failing_;
    index failed_at_ = std::numeric_limits<index>::max();
    std::exception_ptr failure_;
};

void calls_in_bodies::note(index iterations, std::int64_t ticks) noexcept {
    static const auto least = static_cast<double>(to_ticks(std::chrono::microseconds(10)));
    if (ticks < 0) return;  // a counter that was set back
    const float before = ticks_.load(std::memory_order_relaxed);
    // Never 0, which says that nothing is known.
    const auto seen = static_cast<float>(std::max(1e-6, as_double(ticks) / as_double(iterations)));
    const float now = before == 0 ? seen : before + (seen - before) / 4;
    if (std::abs(now - before) < before / 8) return;
    ticks_.store(now, std::memory_order_relaxed);
    short_below_.store(static_cast<index>(std::min(1e15, least / now)), std::memory_order_relaxed);
}

open_loops::open_loops(int members, idle_members& idle, scopes& all)
    : members_(members),
      speeds_(usize(members), 1.0),
      idle_(idle),
      scopes_(all),
      places_(std::make_unique<place[]>(usize(members * most_deep))),
      own_(std::make_unique<own_state[]>(usize(members))) {}

void open_loops::begin(std::vector<double> speeds) {
    speeds_ = std::move(speeds);
    speeds_.resize(usize(members_), 1.0);
    any_opened_.store(false, std::memory_order_relaxed);
}

open_loops::~open_loops() = default;

bool open_loops::run(const loop_call& call, int rank) {
    if (at(own_, rank).deep == most_deep) return run_inline(call, rank);
    if (!any_opened()) any_opened_.store(true, std::memory_order_relaxed);
    return open(call, rank, false);
}

bool open_loops::run_dealt(const loop_call& call) {
    return open(call, 0, true);
}

bool open_loops::open(const loop_call& call, int rank, bool dealt) {
    own_state& own = at(own_, rank);
    place& here = place_of(rank, own.deep);
    if (here.lines == nullptr) here.lines = std::make_unique<line[]>(usize(members_));
    adaptive_plan plan{
        .n = call.n, .unit_shift = unit_shift_for(call.n), .members = members_, .speeds = speeds_.data()};
    plan.grain = grain_of(plan, call.site->in_bodies_.ticks());
    for (int r = 0; r < members_; ++r) {
        line& of = at(here.lines, r);
        of.iterations = 0;
        of.steals = 0;
        of.share.store(r == rank ? pack_share(0, plan.units()) : 0, std::memory_order_relaxed);
    }
    if (dealt) {
        std::vector<index> bounds(usize(members_) + 1);
        weighted_bounds(call.n, {speeds_}, bounds);
        deal_shares(
            plan, bounds, [&](int r) -> auto& { return at(here.lines, r).share; });
    }
    open_loop loop(call, rank, dealt, plan, here, scopes_);
    ++own.deep;
    for (int before = depth_.load(std::memory_order_relaxed);
         before < own.deep && !depth_.compare_exchange_weak(before, own.deep, std::memory_order_relaxed);) {
    }
    here.has_more.store(true, std::memory_order_relaxed);
    here.loop.store(&loop, std::memory_order_release);
    idle_.wake();
    loop.work(rank);
    here.loop.store(nullptr, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    await_others(loop, here, rank);
    --own.deep;
    loop.rethrow_failure();
    return report(call, here);
}

// True when all iterations ran.
bool open_loops::report(const loop_call& call, const place& here) const {
    index done = 0;
    for (int r = 0; r < members_; ++r) done += at(here.lines, r).iterations;
    if (call.options->report != nullptr) {
        loop_report& told = *call.options->report;
        told = {.width = 0, .steals = 0, .iterations = std::vector<index>(usize(members_))};
        for (int r = 0; r < members_; ++r) {
            const line& of = at(here.lines, r);
            at(told.iterations, r) = of.iterations;
            told.width += of.iterations > 0 ? 1 : 0;
            told.steals += of.steals;
        }
    }
    return done == call.n;
}

void open_loops::await_others(open_loop& loop, place& here, int rank) noexcept {
    idle_wait wait(idle_);
    const auto is_empty = [&] { return here.inside.load(std::memory_order_acquire) == 0; };
    const auto finds_some = [&] {
        return loop.work(rank) || running_tasks.region->run_some(rank, running_tasks.in);
    };
    while (!is_empty()) {
        if (idle_.are_gone()) return;  // the call around tells
        if (finds_some()) {
            wait.begin_again();
        } else {
            wait.pause([&] { return is_empty() || finds_some(); });
        }
    }
}

bool open_loops::join(int rank, scope within) noexcept {
    for (int deep = 0; deep < depth_.load(std::memory_order_relaxed); ++deep) {
        for (int k = 1; k < members_; ++k) {
            if (join_at(place_of((rank + k) % members_, deep), rank, within)) return true;
        }
    }
    return false;
}

bool open_loops::join_at(place& there, int rank, scope within) noexcept {
    if (there.loop.load(std::memory_order_relaxed) == nullptr ||
        !there.has_more.load(std::memory_order_relaxed))
        return false;
    there.inside.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    bool any = false;
    if (open_loop* const loop = there.loop.load(std::memory_order_acquire);
        loop != nullptr && scopes_.is_within(loop->made_in(), within))
        any = loop->work(rank);
    if (there.inside.fetch_sub(1, std::memory_order_release) == 1) idle_.wake();
    return any;
}

}  // namespace tauto::detail
