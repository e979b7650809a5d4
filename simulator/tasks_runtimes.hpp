#pragma once
// How each runtime distributes the tasks of a map/reduce: fork and join (tautochrone, oneTBB, OpenMP, one
// thread alone) in tasks_fork_join.cpp, QtConcurrent in tasks_qt.cpp.

#include <memory>

#include "tasks.hpp"
#include "tasks_threads.hpp"

namespace tauto::sim {

class tasks_runtime {
  public:
    virtual ~tasks_runtime() = default;

    // Begins a map/reduce at `at`.
    virtual void begin(nanoseconds at) = 0;
    // A thread had its event.
    virtual void step(actor_id id, nanoseconds at) = 0;
    // The map/reduce ended with the last event.
    [[nodiscard]] bool over() const { return over_; }

  protected:
    explicit tasks_runtime(tasks_threads& threads) : threads_(threads) {}
    [[nodiscard]] const machine& on() const { return threads_.on(); }

    tasks_threads& threads_;
    bool over_ = false;
};

// The threads must outlive the runtime.
std::unique_ptr<tasks_runtime> make_fork_join_tasks(tasks_threads& threads, const tasks_request& asked);
std::unique_ptr<tasks_runtime> make_qt_tasks(tasks_threads& threads, const tasks_request& asked);

}  // namespace tauto::sim
