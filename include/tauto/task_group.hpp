#pragma once
// Recursion on the members of a team: parallel_invoke and task_group.
//
// Each member has a deque of tasks. The outermost call invites the members: with nothing to do they steal the
// oldest task of another one, or join a loop in a task (open_loops.hpp). A member that waits for a stolen
// task runs others meanwhile, so no wait can hang, however deep it is. The caller waits for stolen tasks, and
// for no member: who is late, or looks for a task in vain, costs it nothing. Within the outermost call a call
// costs some ten nanoseconds.

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/scopes.hpp>
#include <tauto/task_deque.hpp>
#include <tauto/team.hpp>
#include <tauto/wait.hpp>

namespace tauto {

namespace detail {

// Something that is run once, by any member of the region. What it throws it keeps.
struct task {
    void (*run)(task& self) noexcept = nullptr;
};

// What a member does while it waits for a task that another one runs. No wait hangs where it does nothing:
// the other one runs the task to its end without it.
enum class while_waiting { helps, does_nothing };

class task_region;

// The region whose task the calling thread runs, and its rank there.
struct current_region {
    task_region* region = nullptr;
    int rank = 0;
    scope in = no_scope;      // that the running code was made in
    scope within = no_scope;  // the innermost one that the thread is in the middle of; `in` is within it
};
inline thread_local constinit current_region running_tasks;

// What members share tasks with: one for each team, whose outermost calls use it one after the other.
//
// A member may look for tasks after the call that invited it has ended, and in the middle of the next one. So
// what it looks at lives as long as the team, and nothing in it is made anew while the members live.
class task_region {
  public:
    task_region(team_state* team, int members)
        : team_(team),
          deques_(usize(members)),
          idle_(false),
          scopes_(members),
          loops_(members, idle_, scopes_) {}

    // Before an outermost call, by its caller. `speeds`: of the members by rank; none: as if equal.
    // `alone_until`, in ticks: no member comes before; 0: at once.
    void begin(std::vector<double> speeds, bool crowded, const char* name, std::int64_t alone_until);
    // What a member does that was invited, until ended() is true.
    template <class Ended>
    void take_part(int rank, Ended&& ended) noexcept {
        const current_region around = std::exchange(running_tasks, {this, rank});
        look_until(ended, [&] { return !is_alone() && run_some(rank, no_scope); });
        running_tasks = around;
    }

    [[nodiscard]] team_state* team_of() const noexcept { return team_; }
    [[nodiscard]] int size() const noexcept { return int_size(deques_); }
    [[nodiscard]] task_deque<task>& deque(int rank) noexcept { return at(deques_, rank); }
    [[nodiscard]] open_loops& loops() noexcept { return loops_; }
    [[nodiscard]] scopes& all_scopes() noexcept { return scopes_; }
    // True if a body had a loop or a task that others could take. When all have ended.
    [[nodiscard]] bool shared_any() const noexcept {
        return loops_.any_opened() || tasks_ever() != tasks_before_;
    }
    [[nodiscard]] idle_members& idle() noexcept { return idle_; }

    // Runs one task of another member, or at last of its own, that is within a scope, and what it left in
    // this member's deque. False where none was found.
    bool help(int rank, scope within, bool own_too = false) noexcept {
        const int members = int_size(deques_);
        for (int k = 1; k < members + (own_too ? 1 : 0); ++k) {
            const auto stolen = deque((rank + k) % members).steal([&](scope made_in) {
                return scopes_.is_within(made_in, within);
            });
            if (stolen.task == nullptr) continue;
            task_deque<task>& own = deque(rank);
            const std::int64_t level = own.level();
            const scope around = std::exchange(running_tasks.in, stolen.made_in);
            run_stolen(*stolen.task, rank);
            running_tasks.in = around;
            run_down_to(own, level);
            return true;
        }
        return false;
    }
    // Runs such a task, or parts of an open loop within that scope. False where there were none.
    bool run_some(int rank, scope within, bool own_too = false) noexcept {
        return help(rank, within, own_too) || loops_.join(rank, within);
    }

    // Runs the tasks of this member that are above a level.
    static void run_down_to(task_deque<task>& own, std::int64_t level) noexcept {
        while (own.level() > level) {
            const auto one = own.take();
            if (one.task == nullptr) return;  // stolen, and all below it
            run_own(one);
        }
    }

    // Takes back a task that this member added, with which the deque had this level. False where another one
    // has it, or a wait on this member ran it. Runs what a group has added since.
    static bool take_back(task_deque<task>& own, std::int64_t level, const task& added) noexcept {
        while (own.level() >= level) {
            const auto one = own.take();
            if (one.task == nullptr) return false;
            if (one.task == &added) return true;
            run_own(one);
        }
        return false;
    }

