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
// Invariant: an item that was left waits for one that is carried, or ready. So a member that finds nothing to
// carry may sleep until another one has changed something: one of them carries something until the end.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tauto/task_group.hpp>
#include <tauto/tbb_arena.hpp>

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
    pipeline(const std::vector<stage>& stages, std::size_t most)
        : stages_(stages), most_(most), places_(stages.size()) {}

    // Carries items until all have come to the end. On several threads at once.
    void work() {
        std::unique_lock lock(lock_);
        while (std::optional<carried> one = take(lock)) carry(std::move(*one), lock);
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

    // Nothing at the end.
    std::optional<carried> take(std::unique_lock<std::mutex>& lock) {
        for (;; changed_.wait(lock)) {
            if (failure_ || (ended_ && in_flight_ == 0)) return std::nullopt;
            if (!ready_.empty()) {
                carried one = std::move(ready_.front());
                ready_.pop_front();
                return one;
            }
            if (ended_ || in_flight_ == most_ || places_[0].busy) continue;
            places_[0].busy = is_serial(0);
            ++in_flight_;
            return carried{};
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
                return changed_.notify_all();
            }
            lock.lock();
            if (failure_) return;
            if (one.stage == 0) {
                places_[0].busy = false;
                ended_ = ended_ || control.is_pipeline_stopped();
                if (control.is_pipeline_stopped()) break;
                one.number = numbers_++;
                changed_.notify_one();
            } else if (is_serial(one.stage)) {
                leave(one.stage);
            }
        }
        --in_flight_;
        changed_.notify_all();
    }

    void leave(std::size_t stage) {
        place& at = places_[stage];
        at.busy = false;
        ++at.next;
        const auto first = at.left.begin();
        if (first == at.left.end() || !may_enter(stage, first->first)) return;
        ready_.push_back(std::move(first->second));
        at.left.erase(first);
        changed_.notify_one();
    }

    const std::vector<stage>& stages_;
    std::size_t most_;
    std::mutex lock_;  // of all below
    std::condition_variable changed_;
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
    detail::pipeline all(chain.stages_, most);
    const auto members = std::min(most, static_cast<std::size_t>(team().size()));
    tauto::task_group::run_all(team(), [&](tauto::task_group& group) {
        // In a loop's body they would come one after the other, and the first does all.
        for (std::size_t k = 1; k < members; ++k) group.run([&] { all.work(); });
        all.work();
    });
    all.rethrow_failure();
}
template <class Function, class... Functions>
void parallel_pipeline(std::size_t most, const Function& first,
                       const Functions&... rest) requires(sizeof...(Functions) > 0) {
    parallel_pipeline(most, (first & ... & rest));
}

}  // namespace tbb
