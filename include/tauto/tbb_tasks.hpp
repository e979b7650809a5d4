#pragma once
// oneTBB's task_group, for programs that include tauto/tbb.hpp.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include <tauto/task_group.hpp>
#include <tauto/tbb_arena.hpp>

namespace tbb {

enum task_group_status { not_complete, complete, canceled };

namespace detail {

// The region of a thread's groups that have tasks outside of any. It ends with the wait for the last of them.
struct region_of_groups {
    tauto::detail::standing_region region{team()};
    std::atomic<int> groups{0};
};
inline thread_local std::shared_ptr<region_of_groups> groups_of_this_thread;

}  // namespace detail

// A function that task_group::defer keeps for a run.
class task_handle {
  public:
    task_handle() = default;
    explicit operator bool() const noexcept { return function_ != nullptr; }
    friend bool operator==(const task_handle& handle, std::nullptr_t) noexcept { return !handle; }

  private:
    friend class task_group;
    struct callable {
        virtual ~callable() = default;
        virtual void call() = 0;
    };
    template <class Function>
    struct called final : callable {
        explicit called(Function&& of) : function(std::move(of)) {}
        void call() override { function(); }
        Function function;
    };
    std::unique_ptr<callable> function_;
};

// Tasks that end together, and may begin at once. wait() rethrows the first exception; no task begins after
// it. Any thread may add tasks: one that runs no task of the team runs them at once.
class task_group {
  public:
    task_group() = default;
    task_group(const task_group&) = delete;
    task_group& operator=(const task_group&) = delete;
    ~task_group() {
        if (group* const at = open_.load(std::memory_order_acquire); at != nullptr) {
            await(*at);
            close();
        }
    }

    template <class Function>
    void run(Function&& function) {
        if (canceled_.load(std::memory_order_relaxed)) return;
        group* const at = open_.load(std::memory_order_acquire);
        (at != nullptr ? *at : open(tauto::detail::site_of<std::decay_t<Function>>))
            .run(std::forward<Function>(function));
    }
    template <class Function>
    [[nodiscard]] task_handle defer(Function&& function) {
        using function_type = std::decay_t<Function>;
        task_handle kept;
        kept.function_ = std::make_unique<task_handle::called<function_type>>(
            function_type(std::forward<Function>(function)));
        return kept;
    }
    void run(task_handle&& kept) {
        run([one = std::move(kept.function_)] { one->call(); });
    }
    task_group_status wait() {
        std::exception_ptr failure;
        if (group* const at = open_.load(std::memory_order_acquire); at != nullptr) {
            await(*at);
            failure = at->failure();
            close();
        }
        const bool left_out = canceled_.exchange(false, std::memory_order_relaxed);
        if (failure) std::rethrow_exception(failure);
        return left_out ? canceled : complete;
    }
    template <class Function>
    task_group_status run_and_wait(const Function& function) {
        run(function);
        return wait();
    }
    // No task of the group begins any more, until the wait has ended.
    void cancel() {
        canceled_.store(true, std::memory_order_relaxed);
        if (group* const at = open_.load(std::memory_order_acquire); at != nullptr) at->cancel();
    }

  private:
    class group : public tauto::task_group {
      public:
        group() : tauto::task_group(team().size() > 1 && tauto::detail::in_region(team())) {}
        void cancel() noexcept { leave_out_the_rest(); }
        using tauto::task_group::failure;
        using tauto::task_group::is_shared;
    };

    group& open(tauto::site& first) {
        const std::lock_guard one_at_a_time(opening_);
        if (group* const at = open_.load(std::memory_order_relaxed); at != nullptr) return *at;
        auto& here = detail::groups_of_this_thread;
        if (here == nullptr && tauto::detail::running_as.team == nullptr)
            here = std::make_shared<detail::region_of_groups>();
        region_ = here;
        if (region_ != nullptr) region_->groups.fetch_add(1, std::memory_order_relaxed);
        group_.emplace();
        // In a body whose members cannot have its tasks the loop around is told what that costs.
        stays_ = !group_->is_shared() && tauto::detail::running_as.team != nullptr &&
                         !tauto::team::is_plain_in_body(first, 1)
                     ? &first
                     : nullptr;
        if (stays_ != nullptr) begun_ = tauto::detail::ticks();
        open_.store(&*group_, std::memory_order_release);
        return *group_;
    }
    void await(group& tasks) {
        const bool last = region_ != nullptr && region_ == detail::groups_of_this_thread &&
                          region_->groups.load(std::memory_order_relaxed) == 1;
        if (last) region_->region.waits(true);
        tasks.wait();
        if (last) region_->region.waits(false);
    }
    void close() {
        open_.store(nullptr, std::memory_order_relaxed);
        group_.reset();
        if (stays_ != nullptr) team().note_in_body(*stays_, 1, tauto::detail::ticks() - begun_);
        if (region_ == nullptr) return;
        auto& here = detail::groups_of_this_thread;
        if (region_->groups.fetch_sub(1, std::memory_order_relaxed) == 1 && here == region_) here.reset();
        region_.reset();
    }

    std::mutex opening_;
    std::shared_ptr<detail::region_of_groups> region_;
    std::optional<group> group_;
    tauto::site* stays_ = nullptr;  // of the open group, where it is timed
    std::int64_t begun_ = 0;
    std::atomic<group*> open_{nullptr};  // where it has been given tasks since its last wait
    std::atomic<bool> canceled_{false};
};

}  // namespace tbb