    // Runs other members' tasks and loops until done() is true: what was made where this wait is, and after a
    // millisecond in vain what is within `at_last`. That is late, because it would keep waiting who waits for
    // this one.
    template <class Done>
    void help_until(int rank, Done&& done, scope at_last,
                    while_waiting kind = while_waiting::helps) noexcept {
        const bool helps = kind == while_waiting::helps;
        const scope here = running_tasks.in;
        std::int64_t since = 0;  // nothing was found; 0: something was
        look_until(done, [&] {
            if (!helps) return false;
            if (run_some(rank, here) || (since != 0 && is_long_ago(since) && run_some(rank, at_last, true))) {
                since = 0;
                return true;
            }
            if (since == 0) since = ticks();
            return false;
        });
    }
    // For a thread that is no member.
    template <class Done>
    void await(Done&& done) noexcept {
        look_until(done, [] { return false; });
    }

  private:
    // finds_some(): did something.
    template <class Done, class FindsSome>
    void look_until(Done& done, FindsSome finds_some) noexcept {
        idle_wait wait(idle_);
        while (!done()) {
            if (finds_some()) {
                wait.begin_again();
            } else {
                wait.pause([&] { return done() || finds_some(); });
            }
        }
    }
    [[nodiscard]] static bool is_long_ago(std::int64_t then) noexcept {
        static const std::int64_t patience = to_ticks(std::chrono::milliseconds(1));
        return ticks() - then > patience;
    }
    [[nodiscard]] bool is_alone() const noexcept {
        const std::int64_t until = alone_until_.load(std::memory_order_relaxed);
        return until != 0 && ticks() < until;
    }
    static void run_own(const task_deque<task>::given& one) noexcept {
        const scope around = std::exchange(running_tasks.in, one.made_in);
        one.task->run(*one.task);
        running_tasks.in = around;
    }
    // With its slice in the trace.
    void run_stolen(task& stolen, int rank) noexcept;
    // Of all deques: how far their tasks ever went. Where one was added, even if its member has taken it, it
    // is more than before. When all have ended.
    [[nodiscard]] std::int64_t tasks_ever() const noexcept {
        std::int64_t sum = 0;
        for (const auto& one : deques_) sum += one.level();
        return sum;
    }

    team_state* team_;
    std::vector<task_deque<task>> deques_;
    idle_members idle_;
    scopes scopes_;
    open_loops loops_;
    std::int64_t tasks_before_ = 0;
    const char* name_ = nullptr;  // written before the call's first task, read by who has one of them
    std::atomic<std::int64_t> alone_until_{0};  // relaxed: who reads an old one comes too early or too late
};

// While it lives, the calling thread is in a region of the team, as if it were in an outermost call: for
// bridges whose tasks have no call around them. Not made inside a body or a region. Loops of other threads
// wait for its end while its thread waits, else at most 10 ms; then each runs on its own thread. The thread
// that made it ends it, or another one after that thread's end.
class standing_region {
  public:
    explicit standing_region(team& members);
    ~standing_region();
    // Its thread begins to wait for the tasks, or does not any more.
    void waits(bool now) noexcept;
    standing_region(const standing_region&) = delete;
    standing_region& operator=(const standing_region&) = delete;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

// Runs root() as the first task of an outermost call. Its exception goes on to the caller. Calls at one site
// learn together whether members are worth their coming at once.
template <class Root>
void run_region(team& members, const region_options& options, Root&& root) {
    using root_type = std::remove_reference_t<Root>;
    const auto invoke = [](const void* self) {
        (*const_cast<root_type*>(static_cast<const root_type*>(self)))();
    };
    members.share_tasks({invoke, std::addressof(root)}, options);
}
template <class Root>
void run_region(team& members, site& where, Root&& root) {
    run_region(members, {.site = &where}, std::forward<Root>(root));
}

inline bool in_own_region(const team& members) noexcept {
    return running_tasks.region != nullptr && running_tasks.region->team_of() == members.identity();
}
// True in a region whose members can take what a call with this team shares: its own, or those of another one
// that has no more of them.
inline bool in_region(const team& members) noexcept {
    return in_own_region(members) ||
           (running_tasks.region != nullptr && running_tasks.region->size() <= members.size());
}
inline bool stays_here(const team& members) noexcept {
    return members.size() == 1 || (running_as.team != nullptr && !running_as.has_all && !in_region(members));
}

// The second function of a parallel_invoke, in its frame.
template <class Function>
struct framed_task : task {
    explicit framed_task(Function& called) noexcept : function(std::addressof(called)) {
        run = [](task& self) noexcept { static_cast<framed_task&>(self).run_here(); };
    }
    void run_here() noexcept {
        try {
            std::invoke(*function);
        } catch (...) {
            failure = std::current_exception();
        }
        // Once it is true the frame may end.
        task_region& region = *running_tasks.region;
        done.store(true, std::memory_order_release);
        region.idle().wake();
    }

