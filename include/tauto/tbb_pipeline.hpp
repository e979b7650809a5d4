#pragma once
// oneTBB's parallel_pipeline, for programs that include tauto/tbb.hpp.
//
//     tbb::parallel_pipeline(8, tbb::make_filter<void, int>(tbb::filter_mode::serial_in_order, read) &
//                                   tbb::make_filter<int, int>(tbb::filter_mode::parallel, work) &
//                                   tbb::make_filter<int, void>(tbb::filter_mode::serial_in_order, write));
//
// A member takes an item from the first filter and carries it on. Where a serial filter is busy, or an
// earlier item has not been there, it leaves the item and takes another one. Who ends with a serial filter
// makes the next item that was left there ready for any member.
//
// A member that carries does so in a task, which ends where there is nothing to carry: then the member takes
// loops and tasks in the filters. Several that carry items of some ten nanoseconds are in each other's way:
// one goes on, and the others come in when it has stayed with one item for longer.
//
// Invariant: an item that was left waits for one that is carried, or is ready; and where something can be
// carried while fewer than all carry, whoever made it so has added a task, or goes to take it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/clock.hpp>
#include <tauto/task_group.hpp>
#include <tauto/tbb_arena.hpp>
#include <tauto/wait.hpp>

namespace tbb {

enum class filter_mode { parallel, serial_in_order, serial_out_of_order };

// Given to the first filter.
class flow_control {
  public:
    // There is no more, and what the call returns is left aside.
    void stop() noexcept { stopped_ = true; }
    [[nodiscard]] bool is_pipeline_stopped() const noexcept { return stopped_; }

  private:
    bool stopped_ = false;
};

namespace detail {

struct item {
    virtual ~item() = default;
};
template <class Value>
struct item_of final : item {
    explicit item_of(Value&& of) : value(std::move(of)) {}
    Value value;
};

struct stage {
    filter_mode mode;
    std::function<std::unique_ptr<item>(std::unique_ptr<item>, flow_control&)> run;
};

class pipeline {
  public:
    // At most `carriers` tasks of the group at once.
    pipeline(const std::vector<stage>& stages, std::size_t most, std::size_t carriers,
             tauto::task_group& group)
        : stages_(stages), most_(most), carriers_(carriers), group_(group), places_(stages.size()) {}

