#include <algorithm>
#include <vector>

#include <tauto/schedule.hpp>

#include "task_queues.hpp"
#include "tasks_runtimes.hpp"

namespace tauto::sim {

namespace {

// All threads are told to begin; they ask, work, and spin until the others have finished.
class fork_join_tasks : public tasks_runtime {
  public:
    fork_join_tasks(tasks_threads& threads, const tasks_request& asked)
        : tasks_runtime(threads),
          asked_(asked),
          sharing_(asked.threads),
          queues_(asked.threads),
          equal_speeds_(threads.size(), 1.0) {}

    void begin(nanoseconds at) override;
    void step(actor_id id, nanoseconds at) override;

  private:
    [[nodiscard]] bool is(const char* runtime) const { return asked_.runtime == runtime; }
    [[nodiscard]] nanoseconds fork_or_join() const;
    [[nodiscard]] schedule chosen() const;
    void take(actor_id id, nanoseconds at);

    tasks_request asked_;
    worksharing sharing_;
    task_queues queues_;
    std::vector<double> equal_speeds_;
    int handed_ = 0;   // tasks that were handed out
    int running_ = 0;  // threads that still ask; 0: all are done, and the next event is the join
    nanoseconds counter_free_ = 0;
};

// Half of what both together cost.
nanoseconds fork_join_tasks::fork_or_join() const {
    return scaled_to(is("openmp") ? on().fork_join_libgomp : on().fork_join, on().cost_members,
                     threads_.size()) /
           2;
}

schedule fork_join_tasks::chosen() const {
    if (is("tautochrone")) return adaptive{};
    if (asked_.schedule == "guided") return guided{1};
    if (asked_.schedule == "static") return static_{};
    return dynamic{1};
}

void fork_join_tasks::begin(nanoseconds at) {
    over_ = false;
    handed_ = 0;
    counter_free_ = at;
    running_ = threads_.size();
    sharing_.reset(chosen(), asked_.tasks, equal_speeds_);
    queues_.reset(asked_.tasks);
    const nanoseconds fork = fork_or_join();
    for (int i = 0; i < threads_.size(); ++i) {
        // Thieves get the first piece after as many steals as the depth of the tree of splits.
        const nanoseconds arrives =
            is("tbb") ? depth_of(i + 1) * (2 * on().line_transfer + on().task_overhead) : (i == 0 ? 0 : fork);
        threads_.spin(static_cast<actor_id>(i), at);
        threads_.schedule(static_cast<actor_id>(i), at + arrives);
    }
}

void fork_join_tasks::take(actor_id id, nanoseconds at) {
    const auto rank = static_cast<int>(id);
    range piece;
    nanoseconds begin = at;
    if (is("tbb")) {
        bool stolen = false;
        piece = queues_.next(rank, stolen);
        begin += on().task_overhead + (stolen ? 2 * on().line_transfer : 0);
    } else if (is("tautochrone") && handed_ == asked_.tasks) {
        begin += own_atomic;  // a search of all members finds nothing
    } else if (is("tautochrone")) {
        const int before = sharing_.steals(rank);
        piece = sharing_.next(rank);
        begin += own_atomic + (sharing_.steals(rank) > before ? 2 * on().line_transfer : nanoseconds{0});
    } else {
        piece = sharing_.next(rank);
        counter_free_ = std::max(counter_free_, at) + on().line_transfer;
        begin = counter_free_;
    }
    if (!piece.empty()) {
        handed_ += static_cast<int>(piece.size());
        return threads_.begin_piece(id, piece.size(), begin - at, at);
    }
    if (--running_ > 0) return;
    const nanoseconds join = is("tbb") ? depth_of(threads_.size()) * on().line_transfer * 2 : fork_or_join();
    threads_.schedule(id, at + join);
}

void fork_join_tasks::step(actor_id id, nanoseconds at) {
    if (running_ == 0) {
        over_ = true;
        return;
    }
    if (threads_.inside(id)) threads_.end_task(id, at);
    take(id, at);
}

}  // namespace

std::unique_ptr<tasks_runtime> make_fork_join_tasks(tasks_threads& threads, const tasks_request& asked) {
    return std::make_unique<fork_join_tasks>(threads, asked);
}

}  // namespace tauto::sim
