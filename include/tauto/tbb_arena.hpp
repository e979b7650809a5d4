#pragma once
// oneTBB's task_arena, global_control and what asks how many there are, for programs that include
// tauto/tbb.hpp.
//
// An arena of fewer members than the machine has CPUs is a team of its own, made by the first call that needs
// it; any other one is the process's team. So is global_control, for all calls that are in no arena. An arena
// inside of a task calls the function as it is: what that shares, it shares with whom the task does.
// Priorities, reserved slots, and kinds of cores and memory are read and left aside. What is enqueued runs on
// threads beside the members.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/parallel_for.hpp>
#include <tauto/task_group.hpp>
#include <tauto/tbb_background.hpp>
#include <tauto/team.hpp>

namespace tbb {

namespace detail {

// Of the whole process, made by the first call.
inline tauto::team& whole_team() {
    static tauto::team members;
    return members;
}

class own_team;
inline thread_local constinit own_team* team_here = nullptr;  // of the arena that the thread is in
inline constinit std::atomic<tauto::team*> limited_team{nullptr};
// Of all calls that are in no arena.
inline tauto::team& team_of_others() {
    tauto::team* const limited = limited_team.load(std::memory_order_acquire);
    return limited != nullptr ? *limited : whole_team();
}

// Its members find it, too.
class own_team : public std::enable_shared_from_this<own_team> {
  public:
    own_team(int members, std::size_t stack_bytes)
        : team_(
              {.size = members, .stack_bytes = stack_bytes, .on_start = [this](int) { team_here = this; }}) {}
    [[nodiscard]] tauto::team& team() noexcept { return team_; }

  private:
    tauto::team team_;
};

// Of the whole process. It ends before the team that it uses.
inline background& background_of_process() {
    // A call of the team gives a thread all CPUs, which one that a member has made has not.
    static background all(static_cast<std::size_t>(whole_team().size()),
                          [] { tauto::parallel_for(whole_team(), 1, [](tauto::index) {}); });
    return all;
}

// While it lives, the thread is in the arena that has this team; null: in none of its own.
class in_arena {
  public:
    explicit in_arena(own_team* of) : before_(std::exchange(team_here, of)) {}
    ~in_arena() { team_here = before_; }
    in_arena(const in_arena&) = delete;
    in_arena& operator=(const in_arena&) = delete;

  private:
    own_team* before_;
};

// Keeps the team, too.
template <class Function>
void enqueue_in(std::shared_ptr<own_team> members, Function&& function) {
    auto shared = std::make_shared<std::decay_t<Function>>(std::forward<Function>(function));
    background_of_process().add([members = std::move(members), shared = std::move(shared)] {
        const in_arena here(members.get());
        (*shared)();
    });
}

}  // namespace detail

// The team of the arena that the calling thread is in, or of all calls that are in none.
inline tauto::team& team() {
    return detail::team_here != nullptr ? detail::team_here->team() : detail::team_of_others();
}

using numa_node_id = int;
using core_type_id = int;

class task_arena {
  public:
    enum class priority { low = 1, normal, high };
    static constexpr int automatic = -1;

    // All but max_concurrency is read and left aside: a team knows fast and slow cores by itself.
    struct constraints {
        numa_node_id numa_id = automatic;
        int max_concurrency = automatic;
        core_type_id core_type = automatic;
        int max_threads_per_core = automatic;
        constraints& set_numa_id(numa_node_id id) { return numa_id = id, *this; }
        constraints& set_max_concurrency(int most) { return max_concurrency = most, *this; }
        constraints& set_core_type(core_type_id id) { return core_type = id, *this; }
        constraints& set_max_threads_per_core(int most) { return max_threads_per_core = most, *this; }
    };
    explicit task_arena(const constraints& of, unsigned reserved = 1, priority of_all = priority::normal)
        : task_arena(of.max_concurrency, reserved, of_all) {}

    explicit task_arena(int max_concurrency = automatic, unsigned /*reserved*/ = 1,
                        priority /*of_all*/ = priority::normal)
        : asked_(max_concurrency) {}
    task_arena(const task_arena& other) : asked_(other.asked_) {}
    task_arena& operator=(const task_arena&) = delete;
    ~task_arena() = default;

