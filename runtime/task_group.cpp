#include <tauto/task_group.hpp>

#include <memory>
#include <utility>
#include <vector>

#include <tauto/clock.hpp>
#include <tauto/trace.hpp>

#include "team_state.hpp"

namespace tauto {
namespace detail {
namespace {

// While it lives, the calling thread runs tasks of a region as its member 0.
class inside_region {
  public:
    inside_region(team_state* team, task_region& region) noexcept
        : body_(team, 0), around_(std::exchange(running_tasks, {&region, 0})) {}
    ~inside_region() { running_tasks = around_; }
    inside_region(const inside_region&) = delete;
    inside_region& operator=(const inside_region&) = delete;

  private:
    inside_body body_;
    current_region around_;
};

}  // namespace

void task_region::begin(std::vector<double> speeds, bool crowded, const char* name,
                        std::int64_t alone_until) {
    idle_.begin(crowded);
    loops_.begin(std::move(speeds));
    tasks_before_ = tasks_ever();
    name_ = name;
    alone_until_.store(alone_until, std::memory_order_relaxed);
}

void task_region::run_stolen(task& stolen, int rank) noexcept {
    if (!trace::enabled()) return stolen.run(stolen);
    const char* const name = name_;
    const std::int64_t begin = trace::now_nanoseconds();
    stolen.run(stolen);
    trace::record_chunk(name, rank, {0, 1}, true, begin, trace::now_nanoseconds());
}

void launcher::share_tasks(const root_call& root, const region_options& options, head_start* known) {
    const bool traced = trace::enabled();
    const std::int64_t begin = traced ? trace::now_nanoseconds() : 0;
    const std::int64_t start = ticks();
    const head_start::way way = known != nullptr ? known->next() : head_start::way{};
    task_region& region = begin_tasks(options, way.alone > 0 ? start + way.alone : 0, way.wakes);
    // Also where the root throws, as it does when nobody has a task of it.
    const struct ended {
        launcher& members;
        ~ended() { members.end_tasks(); }
    } at_the_end{*this};
    const inside_region inside(team_, region);
    root.invoke(root.function);
    check_not_forked();
    if (known != nullptr) known->note(ticks() - start);
    if (traced) trace::record_chunk(options.name, 0, {0, 1}, false, begin, trace::now_nanoseconds());
}

struct standing_region::state {
    explicit state(team_state& of)
        : members(of.members), turn(of.take_turn_unless_asleep()), of_threads(*of.of_threads) {
        if (turn && members.size() > 1) {
            of_threads.keep();
            region = &members.begin_tasks({}, 0, true);
        } else {
            of_one = std::make_unique<task_region>(members.team(), 1);
            of_one->begin({}, false, nullptr, 0);
            region = of_one.get();
        }
    }
    ~state() {
        if (!keeps_turn()) return;
        members.end_tasks();
        of_threads.keep_no_more();
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;
    [[nodiscard]] bool keeps_turn() const noexcept { return of_one == nullptr; }

    launcher& members;
    team_turn turn;
    turns& of_threads;
    std::unique_ptr<task_region> of_one;  // where others have the turn, or the team has one member
    task_region* region = nullptr;
    const current_region* thread = &running_tasks;  // of the thread that made it
    current_region around;
    current_member body;
};

standing_region::standing_region(team& members) : state_(std::make_unique<state>(*members.state_)) {
    state_->body = std::exchange(running_as, {members.identity(), 0});
    state_->around = std::exchange(running_tasks, {state_->region, 0});
}

void standing_region::waits(bool now) noexcept {
    if (!state_->keeps_turn()) return;
    if (now) {
        state_->of_threads.keep_no_more();
    } else {
        state_->of_threads.keep();
    }
}

standing_region::~standing_region() {
    if (state_->thread != &running_tasks) return;
    running_tasks = state_->around;
    running_as = state_->body;
}

}  // namespace detail

void team::share_tasks(const detail::root_call& root, const detail::region_options& options) {
    const detail::not_beside uncounted;
    const auto turn = state_->take_turn_unless_asleep(options.priority);
    if (!turn || size() == 1) {
        detail::task_region of_one(identity(), 1);
        of_one.begin({}, false, options.name, 0);
        const detail::inside_region inside(identity(), of_one);
        return root.invoke(root.function);
    }
    detail::head_start* const known =
        options.site != nullptr ? &state_->known.head_start_of(detail::at(records_, number_of(*options.site)))
                                : nullptr;
    state_->members.share_tasks(root, options, known);
}

}  // namespace tauto