    Function* function;
    std::exception_ptr failure;
    std::atomic<bool> done{false};
};

// A member with so many tasks that nobody has taken makes no more: the cutoff of a recursion. The oldest
// ones, which are stolen first, are the largest. The next call that finds fewer makes tasks again.
inline constexpr std::int64_t enough_to_steal = 8;

// The second is there for others while the first runs here.
template <class First, class Second>
[[gnu::noinline]] void share_second(First& first, Second& second, while_waiting wait) {
    task_region* const region = running_tasks.region;
    const int rank = running_tasks.rank;
    task_deque<task>& own = region->deque(rank);
    framed_task<Second> other(second);
    if (!own.add(&other, running_tasks.in)) {
        std::invoke(first);
        std::invoke(second);
        return;
    }
    region->idle().wake_if_seen();
    const std::int64_t level = own.level();
    std::exception_ptr failure;
    try {
        std::invoke(first);
    } catch (...) {
        failure = std::current_exception();
    }
    if (task_region::take_back(own, level, other)) {
        // It does not begin where it would not in a serial program.
        if (!failure) std::invoke(second);
    } else {
        region->help_until(
            rank, [&] { return other.done.load(std::memory_order_acquire); }, running_tasks.within, wait);
        if (!failure) failure = other.failure;
    }
    if (failure) std::rethrow_exception(failure);
}

// Most calls of a recursion end here: what they need for sharing stays out of their way.
template <class First, class Second>
void invoke_both(First& first, Second& second, while_waiting wait = while_waiting::helps) {
    if (running_tasks.region->deque(running_tasks.rank).size() < enough_to_steal)
        return share_second(first, second, wait);
    std::invoke(first);
    std::invoke(second);
}

template <class First, class... Rest>
void invoke_all(First& first, Rest&... rest) {
    if constexpr (sizeof...(Rest) == 0) {
        std::invoke(first);
    } else {
        auto others = [&rest...] { invoke_all(rest...); };
        invoke_both(first, others);
    }
}

// Not in the functions that call themselves by it, which are called so much more often. In another team's
// region too, which is no outermost call.
template <class... Functions>
[[gnu::noinline]] void invoke_outermost(team& members, Functions&... functions) {
    if (in_region(members)) {
        invoke_all(functions...);
    } else if (stays_here(members)) {
        const stays_in_body here(members, site_of<void(Functions...)>);
        (static_cast<void>(std::invoke(functions)), ...);
    } else {
        run_region(members, site_of<void(Functions...)>, [&] { invoke_all(functions...); });
    }
}

}  // namespace detail

// Calls all functions, on whichever members of the team have nothing to do, and returns when all are done.
//
// Functions may call it again, with the same team: that is recursion, and costs some ten nanoseconds a call,
// so no cutoff by hand is needed; the outermost call costs less than a team::run. The exception of the first
// function that throws one is rethrown, in their order; a later function may then not be called. A wait runs
// other tasks meanwhile, so nothing hangs. In the body of a loop that was seen to have no such calls of 10
// us, and on the members of a larger team, the functions are called one after the other.
template <std::invocable... Functions>
void parallel_invoke(team& members, Functions&&... functions) {
    if constexpr (sizeof...(Functions) > 0) {
        if (detail::in_own_region(members)) {
            detail::invoke_all(functions...);
        } else {
            detail::invoke_outermost(members, functions...);
        }
    }
}

// Tasks that end together: run() adds one, wait() returns when all have ended.
//
//     tauto::task_group::run_all(team, [&](tauto::task_group& group) {
//         group.run([&] { … });      // from here, or from any task of the group
//     });
//
// Everything is done inside run_all, which waits for all tasks and rethrows the first exception that came;
// tasks that had not begun by then are left out. A function is moved into its task, an allocation each.
class task_group {
  public:
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;

    // body(group), and all tasks that it and they add. Nesting as parallel_invoke.
    template <std::invocable<task_group&> Body>
    static void run_all(team& members, Body&& body) {
        if (detail::stays_here(members)) {
            const detail::stays_in_body here(members, detail::site_of<Body>);
            task_group group(false);
            group.run_to_end(body);
        } else if (detail::in_region(members)) {
            task_group group(true);
            group.run_to_end(body);
        } else {
            detail::run_region(members, detail::site_of<Body>, [&] {
                task_group group(true);
                group.run_to_end(body);
            });
        }
    }

