// team::run: one body on every member at once.

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "team_state.hpp"

namespace tauto {
namespace detail {
namespace {

// What every launched member calls, and what the next run must know.
struct running {
    const run_call* call;
    collectives* meetings;
    std::uint32_t caller_epoch = 0;

    static void invoke(const void* self, range, int rank) {
        auto& run = *const_cast<running*>(static_cast<const running*>(self));
        member me(*run.meetings, rank);
        try {
            run.call->invoke(run.call->body, me);
        } catch (const released&) {
        } catch (...) {
            run.meetings->fail(std::current_exception());
        }
        me.leave();
        if (rank == 0) run.caller_epoch = me.epoch();
    }
};

void run_alone(const run_call& call, const std::stop_token* stop) {
    const bool outer = std::exchange(inside_loop, true);
    struct restore {
        bool value;
        ~restore() { inside_loop = value; }
    } const guard{outer};
    member me(stop);
    call.invoke(call.body, me);
}

}  // namespace

void team_state::run_on_all(const run_call& call, const char* name) {
    const auto size = static_cast<index>(cpus.size());
    running run{&call, meetings.get()};
    loop.ranks.assign(everyone.begin(), everyone.end());
    loop.bounds.resize(static_cast<std::size_t>(size) + 1);
    std::iota(loop.bounds.begin(), loop.bounds.end(), index{0});
    loop.stop = nullptr;
    loop.name = name;
    fork_and_join({&running::invoke, &run, size, nullptr, nullptr}, launch_mode::fixed);
    // No member can have arrived more than once after the caller's last arrival. What words say of this run
    // is then older than all that the next run compares it with.
    meetings->start_epoch = (run.caller_epoch + 4) & epoch_mask;
    if (meetings->failed.load(std::memory_order_relaxed)) {
        meetings->failed.store(false, std::memory_order_relaxed);
        std::rethrow_exception(std::exchange(meetings->failure, nullptr));
    }
}

// Of a barrier among all, the best of some batches.
std::int64_t team_state::barrier_ticks() {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const auto body = [&](member& me) {
        for (int batch = 0; batch < 8; ++batch) {
            const std::int64_t start = ticks();
            for (int i = 0; i < 32; ++i) me.barrier();
            if (me.rank() == 0) least = std::min(least, ticks() - start);
        }
    };
    const auto invoke = [](const void* self, member& me) { (*static_cast<const decltype(body)*>(self))(me); };
    run_on_all({invoke, &body}, nullptr);
    return least;
}

// Rows read members² lines in all, and win where these come from one cache; a tournament wins on more members
// or where lines are slow. Which it is here, the members try out.
void team_state::choose_shape() {
    if (cpus.size() <= 2) return;
    if (oversubscribed) {
        // Times would be those of the scheduler. Few members to wake count then.
        meetings->shape = cpus.size() > 8 ? barrier_shape::tournament : barrier_shape::rows;
        return;
    }
    meetings->shape = barrier_shape::tournament;
    const std::int64_t tournament = barrier_ticks();
    meetings->shape = barrier_shape::rows;
    if (tournament < barrier_ticks()) meetings->shape = barrier_shape::tournament;
}

void team_state::prepare_meetings() {
    if (meetings) return;
    meetings = std::make_unique<collectives>(static_cast<int>(cpus.size()), oversubscribed, wait);
    choose_shape();
}

}  // namespace detail

void team::run_members(const detail::run_call& call, const run_options& options) {
    detail::team_state& state = *state_;
    const std::stop_token* stop = options.stop.stop_possible() ? &options.stop : nullptr;
    if (stop != nullptr && stop->stop_requested()) throw stopped("the run was stopped before its start");
    if (detail::inside_loop) return detail::run_alone(call, stop);
    if (state.fork_generation.load(std::memory_order_relaxed) != detail::current_fork_generation())
        state.recover_after_fork();
    const std::lock_guard lock(*state.turn);
    if (state.cpus.size() == 1) return detail::run_alone(call, stop);
    state.prepare_meetings();
    state.meetings->stop = stop;
    state.run_on_all(call, options.name);
}

barrier_shape team::barrier_shape() const {
    if (state_->cpus.size() == 1 || detail::inside_loop) {
        // Inside a body the turn is taken, and the shape was chosen before.
        return state_->meetings ? state_->meetings->shape : tauto::barrier_shape::rows;
    }
    const std::lock_guard lock(*state_->turn);
    state_->prepare_meetings();
    return state_->meetings->shape;
}

}  // namespace tauto
