#pragma once
// The thread that runs what is scheduled, and its scheduler: promises 1 to 3 of senders.hpp.

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tauto/sender_words.hpp>
#include <tauto/team.hpp>

namespace tauto {

class scheduler;

namespace detail {

// A place in the queue of a context, inside of the operation that waits there.
struct scheduled {
    void (*run)(scheduled& self) noexcept = nullptr;
    scheduled* next = nullptr;
};

}  // namespace detail

// One thread that runs what is scheduled, and the team on which that thread's loops run.
class sender_context {
  public:
    // A team of its own, which pins the context's thread and not the caller. Throws what the team throws.
    explicit sender_context(team_options options = {}) {
        std::exception_ptr failure;
        thread_ = std::thread([this, &options, &failure] {
            std::optional<team> own;
            try {
                own.emplace(std::move(options));
            } catch (...) {
                failure = std::current_exception();
            }
            {
                const std::lock_guard lock(mutex_);
                ready_ = true;
                members_ = own ? &*own : nullptr;
                changed_.notify_all();
            }
            if (own) run();
        });
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ready_; });
        lock.unlock();
        if (members_ == nullptr) {
            thread_.join();
            std::rethrow_exception(failure);
        }
    }
    // The loops take turns with those of the team's other callers. The thread has the CPUs of this one.
    explicit sender_context(team& members) : members_(&members), thread_([this] { run(); }) {}
    ~sender_context() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            changed_.notify_all();
        }
        thread_.join();
    }
    sender_context(const sender_context&) = delete;
    sender_context& operator=(const sender_context&) = delete;

    [[nodiscard]] scheduler get_scheduler() noexcept;
    [[nodiscard]] team& members() noexcept { return *members_; }

    // Used by operations.
    void add(detail::scheduled& one) noexcept {
        const std::lock_guard lock(mutex_);
        *last_ = &one;
        last_ = &one.next;
        changed_.notify_all();
    }

  private:
    void run() noexcept {
        while (detail::scheduled* const one = next()) one->run(*one);
    }
    // Null at the end.
    detail::scheduled* next() noexcept {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return first_ != nullptr || ended_; });
        detail::scheduled* const one = first_;
        if (one != nullptr) {
            first_ = one->next;
            if (first_ == nullptr) last_ = &first_;
        }
        return one;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    detail::scheduled* first_ = nullptr;  // first come, first
    detail::scheduled** last_ = &first_;  // where the next one is put
    bool ready_ = false;
    bool ended_ = false;
    team* members_ = nullptr;
    std::thread thread_;
};

class scheduler {
  public:
    using scheduler_concept = execution::scheduler_tag;

    [[nodiscard]] auto schedule() const noexcept;
    [[nodiscard]] sender_context& context() const noexcept { return *context_; }
    [[nodiscard]] execution::forward_progress_guarantee query(
        execution::get_forward_progress_guarantee_t) const noexcept {
        return execution::forward_progress_guarantee::parallel;
    }
    friend bool operator==(const scheduler&, const scheduler&) noexcept = default;

  private:
    friend class sender_context;
    explicit scheduler(sender_context& context) noexcept : context_(&context) {}

    sender_context* context_;
};

inline scheduler sender_context::get_scheduler() noexcept {
    return scheduler(*this);
}

namespace detail {

// What is known of a sender before it is connected: where it completes.
class completes_there {
  public:
    explicit completes_there(scheduler where) noexcept : where_(where) {}
    template <class Tag, class... Env>
    [[nodiscard]] scheduler query(execution::get_completion_scheduler_t<Tag>, const Env&...) const noexcept {
        return where_;
    }

  private:
    scheduler where_;
};

template <class Receiver>
class schedule_operation : scheduled {
  public:
    using operation_state_concept = execution::operation_state_tag;

    schedule_operation(sender_context& context, Receiver receiver)
        : context_(&context), receiver_(std::move(receiver)) {
        run = [](scheduled& self) noexcept {
            Receiver& to = static_cast<schedule_operation&>(self).receiver_;
            if (execution::get_stop_token(execution::get_env(to)).stop_requested()) {
                execution::set_stopped(std::move(to));
            } else {
                execution::set_value(std::move(to));
            }
        };
    }
    schedule_operation(const schedule_operation&) = delete;
    schedule_operation& operator=(const schedule_operation&) = delete;

    void start() & noexcept { context_->add(*this); }

  private:
    sender_context* context_;
    Receiver receiver_;
};

class schedule_sender {
  public:
    using sender_concept = execution::sender_tag;

    explicit schedule_sender(scheduler where) noexcept : where_(where) {}

    template <class Self, class... Env>
    static consteval auto get_completion_signatures() {
        return execution::completion_signatures<execution::set_value_t(), execution::set_stopped_t()>{};
    }
    [[nodiscard]] completes_there get_env() const noexcept { return completes_there(where_); }
    template <class Receiver>
    [[nodiscard]] schedule_operation<Receiver> connect(Receiver receiver) const {
        return {where_.context(), std::move(receiver)};
    }

  private:
    scheduler where_;
};

}  // namespace detail

inline auto scheduler::schedule() const noexcept {
    return detail::schedule_sender(*this);
}

}  // namespace tauto
