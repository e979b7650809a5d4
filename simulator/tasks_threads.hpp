#pragma once
// The threads of a simulated map/reduce, each on a hardware thread of its own: when they run, spin and sleep,
// at which clock and power, under a governor that follows the load of each core.

#include <vector>

#include "event_queue.hpp"
#include "ledger.hpp"
#include "machine.hpp"

namespace tauto::sim {

// Sums over all threads.
struct tasks_count {
    nanoseconds inside = 0;   // tasks
    double clock_cycles = 0;  // meanwhile
    std::int64_t tasks = 0;   // that ended
    std::int64_t sleeps = 0;
    double load_sum = 0;       // of the cores, at the governor's samples
    std::int64_t samples = 0;  // of one core
};

class tasks_threads {
  public:
    // `cycles`: of one task. The machine must outlive this.
    tasks_threads(const machine& on, const std::vector<hardware_thread>& where, double cycles, bool timeline);

    [[nodiscard]] const machine& on() const { return machine_; }
    [[nodiscard]] int size() const { return static_cast<int>(threads_.size()); }
    [[nodiscard]] bool awake(actor_id id) const { return threads_[id].awake; }
    [[nodiscard]] bool inside(actor_id id) const { return threads_[id].inside; }  // a task

    // Takes the next event of a thread. The governor takes its samples meanwhile.
    [[nodiscard]] event next();
    [[nodiscard]] std::int64_t events() const { return events_.taken(); }

    // A thread has one next event: the end of its task, or the one set last.
    void schedule(actor_id id, nanoseconds at) { events_.schedule(id, at); }
    void spin(actor_id id, nanoseconds at) { set_activity(id, activity::waiting, at); }
    void sleep(actor_id id, nanoseconds at);
    // The thread sleeps from the beginning of the run.
    void stay_asleep(actor_id id) { set_activity(id, activity::idle, 0); }
    // Sets the sleeper's next event. Returns the time at which the waker has finished the call.
    [[nodiscard]] nanoseconds wake(actor_id id, nanoseconds at);
    void begin_task(actor_id id, nanoseconds at);
    // A piece of several tasks is treated as one task. The thread has it only `fetch` later.
    void begin_piece(actor_id id, std::int64_t tasks, nanoseconds fetch, nanoseconds at);
    void end_task(actor_id id, nanoseconds at);

    [[nodiscard]] const tasks_count& count() const { return count_; }
    void count_anew() { count_ = {}; }
    [[nodiscard]] ledger& accounts() { return accounts_; }

  private:
    struct thread {
        hardware_thread where;
        double left = 0;  // cycles left of its task, for one thread alone on the core
        double hertz = 0;
        double pace = 0;  // of those cycles a second
        nanoseconds since = 0;
        nanoseconds task_begin = 0;
        bool inside = false;  // a task
        bool awake = false;
        nanoseconds busy_since = 0;
        nanoseconds busy = 0;  // in this sampling period
    };

    [[nodiscard]] const core_kind& kind(const thread& one) const { return machine_.kinds[one.where.kind]; }
    // Of its hardware thread, whose ticks have lengths of their own.
    [[nodiscard]] int number(actor_id id) const { return cpu_number(machine_, threads_[id].where); }
    [[nodiscard]] actor_id governor_id() const { return static_cast<actor_id>(threads_.size()); }
    void set_activity(actor_id id, activity what, nanoseconds at);
    void draw(actor_id id, activity what, nanoseconds at);
    void set_pace(actor_id id, nanoseconds at);
    void pace_core(int core, nanoseconds at);
    [[nodiscard]] nanoseconds leaves_idle(int core, nanoseconds at) const;
    void sample(nanoseconds at);

    const machine& machine_;
    std::vector<thread> threads_;
    std::vector<int> inside_;               // tasks running, by core
    std::vector<int> awake_on_;             // awake threads, by core
    std::vector<nanoseconds> asleep_from_;  // by core: since when none is
    std::vector<int> awake_cores_;          // by kind
    std::vector<std::vector<actor_id>> on_core_;
    std::vector<double> cap_;  // the governor's clock, by core
    event_queue events_;       // one a thread, and the governor
    ledger accounts_;
    double cycles_;  // of one task
    tasks_count count_;
};

}  // namespace tauto::sim