    // The first of the tasks.
    void work() {
        std::unique_lock lock(lock_);
        ++carrying_;
        work(lock);
    }
    void rethrow_failure() const {
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    struct carried {
        std::size_t stage = 0;   // which it comes to next
        std::size_t number = 0;  // once it has left the first
        std::unique_ptr<item> what;
    };
    struct place {
        bool busy = false;
        std::size_t next = 0;  // number, where the filter keeps the order
        std::map<std::size_t, carried> left;
    };
    [[nodiscard]] bool is_serial(std::size_t stage) const {
        return stages_[stage].mode != filter_mode::parallel;
    }
    [[nodiscard]] bool may_enter(std::size_t stage, std::size_t number) const {
        const place& at = places_[stage];
        return !at.busy && (stages_[stage].mode != filter_mode::serial_in_order || at.next == number);
    }

    [[nodiscard]] bool may_begin() const { return !ended_ && in_flight_ < most_ && !places_[0].busy; }

    // Nothing where there is nothing now.
    std::optional<carried> take() {
        if (failure_) return std::nullopt;
        if (!ready_.empty()) {
            carried one = std::move(ready_.front());
            ready_.pop_front();
            return one;
        }
        if (!may_begin()) return std::nullopt;
        places_[0].busy = is_serial(0);
        ++in_flight_;
        return carried{};
    }
    // For who goes on with an item while there may be others.
    void call_another(std::unique_lock<std::mutex>& lock) {
        if (carrying_ == carriers_ || failure_ || (ready_.empty() && !may_begin())) return;
        ++carrying_;
        lock.unlock();  // the task may run at once
        group_.run([this] {
            await_long_item();
            std::unique_lock mine(lock_);
            work(mine);
        });
        lock.lock();
    }

    // Until there is nothing to carry.
    void work(std::unique_lock<std::mutex>& lock) {
        ++active_;
        while (std::optional<carried> one = take()) {
            const std::uint32_t mine = taken_.load(std::memory_order_relaxed) + 1;
            taken_.store(mine, std::memory_order_relaxed);
            call_another(lock);
            const std::int64_t start = tauto::detail::ticks();
            carry(std::move(*one), lock);
            if (active_ == 1 || taken_.load(std::memory_order_relaxed) == mine ||
                tauto::detail::ticks() - start > worth_ticks_)
                continue;
            --active_;
            lock.unlock();
            await_long_item();
            lock.lock();
            ++active_;
        }
        --active_;
        --carrying_;
    }
    // Until nobody has taken an item for so long that others are worth their coming.
    void await_long_item() const {
        const std::int64_t begin = tauto::detail::ticks();
        std::int64_t since = begin;
        for (std::uint32_t seen = taken_.load(std::memory_order_relaxed);;) {
            if (since - begin < 1000 * worth_ticks_) {
                for (int k = 0; k < 4; ++k) tauto::detail::relax();
            } else {
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
            const std::int64_t now = tauto::detail::ticks();
            const std::uint32_t last = std::exchange(seen, taken_.load(std::memory_order_relaxed));
            if (seen != last) {
                since = now;
            } else if (now - since > worth_ticks_) {
                return;
            }
        }
    }

    void carry(carried one, std::unique_lock<std::mutex>& lock) {
        for (; one.stage < stages_.size(); ++one.stage) {
            if (one.stage > 0 && is_serial(one.stage)) {
                place& at = places_[one.stage];
                if (!may_enter(one.stage, one.number)) {
                    at.left.emplace(one.number, std::move(one));
                    return;
                }
                at.busy = true;
            }
            flow_control control;
            lock.unlock();
            try {
                // A wait in the function runs no other task: that could be work(), which would wait for it.
                one.what =
                    tauto::isolate([&] { return stages_[one.stage].run(std::move(one.what), control); });
            } catch (...) {
                lock.lock();
                if (!failure_) failure_ = std::current_exception();
                return;
            }
            lock.lock();
            if (failure_) return;
            if (one.stage == 0) {
                places_[0].busy = false;
                ended_ = ended_ || control.is_pipeline_stopped();
                if (control.is_pipeline_stopped()) break;
                one.number = numbers_++;
                call_another(lock);
            } else if (is_serial(one.stage)) {
                leave(one.stage);
                call_another(lock);
            }
        }
        --in_flight_;
    }

    void leave(std::size_t stage) {
        place& at = places_[stage];
        at.busy = false;
        ++at.next;
        const auto first = at.left.begin();
        if (first == at.left.end() || !may_enter(stage, first->first)) return;
        ready_.push_back(std::move(first->second));
        at.left.erase(first);
    }

    const std::vector<stage>& stages_;
    std::size_t most_;
    std::size_t carriers_;
    tauto::task_group& group_;
    // To hand items over between two that carry costs about as much: shorter ones are not worth a second one.
    std::int64_t worth_ticks_ = tauto::detail::to_ticks(std::chrono::nanoseconds(150));
    std::mutex lock_;           // of all below
    std::size_t carrying_ = 0;  // tasks that are there
    std::size_t active_ = 0;    // of them, that do not wait for a long item
    // Items that were taken so far. Changed with the lock held; relaxed: without it, it is a hint.
    std::atomic<std::uint32_t> taken_{0};
    std::vector<place> places_;
    std::deque<carried> ready_;
    std::size_t in_flight_ = 0;
    std::size_t numbers_ = 0;
    bool ended_ = false;
    std::exception_ptr failure_;
};

}  // namespace detail

// One step, or several that were joined by &, from items of a type to such of another.
template <class In, class Out>
class filter {
  public:
    filter() = default;
    template <class Function>
    filter(filter_mode mode, const Function& function) {
        stages_.push_back({mode, [function](std::unique_ptr<detail::item> from, flow_control& control) {
                               return run(function, std::move(from), control);
                           }});
    }
    template <class Next>
    [[nodiscard]] filter<In, Next> operator&(const filter<Out, Next>& other) const {
        filter<In, Next> both;
        both.stages_ = stages_;
        both.stages_.insert(both.stages_.end(), other.stages_.begin(), other.stages_.end());
        return both;
    }

  private:
    template <class, class>
    friend class filter;
    friend void parallel_pipeline(std::size_t most, const filter<void, void>& chain);

    // Alone, so that its values stay in registers: beside the call for memory GCC moves them about.
    template <class Function>
    [[gnu::noinline]] static Out call(const Function& function, detail::item* from, flow_control& control) {
        if constexpr (std::is_void_v<In>) {
            return function(control);
        } else {
            return function(std::move(static_cast<detail::item_of<In>&>(*from).value));
        }
    }
    template <class Function>
    static std::unique_ptr<detail::item> run(const Function& function, std::unique_ptr<detail::item> from,
                                             flow_control& control) {
        if constexpr (std::is_void_v<Out>) {
            call(function, from.get(), control);
            return nullptr;
        } else {
            return std::make_unique<detail::item_of<Out>>(call(function, from.get(), control));
        }
    }

    std::vector<detail::stage> stages_;
};

template <class In, class Out, class Function>
[[nodiscard]] filter<In, Out> make_filter(filter_mode mode, const Function& function) {
    return filter<In, Out>(mode, function);
}

// Runs all items through all filters, of which at most so many are under way. What a filter throws comes out,
// and the items under way are lost.
inline void parallel_pipeline(std::size_t most, const filter<void, void>& chain) {
    if (most == 0) throw tauto::error("tbb::parallel_pipeline takes 1 item at a time or more");
    if (chain.stages_.empty()) return;
    // Where nobody can have them, tasks would run inside each other.
    const bool alone = tauto::detail::stays_here(team());
    const std::size_t members = alone ? 1 : std::min(most, static_cast<std::size_t>(team().size()));
    std::optional<detail::pipeline> all;
    tauto::task_group::run_all(
        team(), [&](tauto::task_group& group) { all.emplace(chain.stages_, most, members, group).work(); });
    all->rethrow_failure();
}
template <class Function, class... Functions>
void parallel_pipeline(std::size_t most, const Function& first,
                       const Functions&... rest) requires(sizeof...(Functions) > 0) {
    parallel_pipeline(most, (first & ... & rest));
}

}  // namespace tbb
