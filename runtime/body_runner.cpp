#include "body_runner.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace tauto::detail {
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
            run.meetings->fail(rank, std::current_exception());
        }
        me.leave();
        if (rank == 0) run.caller_epoch = me.epoch();
    }
};

}  // namespace

void run_alone(const run_call& call, const std::stop_token* stop) {
    member me(stop);
    call.invoke(call.body, me);
}

void body_runner::run_on_all(const run_call& call, const char* name) {
    running run{&call, meetings_.get()};
    meetings_->oversubscribed = members_.crowded();
    members_.deal_one_each(name);
    members_.fork_and_join({&running::invoke, &run, members_.size(), nullptr, nullptr}, launch_mode::fixed);
    // No member can have arrived more than once after the caller's last arrival. So what the words say of
    // this run is older than all that the next run compares it with.
    meetings_->start_epoch = (run.caller_epoch + 4) & epoch_mask;
    if (std::exception_ptr thrown = meetings_->take_failure()) std::rethrow_exception(std::move(thrown));
}

// Ticks of 32 barriers among all members: the best of eight batches.
std::int64_t body_runner::barrier_ticks() {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const auto body = [&](member& me) {
        for (int batch = 0; batch < 8; ++batch) {
            const std::int64_t start = ticks();
            for (int i = 0; i < 32; ++i) me.barrier();
            const std::int64_t took = ticks() - start;
            if (me.rank() == 0 && took > 0) least = std::min(least, took);
        }
    };
    const auto invoke = [](const void* self, member& me) { (*static_cast<const decltype(body)*>(self))(me); };
    run_on_all({invoke, &body}, nullptr);
    return least;
}

// Rows read members² lines in all, and win where these come from one cache; a tournament wins with more
// members, or where transfers are slow. The members time both.
void body_runner::choose_shape() {
    if (members_.size() <= 2) return;
    if (members_.crowded()) {
        // Times would measure the system's scheduler. What counts then is to wake few members.
        meetings_->shape = members_.size() > 8 ? barrier_shape::tournament : barrier_shape::rows;
        return;
    }
    meetings_->shape = barrier_shape::tournament;
    const std::int64_t tournament = barrier_ticks();
    meetings_->shape = barrier_shape::rows;
    if (tournament < barrier_ticks()) meetings_->shape = barrier_shape::tournament;
}

void body_runner::prepare() {
    if (meetings_) return;
    meetings_ = std::make_unique<collectives>(members_.size(), members_.crowded(), wait_);
    choose_shape();
    shape_.store(meetings_->shape, std::memory_order_relaxed);
}

void body_runner::run(const run_call& call, const char* name, const std::stop_token* stop) {
    prepare();
    meetings_->stop = stop;
    run_on_all(call, name);
}

void body_runner::reset() noexcept {
    if (meetings_) meetings_->reset();
}

}  // namespace tauto::detail