    void initialize() { find_team(); }
    void initialize(int max_concurrency, unsigned /*reserved*/ = 1, priority /*of_all*/ = priority::normal) {
        const std::lock_guard one_at_a_time(making_);
        if (own_ == nullptr) asked_ = max_concurrency;
    }
    // When no function of it runs.
    void terminate() {
        const std::lock_guard one_at_a_time(making_);
        own_.reset();
    }
    [[nodiscard]] int max_concurrency() const {
        const std::lock_guard one_at_a_time(making_);
        return members();
    }

    // function(), in this arena. What it returns and throws comes out.
    template <class Function>
    auto execute(Function&& function) -> decltype(std::forward<Function>(function)()) {
        const bool outside = tauto::detail::running_as.team == nullptr;
        const detail::in_arena here(outside ? find_team().get() : detail::team_here);
        return std::forward<Function>(function)();
    }
    // The same, soon, on another thread; nobody waits for it, nor hears of it. It may outlive the arena.
    template <class Function>
    void enqueue(Function&& function) {
        detail::enqueue_in(find_team(), std::forward<Function>(function));
    }

  private:
    [[nodiscard]] int members() const {
        const int most = detail::team_of_others().size();
        return asked_ < 1 ? most : std::min(asked_, most);
    }
    // Null: it is the team of all calls that are in no arena.
    std::shared_ptr<detail::own_team> find_team() {
        const std::lock_guard one_at_a_time(making_);
        if (own_ == nullptr && members() < detail::team_of_others().size())
            own_ = std::make_shared<detail::own_team>(members(), 0);
        return own_;
    }

    mutable std::mutex making_;
    int asked_;
    std::shared_ptr<detail::own_team> own_;
};

// While it lives, calls that are in no arena have at most so many members, or workers with such stacks. Of
// several the last one made counts, with the least number of any; they end in the opposite order.
class global_control {
  public:
    enum parameter { max_allowed_parallelism, thread_stack_size };

    global_control(parameter what, std::size_t value) : before_{now()} {
        limits mine = before_;
        if (what == max_allowed_parallelism) {
            mine.members = std::min(mine.members, std::max<std::size_t>(value, 1));
        } else {
            mine.stack_bytes = value;
        }
        const auto all = static_cast<std::size_t>(detail::whole_team().size());
        team_before_ = detail::limited_team.load(std::memory_order_relaxed);
        now() = mine;
        if (mine.members >= all && mine.stack_bytes == 0) return;
        own_.emplace(static_cast<int>(std::min(mine.members, all)), mine.stack_bytes);
        detail::limited_team.store(&own_->team(), std::memory_order_release);
    }
    ~global_control() {
        if (own_) detail::limited_team.store(team_before_, std::memory_order_release);
        now() = before_;
    }
    global_control(const global_control&) = delete;
    global_control& operator=(const global_control&) = delete;

    [[nodiscard]] static std::size_t active_value(parameter what) {
        if (what == thread_stack_size) return now().stack_bytes;
        return static_cast<std::size_t>(team().size());
    }

  private:
    struct limits {
        std::size_t members = std::numeric_limits<std::size_t>::max();
        std::size_t stack_bytes = 0;  // the system's
    };
    static limits& now() {
        static limits all;
        return all;
    }

    limits before_;
    tauto::team* team_before_ = nullptr;
    std::optional<detail::own_team> own_;
};

namespace info {
inline int default_concurrency(numa_node_id /*of*/ = task_arena::automatic) {
    return detail::whole_team().size();
}
inline int default_concurrency(const task_arena::constraints& of) {
    return of.max_concurrency > 0 ? std::min(of.max_concurrency, default_concurrency())
                                  : default_concurrency();
}
// One of each, with all CPUs: arenas are not tied to them.
inline std::vector<numa_node_id> numa_nodes() {
    return {task_arena::automatic};
}
inline std::vector<core_type_id> core_types() {
    return {task_arena::automatic};
}
}  // namespace info

namespace this_task_arena {
inline int max_concurrency() {
    return team().size();
}
// The member that runs the calling task; 0 outside of any.
inline int current_thread_index() {
    return tauto::detail::running_as.rank;
}
// In the arena that the calling thread is in.
template <class Function>
void enqueue(Function&& function) {
    detail::enqueue_in(detail::team_here != nullptr ? detail::team_here->weak_from_this().lock() : nullptr,
                       std::forward<Function>(function));
}
// The thread runs nothing but what function adds while function waits for it.
template <class Function>
auto isolate(Function&& function) -> decltype(function()) {
    return tauto::isolate(std::forward<Function>(function));
}
}  // namespace this_task_arena

}  // namespace tbb