    // Adds a task. It may run at once.
    template <class Function>
    requires std::invocable < std::decay_t<Function>
    & > void run(Function&& function) {
        using function_type = std::decay_t<Function>;
        struct owned : detail::task {
            owned(task_group& of, Function&& moved) : group(&of), called(std::forward<Function>(moved)) {
                detail::task::run = [](detail::task& self) noexcept {
                    std::unique_ptr<owned> one(static_cast<owned*>(&self));
                    task_group& all = *one->group;
                    all.call(one->called);
                    one.reset();  // what the function holds ends before the wait does
                    all.count_out();
                };
            }
            task_group* group;
            function_type called;
        };
        auto one = std::make_unique<owned>(*this, std::forward<Function>(function));
        left_.fetch_add(1, std::memory_order_relaxed);
        detail::task_region* const region = detail::running_tasks.region;
        owned* const added = one.release();
        // A thread that is no member has no deque; another team has scopes of its own.
        const detail::scope made_in = region == region_ ? made_in_ : detail::running_tasks.in;
        if (region_ == nullptr || region == nullptr ||
            !region->deque(detail::running_tasks.rank).add(added, made_in))
            return added->detail::task::run(*added);
        region->idle().wake_if_seen();
    }

    // Runs tasks until none of the group is left. Called by the body of run_all; what was thrown is rethrown
    // at its end.
    void wait() noexcept {
        if (region_ == nullptr) return;
        detail::task_region* const region = detail::running_tasks.region;
        const int rank = detail::running_tasks.rank;
        const auto ended = [this] { return left_.load(std::memory_order_acquire) == 0; };
        if (region == nullptr) return region_->await(ended);
        detail::task_region::run_down_to(region->deque(rank), level_);
        // Tasks of a group that was made elsewhere may lie below anything.
        const detail::current_region& here = detail::running_tasks;
        region->help_until(rank, ended, made_in_ == here.in ? here.within : detail::no_scope);
    }

  protected:
    // Its tasks go to the members of the region that runs the calling thread's task, or run at once.
    explicit task_group(bool shared) : region_(shared ? detail::running_tasks.region : nullptr) {
        if (shared) level_ = region_->deque(detail::running_tasks.rank).level();
    }

    // No task begins any more. What the first that failed has thrown is kept.
    void leave_out_the_rest() noexcept { failed_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_shared() const noexcept { return region_ != nullptr; }
    // When no task is left.
    [[nodiscard]] const std::exception_ptr& failure() const noexcept { return failure_; }

  private:
    template <class Body>
    void run_to_end(Body& body) {
        try {
            std::invoke(body, *this);
        } catch (...) {
            fail();
        }
        wait();
        if (failure_) std::rethrow_exception(failure_);
    }

    template <class Function>
    void call(Function& function) noexcept {
        if (failed_.load(std::memory_order_relaxed)) return;
        try {
            std::invoke(function);
        } catch (...) {
            fail();
        }
    }
    // Once no task is left the group may end.
    void count_out() noexcept {
        detail::task_region* const region = region_;
        if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1 && region != nullptr) region->idle().wake();
    }
    void fail() noexcept {
        if (!failed_.exchange(true, std::memory_order_relaxed)) failure_ = std::current_exception();
    }

    detail::task_region* region_;  // null: not shared
    // Of its tasks, whoever adds them: what the group was made in does not end before them.
    detail::scope made_in_ = detail::running_tasks.in;
    std::int64_t level_ = 0;  // of the deque of the member that made it
    // Added to with relaxed, before anybody can have the task. Each end of a task releases what it did, and
    // wait() acquires all of it with the 0.
    std::atomic<std::int64_t> left_{0};
    std::atomic<bool> failed_{false};  // relaxed: a task that does not see it yet begins all the same
    std::exception_ptr failure_;       // by whoever failed first; read when no task is left
};

// Calls function(). Where that waits for tasks of its own, the calling thread runs no others meanwhile: for
// functions that wait while they hold a lock, or while a variable of the thread has a value of theirs.
// Members with nothing to do take its tasks all the same, so no wait hangs.
template <std::invocable Function>
decltype(auto) isolate(Function&& function) {
    class isolation {
      public:
        isolation() noexcept {
            detail::current_region& here = detail::running_tasks;
            if (here.region == nullptr) return;
            own_ = here.region->all_scopes().enter(here.rank, here.in);
            here.in = here.within = own_;
        }
        ~isolation() {
            if (around_.region == nullptr) return;
            around_.region->all_scopes().leave(around_.rank, own_);
            detail::running_tasks = around_;
        }
        isolation(const isolation&) = delete;
        isolation& operator=(const isolation&) = delete;

      private:
        detail::current_region around_ = detail::running_tasks;
        detail::scope own_ = detail::empty_scope;
    };
    const isolation until_the_end;
    return std::invoke(std::forward<Function>(function));
}

}  // namespace tauto
